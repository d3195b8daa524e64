"""People, tokens and the key, on both stores."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from postroom import AsyncOutbox
from postroom.accounts import audit, passwords
from postroom.accounts.accounts import (
    add_person,
    change_role,
    check_somebody_is_there,
    everybody,
    get_person,
    remove_person,
)
from postroom.accounts.audit import read_audit, write_audit
from postroom.accounts.chance import new_token
from postroom.accounts.door import DoorKeeper
from postroom.accounts.secret import secret_key
from postroom.accounts.sessions import begin_session, find_session
from postroom.accounts.tokens import add_token, find_token, revoke_token, tokens_of
from postroom.accounts.values import Person, Role, Stage
from postroom.errors import ConfigurationError, InvalidEmail, NameTaken, PersonNotFound


async def test_a_person_is_found_by_name_in_any_case(outbox: AsyncOutbox, ada: Person) -> None:
    found = await outbox.database.run(get_person(" ADA@example.ORG"), writes=False)

    assert found.person == ada == Person(id=ada.id, name="ada@example.org", role=Role.ADMIN, workspaces=None)
    assert "argon2" not in repr(found)


async def test_workspaces_are_kept_and_none_is_not_all(outbox: AsyncOutbox, ada: Person) -> None:
    for name, workspaces in (("b@example.org", ["sales", "café"]), ("c@example.org", [])):
        await outbox.database.run(add_person(name, role=Role.VIEWER, password="x", workspaces=workspaces))
    people = [account.person for account in await outbox.database.run(everybody(), writes=False)]

    assert [person.workspaces for person in people] == [None, frozenset({"sales", "café"}), frozenset()]
    assert [person.may_see("sales") for person in people] == [True, True, False]


async def test_a_name_belongs_to_one_person(outbox: AsyncOutbox, ada: Person) -> None:
    with pytest.raises(NameTaken, match=r"ada@example\.org is there already"):
        await outbox.database.run(add_person("ADA@example.org", role=Role.VIEWER, password="x"))

    assert len(await outbox.database.run(everybody(), writes=False)) == 1


async def test_a_name_is_an_address_that_codes_can_be_mailed_to(outbox: AsyncOutbox) -> None:
    with pytest.raises(InvalidEmail, match="name"):
        await outbox.database.run(add_person("ada", role=Role.VIEWER, password="x"))


async def test_nobody_is_found_under_another_name(outbox: AsyncOutbox, ada: Person) -> None:
    with pytest.raises(PersonNotFound, match="postroom user list"):
        await outbox.database.run(get_person("bob@example.org"), writes=False)


async def test_without_anybody_there_is_a_way_out_of_it(outbox: AsyncOutbox) -> None:
    with pytest.raises(ConfigurationError, match=r"postroom user add .* --dev"):
        await outbox.database.run(check_somebody_is_there(), writes=False)
    await outbox.database.run(add_person("ada@example.org", role=Role.ADMIN, password="x"))

    assert await outbox.database.run(check_somebody_is_there(), writes=False) is None


async def test_tokens_are_listed_revoked_and_go_with_their_owner(outbox: AsyncOutbox, ada: Person) -> None:
    first, second = new_token(), new_token()
    ids = [
        await outbox.database.run(add_token(ada, token, scope=Role.VIEWER, label=token[:3]))
        for token in (first, second)
    ]
    assert [token.id for token in await outbox.database.run(tokens_of(ada), writes=False)] == ids
    bob = await outbox.database.run(add_person("bob@example.org", role=Role.ADMIN, password="x"))

    assert not await outbox.database.run(revoke_token(bob, ids[0])), "not one of his"
    assert await outbox.database.run(revoke_token(ada, ids[0]))
    assert await outbox.database.run(find_token(first), writes=False) is None
    assert await outbox.database.run(find_token(second), writes=False) is not None
    await outbox.database.run(remove_person(ada))
    assert await outbox.database.run(find_token(second), writes=False) is None


async def test_the_key_is_made_once_and_the_same_for_all(outbox: AsyncOutbox) -> None:
    keys = {await DoorKeeper(outbox).key() for _ in range(3)}

    assert len(keys) == 1
    assert {len(key) for key in keys} == {32}


async def test_a_key_from_the_settings_is_in_no_table(outbox: AsyncOutbox) -> None:
    outbox.settings = outbox.settings.model_copy(update={"secret": SecretStr("by chance, " * 4)})
    key = await DoorKeeper(outbox).key()
    kept = await outbox.database.run(secret_key(outbox.settings.model_copy(update={"secret": None})))

    assert key != kept
    assert "by chance" not in repr(outbox.settings)


async def test_a_key_that_can_be_guessed_is_refused(outbox: AsyncOutbox) -> None:
    outbox.settings = outbox.settings.model_copy(update={"secret": SecretStr("secret")})

    with pytest.raises(ConfigurationError, match="POSTROOM_SECRET has 6 characters"):
        await DoorKeeper(outbox).key()


async def test_the_audit_log_is_read_newest_first_for_all_or_for_one(outbox: AsyncOutbox) -> None:
    for number, actor in enumerate(("ada", "bob", "ada")):
        await outbox.database.run(write_audit(actor, "did", address="192.0.2.1", number=number))
    await outbox.database.run(write_audit("bob", "slept"))

    everything = await outbox.database.run(read_audit(what="did"), writes=False)
    hers = await outbox.database.run(read_audit(actor="ada", limit=1), writes=False)
    assert [entry.detail["number"] for entry in everything.entries] == [2, 1, 0]
    assert [(entry.actor, entry.detail) for entry in hers.entries] == [("ada", {"number": 2})]


@pytest.mark.parametrize("window", [1, 2, 100])
async def test_the_audit_log_is_read_page_by_page_without_a_gap_or_a_repetition(
    outbox: AsyncOutbox, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a page stops because it has looked at enough: it may hold nothing, and still has a next one."""
    monkeypatch.setattr(audit, "WINDOW", window)
    for number in range(7):
        await outbox.database.run(write_audit("ada" if number % 3 else "bob", "did", number=number))

    seen, before = [], None
    while True:
        page = await outbox.database.run(read_audit(actor="ada", before=before, limit=2), writes=False)
        seen += [entry.detail["number"] for entry in page.entries]
        before = page.next
        if before is None:
            break
    assert seen == [5, 4, 2, 1]


