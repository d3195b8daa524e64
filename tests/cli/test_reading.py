"""list, show and stats."""

from __future__ import annotations

import email
from email import policy

import pytest

from postroom import Edition, Email, Outbox
from tests.cli.conftest import CommandLine, enqueue, enqueue_dead

MISSING = "01890000-0000-7000-8000-000000000000"


def test_a_list_shows_every_email_with_its_whole_id_newest_first(postroom: CommandLine, outbox: Outbox) -> None:
    first, second = enqueue(outbox, subject="First"), enqueue(outbox, subject="Second")

    lines = postroom("list").out.splitlines()

    assert lines[0].split() == ["id", "status", "to", "subject", "next", "tries", "enqueued"]
    assert [line.split()[0] for line in lines[2:]] == [second, first]
    assert lines[2].split()[1:4] == ["pending", "ada@example.org", "Second"]


def test_a_narrow_screen_cuts_subjects_and_never_ids(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    id = enqueue(outbox, subject="A long story about very little " * 5)

    lines = postroom("list").out.splitlines()

    assert id in lines[2]
    assert "…" in lines[2]


def test_an_empty_outbox_says_what_to_do(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("list")

    assert answer.code == 0
    assert answer.out == ""
    assert "postroom send --help" in answer.err


def test_a_list_for_programs_has_the_documented_fields(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue_dead(outbox)

    page = postroom("list", "--json").json

    assert page["next"] is None
    [found] = page["emails"]
    assert found["id"] == id
    assert found["status"] == "dead"
    assert (found["attempts"], found["max_attempts"]) == (1, 8)
    assert found["next_attempt_at"] is None
    assert found["last_error"] == "550 5.1.1 no such user"
    assert found["dead_reason"] == "permanent"
    assert found["message_id"].startswith("<")
    assert found["recipients"] == [
        {"address": "ada@example.org", "status": "dead", "code": 550, "text": None, "returned": None}
    ]
    assert [entry["what"] for entry in found["history"]] == ["failed"]


def test_pages_lead_to_one_another_without_gap_or_repetition(postroom: CommandLine, outbox: Outbox) -> None:
    ids = [enqueue(outbox) for _ in range(5)]

    pages = [postroom("list", "--json", "--limit", "2").json]
    while pages[-1]["next"]:
        pages.append(postroom("list", "--json", "--limit", "2", "--before", pages[-1]["next"]).json)

    assert [len(page["emails"]) for page in pages] == [2, 2, 1]
    assert [found["id"] for page in pages for found in page["emails"]] == ids[::-1]


def test_filters_narrow_together(postroom: CommandLine, outbox: Outbox) -> None:
    wanted = enqueue(outbox, subject="GRÖßE 42", kind="order", workspace="shop", to="bo@example.org")
    enqueue(outbox, subject="Größe 42", kind="order", workspace="shop")
    enqueue(outbox, subject="Other", kind="order", workspace="shop", to="bo@example.org")

    page = postroom(
        "list", "--json", "--kind", "order", "--workspace", "shop", "--recipient", "bo@example.org",
        "--subject", "größe", "--status", "pending", "--since", "1h",
    ).json  # fmt: skip

    assert [found["id"] for found in page["emails"]] == [wanted]


def test_emails_of_a_template_are_found_and_tell_their_edition(postroom: CommandLine, outbox: Outbox) -> None:
    """(C3)"""
    edition = Edition(portal="hub", template="welcome", version="9f2c1a83b0de", language="de")
    id = outbox.enqueue(Email(to="ada@example.org", subject="Hallo", text="Guten Tag", edition=edition)).id
    enqueue(outbox, subject="Of no template")

    for option, value in {
        "portal": "hub",
        "template": "hub.welcome",
        "version": "9f2c1a83b0de",
        "language": "de",
    }.items():
        [found] = postroom("list", f"--{option}", value, "--json").json["emails"]

        assert found["id"] == id
        assert found["edition"] == {
            "portal": "hub", "template": "welcome", "version": "9f2c1a83b0de", "language": "de"
        }  # fmt: skip
    assert "hub.welcome · version 9f2c1a83b0de · de" in postroom("show", id).out
    assert postroom("list", "--subject", "Of no", "--json").json["emails"][0]["edition"] is None


@pytest.mark.parametrize("view", ["--text", "--source"])
def test_what_is_not_rendered_yet_says_so(postroom: CommandLine, outbox: Outbox, view: str) -> None:
    edition = Edition(portal="hub", template="welcome", version="9f2c1a83b0de", language="de")
    id = outbox.enqueue(Email(to="ada@example.org", edition=edition, late='{"name":"Ada"}')).id

    answer = postroom("show", id, view)

    assert (answer.code, answer.out) == (1, "")
    assert "not rendered yet" in answer.err
    assert "not rendered yet" in postroom("show", id).out


def test_an_email_is_shown_with_recipients_and_history(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue_dead(outbox, subject="[red]Not markup[/red]", key="memo-7")
    outbox.retry(id, by="grace")

    shown = postroom("show", id).out

    assert id in shown
    assert "[red]Not markup[/red]" in shown
    assert "memo-7" in shown
    assert "ada@example.org" in shown
    assert "failed" in shown
    assert "retried" in shown
    assert "grace" in shown


def test_the_source_is_the_message_octet_by_octet(postroom: CommandLine, outbox: Outbox) -> None:
    id = outbox.enqueue(Email(to="ada@example.org", subject="Grüße 🌷", text="Hello\n", html="<p>Hello</p>")).id

    answer = postroom("show", id, "--source")

    parsed = email.message_from_string(answer.out, policy=policy.default)
    assert parsed["Subject"] == "Grüße 🌷"
    assert parsed["Message-ID"] == outbox.get(id).message_id


def test_the_text_of_an_earlier_version_can_be_read(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue(outbox)
    outbox.cancel(id)
    outbox.replay(id, text="Corrected")

    assert postroom("show", id, "--text").out == "Corrected\n"
    assert postroom("show", id, "--text", "--version", "1").out == "Hello\n"
    assert postroom("show", id, "--text", "--version", "3").code == 2


def test_an_email_that_is_not_there_is_told_with_code_1(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("show", MISSING, "--json")

    assert answer.code == 1
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert MISSING in answer.err


def test_what_is_no_id_is_told_with_code_2(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("show", "memo-7")

    assert answer.code == 2
    assert "postroom list" in answer.err


def test_stats_count_by_status_and_name_the_transports(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue_dead(outbox)
    enqueue(outbox)
    with outbox.transaction() as connection:
        connection.execute(
            "INSERT INTO postroom_transports (name, state, reason, updated_at) VALUES ('default', 'paused', 'quota', 0)"
        )

    stats = postroom("stats", "--json").json

    assert stats["counts"]["dead"] == 1
    assert stats["counts"]["pending"] == 1
    [route] = stats["transports"]
    assert (route["name"], route["state"], route["reason"]) == ("default", "paused", "quota")
    assert stats["oldest_due"].endswith("Z")
    assert "conservation" not in stats


def test_the_conservation_sum_is_checked_on_demand(postroom: CommandLine, outbox: Outbox) -> None:
    """The promise that nothing is lost can be checked by one command at any time."""
    id = enqueue(outbox)

    whole = postroom("stats", "--check", "--json")
    with outbox.transaction() as connection:
        connection.execute("DELETE FROM postroom_emails WHERE id = ?", (id,))
    broken = postroom("stats", "--check", "--json")

    assert whole.json["conservation"]["holds"] is True
    assert whole.code == 0
    assert broken.json["conservation"]["holds"] is False
    assert broken.code == 1
    assert "1 enqueued ≠ 0" in postroom("stats", "--check").out
