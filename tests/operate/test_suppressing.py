"""Who is not to be mailed, as people see and say it: who may, what is on record, and what is asked before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from postroom import Email, Outbox
from postroom.accounts.audit import read_audit
from postroom.errors import InvalidEmail
from postroom.operate import Actor, AsyncOperations
from postroom.operate.stops import read_stop
from postroom.operate.suppression_rights import RemovalUnconfirmed, SuppressionNotFound, SuppressionShared
from postroom.operate.suppression_wording import address_in_words, stops_in_words
from postroom.store.suppressions import Stop, Suppression, SuppressionRules
from postroom.vocabulary import SuppressionReason, SuppressionScope

ADA = "ada@example.org"
GRACE = Actor(name="grace@example.org", address="192.0.2.1")
HOTEL = frozenset({"hotel"})
OF_HOTEL = {"scope": SuppressionScope.WORKSPACE, "workspace": "hotel"}


def stop(address: str = ADA, **fields: Any) -> Stop:
    return Stop(**({"address": address, "reason": SuppressionReason.MANUAL} | fields))


def recorded(outbox: Outbox) -> list[tuple[str, dict[str, Any]]]:
    """What is in the audit log, oldest first."""
    found = outbox.database.run(read_audit(), writes=False).entries
    return [(entry.what, dict(entry.detail)) for entry in reversed(found)]


# ---------------------------------------------------------------- adding and removing


async def test_an_entry_is_added_found_and_removed_and_each_is_on_record(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    entry = await operations.suppress(stop(evidence="said on the phone"), by=GRACE)
    found = await operations.suppressions(part="DA@EX")
    removed = await operations.unsuppress(entry.id, by=GRACE)

    assert (found.entries, found.next, removed) == ((entry,), None, entry)
    assert (await operations.suppressions()).entries == ()
    told = {"recipient": ADA, "reason": "manual", "scope": "all", "entry": entry.id}
    assert recorded(outbox) == [("suppress", told), ("unsuppress", told)], "and not what shows it"


@pytest.mark.parametrize("reason", [SuppressionReason.UNSUBSCRIBE, SuppressionReason.COMPLAINT])
async def test_a_persons_own_word_is_removed_only_when_that_is_confirmed(
    outbox: Outbox, operations: AsyncOperations, reason: SuppressionReason
) -> None:
    entry = await operations.suppress(stop(reason=reason), by=GRACE)

    with pytest.raises(RemovalUnconfirmed, match="has said no") as unconfirmed:
        await operations.unsuppress(entry.id, by=GRACE)
    assert unconfirmed.value.entries == (entry,)
    with pytest.raises(RemovalUnconfirmed):
        await operations.unsuppress_address(ADA, by=GRACE)
    assert await operations.suppressions_of(ADA) == (entry,)
    assert await operations.unsuppress(entry.id, by=GRACE, confirm=True) == entry


async def test_of_an_address_all_entries_are_removed_or_those_with_some_reasons(operations: AsyncOperations) -> None:
    for reason in (SuppressionReason.MANUAL, SuppressionReason.IMPORTED, SuppressionReason.HARD_BOUNCE):
        await operations.suppress(stop(reason=reason), by="root")
    some = await operations.unsuppress_address(f" {ADA.upper()}", by="root", reasons=[SuppressionReason.IMPORTED])
    rest = await operations.unsuppress_address(ADA, by="root")

    assert [entry.reason for entry in some] == ["imported"]
    assert sorted(entry.reason for entry in rest) == ["hard_bounce", "manual"]
    with pytest.raises(SuppressionNotFound):
        await operations.unsuppress_address(ADA, by="root")


@pytest.mark.parametrize(
    "id", ["01a1ee72-5bd1-70f7-9809-8f659a098ebd", "ffffffff-ffff-ffff-ffff-ffffffffffff", "nothing", ""]
)
async def test_what_is_not_there_cannot_be_removed_and_that_is_on_record(
    outbox: Outbox, operations: AsyncOperations, id: str
) -> None:
    await operations.suppress(stop(), by="root")

    with pytest.raises(SuppressionNotFound):
        await operations.unsuppress(id, by="root")
    what, detail = recorded(outbox)[-1]
    assert (what, "no such entry" in detail["refused"]) == ("unsuppress", True)
    assert len((await operations.suppressions()).entries) == 1


async def test_pages_go_on_where_the_one_before_ended(operations: AsyncOperations) -> None:
    for name in ("ada", "grace", "alan"):
        await operations.suppress(stop(f"{name}@example.org"), by="root")
    first = await operations.suppressions(limit=2)
    second = await operations.suppressions(limit=2, before=first.next)

    assert [entry.address[:4] for entry in (*first.entries, *second.entries)] == ["alan", "grac", "ada@"]
    assert second.next is None


async def test_wildcards_are_searched_for_as_they_stand(operations: AsyncOperations) -> None:
    for name in ("a_b", "aXb", "a%b"):
        await operations.suppress(stop(f"{name}@example.org"), by="root")

    async def found(part: str) -> list[str]:
        return [entry.address.partition("@")[0] for entry in (await operations.suppressions(part=part)).entries]

    assert await found("a_b") == ["a_b"]
    assert await found("%") == ["a%b"]
    assert await found("\\") == []
    assert await found("'; DROP TABLE suppressions; --") == []


# ---------------------------------------------------------------- workspaces


async def test_who_sees_some_workspaces_sees_theirs_and_what_is_about_all_mail(operations: AsyncOperations) -> None:
    shared = await operations.suppress(stop(), by="root")
    own = await operations.suppress(stop(**OF_HOTEL), by="root")
    other = await operations.suppress(stop(scope=SuppressionScope.WORKSPACE, workspace="bank"), by="root")

    assert (await operations.suppressions(workspaces=HOTEL)).entries == (own, shared)
    assert set(await operations.suppressions_of(ADA, workspaces=HOTEL)) == {own, shared}
    assert await operations.suppression(shared.id, workspaces=HOTEL) == shared
    with pytest.raises(SuppressionNotFound):
        await operations.suppression(other.id, workspaces=HOTEL)
    with pytest.raises(SuppressionNotFound):
        await operations.unsuppress(other.id, by=GRACE, workspaces=HOTEL)
    with pytest.raises(SuppressionShared):
        await operations.unsuppress(shared.id, by=GRACE, workspaces=HOTEL)
    assert await operations.unsuppress(own.id, by=GRACE, workspaces=HOTEL) == own


@pytest.mark.parametrize("fields", [{}, {"scope": SuppressionScope.WORKSPACE, "workspace": "bank"}])
async def test_who_sees_some_workspaces_cannot_stop_mail_of_others(
    operations: AsyncOperations, fields: dict[str, Any]
) -> None:
    with pytest.raises(SuppressionShared):
        await operations.suppress(stop(**fields), by=GRACE, workspaces=HOTEL)

    assert (await operations.suppressions()).entries == ()


# ---------------------------------------------------------------- one email


async def test_recipients_of_an_email_who_would_not_get_it_are_known_by_the_entry(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    letter = Email(to=["Ada@example.org", "grace@example.org", "alan@example.org"], subject="Hi", text="Hello")
    email = outbox.get(outbox.enqueue(letter, workspace="hotel").id)
    entry = await operations.suppress(stop(), by="root")
    await operations.suppress(stop("grace@example.org", **OF_HOTEL), by="root")

    assert await operations.suppressed_in(email) == {ADA: entry}, "a wish about newsletters stops no receipt"


# ---------------------------------------------------------------- what is typed


def test_what_is_left_out_has_its_usual_meaning() -> None:
    assert read_stop({"address": " Ada <Ada@Example.org> "}) == stop()
    assert read_stop({"address": ADA, "workspace": "hotel"}) == stop(**OF_HOTEL)
    assert read_stop({"address": ADA, "kind": "news"}) == stop(scope=SuppressionScope.KIND, kind="news")


def test_an_address_is_compared_as_emails_have_it() -> None:
    assert read_stop({"address": "ada@bücher.example"}).address == "ada@xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-12-31", datetime(2026, 12, 31, tzinfo=UTC)),
        ("2026-12-31T18:00", datetime(2026, 12, 31, 18, tzinfo=UTC)),
        ("2026-12-31T18:00+02:00", datetime(2026, 12, 31, 16, tzinfo=UTC)),
        ("", None),
    ],
)
def test_an_end_is_a_day_or_a_time_in_utc_unless_it_says_otherwise(text: str, moment: datetime | None) -> None:
    assert read_stop({"address": ADA, "expires_at": text}).expires_at == moment


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"address": ""}, "address"),
        ({"address": "ada@example.org\r\nBcc: all@example.org"}, "address"),
        ({"address": "ada@example.org, grace@example.org"}, "address"),
        ({"reason": "because"}, "reason"),
        ({"scope": "some"}, "scope"),
        ({"scope": "all", "kind": "news"}, "scope"),
        ({"scope": "kind"}, "kind"),
        ({"workspace": "a\nb"}, "workspace"),
        ({"kind": "k" * 101}, "kind"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"expires_at": "0001-01-01T00:00+14:00"}, "expires_at"),
        ({"expires_at": "2025-01-01"}, "expires_at"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_field_with_a_remedy(said: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidEmail) as refused:
        read_stop({"address": ADA, **said}, after=datetime(2026, 1, 1, tzinfo=UTC))

    assert refused.value.field == field
    assert refused.value.remedy


def test_evidence_holds_nothing_that_a_terminal_obeys_or_a_database_refuses() -> None:
    assert read_stop({"address": ADA, "evidence": "red\x1b[31m\0\nline"}).evidence == "red [31m \nline"


# ---------------------------------------------------------------- words


def an_entry(**fields: Any) -> Suppression:
    at = datetime(2026, 3, 9, tzinfo=UTC)
    usual = {
        "id": "", "address": ADA, "scope": SuppressionScope.WORKSPACE, "workspace": "hotel", "kind": "",
        "reason": SuppressionReason.UNSUBSCRIBE, "evidence": "", "email_id": None, "actor": None, "created_at": at,
        "noted_at": at, "expires_at": None,
    }  # fmt: skip
    return Suppression(**(usual | fields))


def test_what_an_entry_stops_is_told_in_words() -> None:
    wish = an_entry()
    bounce = replace(wish, reason=SuppressionReason.HARD_BOUNCE)
    of_a_kind = replace(wish, scope=SuppressionScope.KIND, kind="news")

    assert stops_in_words(replace(wish, scope=SuppressionScope.ALL, workspace="")) == "all mail"
    assert stops_in_words(wish) == "mail of workspace hotel that can be unsubscribed from"
    assert stops_in_words(replace(wish, workspace="")) == "mail without a workspace that can be unsubscribed from"
    assert stops_in_words(of_a_kind) == "mail of kind news of workspace hotel that can be unsubscribed from"
    assert stops_in_words(bounce) == "all mail of workspace hotel"
    assert stops_in_words(bounce, SuppressionRules(bounces_stop_all=False)) == stops_in_words(wish)


def test_what_an_address_still_gets_is_told_in_words() -> None:
    wish = an_entry()

    assert address_in_words(ADA, []) == f"Nothing is known of {ADA}: it gets all mail."
    assert address_in_words(ADA, [wish, an_entry(scope=SuppressionScope.ALL)]) == f"{ADA} gets no mail at all."
    assert address_in_words(ADA, [wish]) == (
        f"{ADA} gets no mail of workspace hotel that can be unsubscribed from. All other mail goes on."
    )