async def test_whose_role_changes_signs_in_anew_and_keeps_no_more_by_token(outbox: AsyncOutbox, ada: Person) -> None:
    run = outbox.database.run
    bob = await run(add_person("bob@example.org", role=Role.ADMIN, password="x"))
    for person in (ada, bob):
        await run(begin_session(person, f"of {person.name}", stage=Stage.FULL, life=timedelta(hours=1)))
    await run(add_token(ada, "a token", scope=Role.OPERATOR))

    await run(change_role(ada, Role.VIEWER, workspaces=["hotel"]))
    token = await run(find_token("a token"), writes=False)
    assert (await run(get_person("ada@example.org"))).person == replace(
        ada, role=Role.VIEWER, workspaces=frozenset({"hotel"})
    )
    assert await run(find_session("of ada@example.org"), writes=False) is None
    assert await run(find_session("of bob@example.org"), writes=False) is not None
    assert token is not None
    assert (token.person.role, token.person.workspaces) == (Role.VIEWER, frozenset({"hotel"}))


@pytest.mark.parametrize("password", ["", "short", "eleven char", "aaaaaaaaaaaaaaaa", "ababababababab", "x" * 2_000])
def test_a_password_that_is_easily_guessed_is_refused(password: str) -> None:
    with pytest.raises(ConfigurationError, match="several words make a good one"):
        passwords.check_new(password)


@pytest.mark.usefixtures("in_earnest")
def test_a_password_is_kept_as_argon2id_and_told_from_others() -> None:
    hashed = passwords.hash_password("correct horse battery staple")

    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert passwords.nobodys().startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert passwords.is_right(hashed, "correct horse battery staple")
    assert not passwords.is_right(hashed, "correct horse battery stable")
    assert not passwords.is_right(None, "correct horse battery staple")
    assert not passwords.is_right("no hash at all", "correct horse battery staple")


def test_a_password_is_the_same_on_keyboards_that_spell_accents_differently() -> None:
    assert passwords.is_right(passwords.hash_password("caf\u00e9 au lait, s'il"), "cafe\u0301 au lait, s'il")
