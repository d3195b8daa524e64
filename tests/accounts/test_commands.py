"""`postroom user …`, as somebody on the host types it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from postroom import Email, Outbox
from postroom.accounts.accounts import get_person
from postroom.accounts.answers import Entered, Knock
from postroom.accounts.chance import typed_code
from postroom.accounts.factors import confirm_authenticator, offer_authenticator
from postroom.accounts.guessing import Caller
from postroom.accounts.letters import ACCOUNT_KIND
from postroom.accounts.passwords import is_right
from postroom.accounts.secret import secret_key
from postroom.accounts.steps import first_step
from postroom.accounts.tokens import find_token
from postroom.accounts.totp import code_at, step_of
from postroom.accounts.values import Role
from tests.cli.conftest import CommandLine, own_surroundings

__all__ = ["own_surroundings"]

PASSWORD = "correct horse battery staple"
NAME = "ada@example.org"
SECRET = b"12345678901234567890"


@pytest.fixture
def postroom(sqlite_url: str) -> CommandLine:
    with Outbox(sqlite_url) as outbox:
        outbox.migrate()
    return CommandLine(sqlite_url)


def add_ada(postroom: CommandLine, *options: str) -> None:
    answer = postroom("user", "add", "Ada@Example.org", *options, "--password-stdin", input=f"{PASSWORD}\n")
    assert (answer.code, answer.err) == (0, "")


def test_somebody_is_added_and_listed(postroom: CommandLine) -> None:
    add_ada(postroom, "--role", "operator", "--workspace", "sales", "--workspace", "berlin")
    answer = postroom("user", "list", "--json")

    [listed] = answer.json["people"]

    assert (listed["name"], listed["role"], listed["workspaces"]) == (NAME, "operator", ["berlin", "sales"])
    assert NAME in postroom("user", "list").out


def test_who_is_added_without_a_role_may_only_look(postroom: CommandLine) -> None:
    add_ada(postroom)

    assert postroom("user", "list", "--json").json["people"][0]["role"] == "viewer"


def test_the_same_name_is_not_added_twice(postroom: CommandLine) -> None:
    add_ada(postroom)
    answer = postroom("user", "add", NAME, "--password-stdin", input=f"{PASSWORD}\n")

    assert (answer.code, "is there already" in answer.err) == (1, True)


@pytest.mark.parametrize("command", ["add", "password"])
def test_a_poor_password_is_refused_and_never_shown(postroom: CommandLine, command: str) -> None:
    if command == "password":
        add_ada(postroom)
    answer = postroom("user", command, NAME, "--password-stdin", input="hunter2\n")

    assert (answer.code, "several words" in answer.err) == (2, True)
    assert "hunter2" not in answer.out + answer.err


def test_without_a_terminal_a_password_is_not_asked_for(postroom: CommandLine) -> None:
    answer = postroom("user", "add", NAME)

    assert (answer.code, "--password-stdin" in answer.err) == (2, True)


def test_a_password_is_asked_for_twice(postroom: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.cli.people.somebody_is_there", lambda: True)
    answer = postroom("user", "add", NAME, input=f"{PASSWORD}\nsomething else\n{PASSWORD}\n{PASSWORD}\n")

    assert answer.code == 0
    assert answer.err.count("Once more") == 2
    assert PASSWORD not in answer.out + answer.err


def test_a_new_password_replaces_the_old_one(postroom: CommandLine) -> None:
    add_ada(postroom)
    answer = postroom("user", "password", NAME, "--password-stdin", input="quite another sentence\r\n")
    with Outbox(postroom.database) as outbox:
        kept = outbox.database.run(get_person(NAME)).password

    assert (answer.code, "every session has ended" in answer.out) == (0, True)
    assert (is_right(kept, "quite another sentence"), is_right(kept, PASSWORD)) == (True, False)


def test_a_role_is_changed_and_the_workspaces_only_when_they_are_named(postroom: CommandLine) -> None:
    add_ada(postroom, "--role", "viewer", "--workspace", "sales")

    def listed() -> tuple[str, list[str] | None]:
        [person] = postroom("user", "list", "--json").json["people"]
        return person["role"], person["workspaces"]

    answer = postroom("user", "role", NAME, "operator")
    assert (answer.code, "every session has ended" in answer.out) == (0, True)
    assert listed() == ("operator", ["sales"])

    assert postroom("user", "role", NAME, "viewer", "--workspace", "berlin").code == 0
    assert listed() == ("viewer", ["berlin"])

    assert postroom("user", "role", NAME, "admin", "--all-workspaces").code == 0
    assert listed() == ("admin", None)

    assert postroom("user", "role", NAME, "admin", "--all-workspaces", "--workspace", "x").code == 2
    [entry, *_] = postroom("user", "audit", "--act", "user_role", "--json").json["entries"]
    assert entry["detail"] == {"person": NAME, "role": "admin", "was": "viewer", "workspaces": None}


def test_somebody_is_removed(postroom: CommandLine) -> None:
    add_ada(postroom)

    assert postroom("user", "remove", NAME).code == 0
    assert postroom("user", "list", "--json").json == {"people": []}
    assert postroom("user", "remove", NAME).code == 1


def test_a_code_is_printed_that_completes_a_sign_in(postroom: CommandLine) -> None:
    add_ada(postroom)
    answer = postroom("user", "code", NAME)
    with Outbox(postroom.database) as outbox:
        run = outbox.database.run
        caller = Caller(name=NAME, address="", key=run(secret_key(outbox.settings)))
        kept = run(get_person(NAME)).password
        knock = Knock(caller=caller, kept=kept, right=True, token="t", code=typed_code(answer.out))
        entered = run(first_step(knock, lambda person: pytest.fail("nothing is to be mailed")))

    assert re.fullmatch(r"\d{6}\n", answer.out)
    assert isinstance(entered, Entered)
    assert entered.by == "host"


def test_who_has_what_beside_email_is_listed_and_taken_away_and_they_are_told(postroom: CommandLine) -> None:
    add_ada(postroom)
    with Outbox(postroom.database) as outbox:
        run, now = outbox.database.run, datetime.now(UTC)
        key, person = run(secret_key(outbox.settings)), run(get_person(NAME)).person
        run(offer_authenticator(person, SECRET, key=key))
        assert run(confirm_authenticator(person, code_at(SECRET, step_of(now)), ["a" * 10, "b" * 10], key=key))

    assert "authenticator, 2 recovery codes" in postroom("user", "list").out
    assert postroom("user", "list", "--json").json["people"][0]["recovery_codes"] == 2
    assert "authenticator" in postroom("user", "second-factor", NAME).out
    assert "codes by email" in postroom("user", "second-factor", NAME, "--reset").out
    assert postroom("user", "second-factor", NAME, "--json").json["authenticator"] is False
    assert postroom("user", "audit", "--json").json["entries"][0]["what"] == "authenticator_off"
    with Outbox(postroom.database) as outbox:
        [told] = outbox.list(kind=ACCOUNT_KIND).emails
    assert told.recipients[0].address == NAME


@pytest.mark.parametrize("name", ["ＡＤＡ@example.org", "ａｄａ@example.org", " ADA@EXAMPLE.ORG "])
def test_people_are_found_however_their_name_is_spelled(postroom: CommandLine, name: str) -> None:
    add_ada(postroom)

    assert postroom("user", "role", name, "viewer").code == 0


def test_nobody_is_added_under_a_name_that_only_looks_like_another(postroom: CommandLine) -> None:
    answer = postroom("user", "add", "ａｄａ@example.org", "--password-stdin", input=f"{PASSWORD}\n")

    assert (answer.code, "write 'ada@example.org'" in answer.err) == (2, True)


def test_a_token_is_shown_once_and_found_by_what_was_shown(postroom: CommandLine) -> None:
    add_ada(postroom, "--role", "admin")
    shown = postroom("user", "token", NAME, "--scope", "operator", "--label", "ci", "--expires", "90d").out.strip()
    [listed] = postroom("user", "token", NAME, "--list", "--json").json["tokens"]
    with Outbox(postroom.database) as outbox:
        token = outbox.database.run(find_token(shown))

    assert token is not None
    assert (token.id, token.person.role, token.label) == (listed["id"], Role.OPERATOR, "ci")
    assert (listed["scope"], listed["workspaces"], listed["expires_at"] is None) == ("operator", None, False)
    assert shown not in postroom("user", "token", NAME, "--list").out


def test_a_token_is_revoked_once(postroom: CommandLine) -> None:
    add_ada(postroom)
    made = postroom("user", "token", NAME, "--json").json

    assert postroom("user", "token", NAME, "--revoke", made["id"]).code == 0
    assert postroom("user", "token", NAME, "--revoke", made["id"]).code == 1
    assert postroom("user", "token", NAME, "--list", "--json").json == {"tokens": []}


def test_the_audit_log_tells_what_was_done_on_the_host_without_secrets(postroom: CommandLine) -> None:
    add_ada(postroom)
    token = postroom("user", "token", NAME).out.strip()
    code = postroom("user", "code", NAME).out.strip()
    entries = postroom("user", "audit", "--json").json["entries"]

    assert [entry["what"] for entry in entries] == ["code_from_host", "token_add", "user_add"]
    assert {entry["detail"]["person"] for entry in entries} == {NAME}
    assert not any(secret in str(entries) for secret in (token, code, PASSWORD))
    assert "user_add" in postroom("user", "audit").out
    assert "user_add" not in postroom("user", "audit", "--limit", "1").out


def test_who_is_not_there_is_said_so(postroom: CommandLine) -> None:
    for command in (["password"], ["remove"], ["code"], ["token"], ["role", "viewer"]):
        answer = postroom("user", command[0], "bob@example.org", *command[1:])

        assert (answer.code, "postroom user list" in answer.err) == (1, True), command


def test_acts_on_the_host_are_on_record_with_their_reason_and_what_came_of_them(postroom: CommandLine) -> None:
    with Outbox(postroom.database) as outbox:
        ids = [outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="Hello")).id for _ in range(2)]
    assert postroom("cancel", *ids, "--reason", "sent by mistake", "--by", "grace").code == 0
    assert postroom("prune", "--older-than", "0s", "--yes").code == 0
    assert postroom("cancel", "--all", "--dry-run").code == 0
    entries = postroom("user", "audit", "--json").json["entries"]
    shown = postroom("user", "audit").out

    assert [(entry["what"], entry["detail"]["state"]) for entry in entries] == [
        ("prune", "done"),
        ("prune", "begun"),
        ("cancel", "done"),
        ("cancel", "begun"),
    ]
    assert (entries[0]["detail"]["done"], entries[0]["detail"]["statuses"]) == (2, ["sent", "cancelled"])
    assert (entries[2]["actor"], entries[2]["detail"]["done"]) == ("grace", 2)
    assert entries[2]["detail"]["reason"] == "sent by mistake"
    assert "cancelled 2 emails" in " ".join(shown.split())
