"""What is on record of an act: what was asked, why, and what came of it; on both stores."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from postroom import Email, Outbox, Status
from postroom.accounts.audit import read_audit
from postroom.accounts.telling import email_ids, in_one_line, particulars, sentence
from postroom.accounts.values import AuditEntry
from postroom.errors import EmailNotFound, InvalidEmail, NotApplicable, SensitiveEmail
from postroom.operate import Actor, AsyncOperations, Search
from postroom.operate.recording import LISTED
from tests.store import journey
from tests.store.journey import bring_to

GRACE = Actor(name="grace@example.org", address="192.0.2.7", token="nightly")
ABSENT = "00000000-0000-7000-8000-000000000000"


def dead(outbox: Outbox, email: Email | None = None, **wishes: Any) -> str:
    """An email that was given up."""
    if email is None:
        return bring_to(outbox, Status.DEAD, **wishes)
    id = outbox.enqueue(email, **wishes).id
    [claimed] = journey.claim(outbox)
    journey.settle(outbox, [journey.dead(claimed)])
    return id


def enqueue(outbox: Outbox) -> str:
    return journey.enqueue(outbox)[0]


def lines(outbox: Outbox) -> list[AuditEntry]:
    """Oldest first."""
    return list(reversed(outbox.database.run(read_audit(), writes=False).entries))


def told(entry: AuditEntry, *without: str) -> dict[str, Any]:
    return {name: value for name, value in entry.detail.items() if name not in without}


async def test_one_act_is_one_line_with_who_from_where_what_and_why(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    id = dead(outbox)
    await operations.act_on_one("retry", id, by=GRACE, reason="the server is back")
    [line] = lines(outbox)

    assert (line.actor, line.what, line.address) == ("grace@example.org", "retry", "192.0.2.7")
    assert line.detail == {"id": id, "was": "dead", "reason": "the server is back", "token": "nightly"}
    assert sentence(line) == "retried an email"


async def test_a_refusal_is_a_line_that_says_why(outbox: Outbox, operations: AsyncOperations) -> None:
    gone, id = dead(outbox), enqueue(outbox)
    with pytest.raises(NotApplicable):
        await operations.act_on_one("retry", id, by="grace")
    with pytest.raises(EmailNotFound):
        await operations.act_on_one("cancel", "nonsense", by="grace")
    with pytest.raises(InvalidEmail):
        await operations.act_on_one("replay", gone, by="grace", corrections={"to": "a secret, not an address"})

    assert [line.what for line in lines(outbox)] == ["retry", "cancel", "replay"]
    assert all("refused" in line.detail for line in lines(outbox))
    assert "secret" not in str(lines(outbox))


async def test_many_emails_have_two_lines_with_the_filter_and_how_many(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    for _ in range(3):
        dead(outbox)
    enqueue(outbox)
    await operations.act("dismiss", Search(status=Status.DEAD, kind=None), by=GRACE, reason="old")
    begun, done = lines(outbox)

    assert begun.detail["act"] == done.detail["act"]
    assert told(begun, "act", "token") == {"state": "begun", "filter": {"status": "dead"}, "reason": "old"}
    assert told(done, "act", "token") == {"state": "done", "filter": {"status": "dead"}, "reason": "old", "done": 3}
    assert sentence(done) == "dismissed 3 emails"


async def test_a_dismissal_that_is_taken_back_has_a_line_that_names_it(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    result = await operations.act("dismiss", [dead(outbox), dead(outbox)], by=GRACE)
    alone = dead(outbox)
    await operations.act_on_one("dismiss", alone, by=GRACE)
    await operations.undo_dismissal(result.tie, by=GRACE)
    await operations.reinstate(alone, by=GRACE, reason="a slip")
    with pytest.raises(EmailNotFound):
        await operations.reinstate(alone, by=GRACE)
    *_, many, one, refused = lines(outbox)

    assert (many.detail["act"], sentence(many)) == (result.tie, "reinstated 2 emails")
    assert (one.detail["reason"], email_ids(one), sentence(one)) == ("a slip", [alone], "reinstated an email")
    assert sentence(refused).startswith("wanted to reinstate, and was refused: no email")


async def test_ids_are_named_up_to_a_number_and_what_was_left_is_counted(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    ids = [dead(outbox), enqueue(outbox), *(f"{ABSENT[:-6]}{n:06d}" for n in range(LISTED))]
    await operations.act("retry", ids, by="grace")
    _, done = lines(outbox)

    assert (done.detail["emails"], len(done.detail["ids"])) == (LISTED + 2, LISTED)
    assert (done.detail["done"], done.detail["left"]) == (1, 1)
    assert sentence(done) == "retried 1 email, left 1 email as before"
    assert email_ids(done)[:2] == ids[:2]


async def test_looking_first_is_no_act(outbox: Outbox, operations: AsyncOperations) -> None:
    dead(outbox)
    await operations.act("dismiss", Search(), by="grace", dry_run=True)

    assert lines(outbox) == []


async def test_a_correction_is_told_with_what_was_and_what_is_and_not_what_the_email_says(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    id = dead(outbox, Email(to="wrong@example.org", subject="Helo", text="A private word"))
    corrections = {"to": ["right@example.org"], "subject": "Hello", "text": "Another private word"}
    await operations.act_on_one("replay", id, by="grace", corrections=corrections)
    [line] = lines(outbox)

    assert line.detail["corrections"] == {
        "to": {"before": ["wrong@example.org"], "after": ["right@example.org"]},
        "subject": {"before": "Helo", "after": "Hello"},
        "text": {"before": "14 characters", "after": "20 characters"},
    }
    assert "private" not in str(line)
    assert ("subject", "Helo → Hello") in list(particulars(line))


async def test_of_a_sensitive_email_it_is_told_that_nobody_may_correct_it_and_nothing_that_it_says(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    id = dead(outbox, Email(to="wrong@example.org", subject="Code 111", text="Code 111"), sensitive=True)
    with pytest.raises(SensitiveEmail):
        await operations.act_on_one(
            "replay",
            id,
            by="grace",
            corrections={"to": ["right@example.org"], "subject": "Code 222", "text": "Code 222"},
        )
    [line] = lines(outbox)

    assert (line.what, line.detail["id"]) == ("replay", id)
    assert "it is sensitive" in line.detail["refused"]
    assert "Code" not in str(line)


async def test_many_replays_have_a_line_each_between_the_two_of_the_act(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    ids = {dead(outbox, Email(to=f"wrong{n}@example.org", subject="Hi", text="Hello")) for n in range(2)}
    await operations.act("replay", Search(), by="grace", corrections={"to": "right@example.org"})
    begun, *each, done = lines(outbox)

    assert {line.detail["act"] for line in each} == {begun.detail["act"]} == {done.detail["act"]}
    assert {line.detail["id"] for line in each} == ids
    assert {line.detail["corrections"]["to"]["before"][0][:5] for line in each} == {"wrong"}
    assert done.detail["done"] == 2


async def test_pausing_tells_how_the_route_stood_before_and_after(outbox: Outbox, operations: AsyncOperations) -> None:
    enqueue(outbox)
    await operations.pause_route("default", "new password", GRACE)
    await operations.resume_route("default", GRACE)
    paused, resumed = lines(outbox)

    assert told(paused, "token") == {"route": "default", "reason": "new password", "before": "ok", "after": "paused"}
    assert (resumed.detail["before"], resumed.detail["after"]) == ("paused", "ok")


def test_lines_of_any_age_and_shape_can_be_read() -> None:
    for detail in (
        {},
        {"id": 7, "corrections": "x", "filter": 3, "ids": "y"},
        {"refused": "needs operator", "id": ABSENT},
        {"state": "begun"},
        {"done": "many", "left": {}, "corrections": {"to": {"before": [], "after": None}}},
    ):
        for what in ("POST /api/admin/outbox/{id}/retry", "retry", "enqueue", "route_move", "user_role", "?"):
            entry = AuditEntry(
                id=1, at=datetime(2026, 5, 17, tzinfo=UTC), actor="a", what=what, address="", detail=detail
            )
            assert in_one_line(entry)


def test_who_is_not_to_be_mailed_is_told_in_words() -> None:
    def told(what: str, **detail: object) -> str:
        at = datetime(2026, 5, 17, tzinfo=UTC)
        return in_one_line(AuditEntry(id=1, at=at, actor="a", what=what, address="", detail=detail))

    assert told("suppress", recipient="ada@example.org", reason="manual", scope="all", entry=ABSENT) == (
        f"said who is not to be mailed; why: manual; recipient: ada@example.org; scope: all; entry: {ABSENT}"
    ), "an entry is no email"
    assert told("unsuppress", refused="no such entry") == "wanted to unsuppress, and was refused: no such entry"
    assert told("suppressions_import", act="1", state="begun") == "began to import a list"
    assert told("suppressions_import", act="1", state="done", entries=7, refused_lines=2) == (
        "imported a list of who is not to be mailed; entries: 7; refused lines: 2"
    )
    assert told("suppressions_import", act="1", state="stopped", entries=3).startswith("could not import all of a list")
