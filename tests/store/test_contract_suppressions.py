"""Who is not to be mailed: entries are heard once, end when they say so, and stop what they cover and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from postroom import Outbox
from postroom.errors import InvalidEmail
from postroom.store.ids import new_id
from postroom.store.suppressions import (
    Mail,
    Stop,
    Suppression,
    SuppressionRules,
    stopped_by,
    suppress,
    suppressions,
    suppressions_of,
    suppressions_since,
    unsuppress,
)
from postroom.vocabulary import SuppressionReason, SuppressionScope
from tests.store.journey import Clock

ADA = "ada@example.org"
NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
RECEIPT = Mail(workspace="hotel")
NEWSLETTER = Mail(workspace="hotel", kind="news", unsubscribable=True)


def stop(address: str = ADA, **fields: Any) -> Stop:
    return Stop(**({"address": address, "reason": SuppressionReason.MANUAL} | fields))


def entry(**fields: Any) -> Suppression:
    usual = {
        "id": new_id(), "address": ADA, "scope": SuppressionScope.WORKSPACE, "workspace": "hotel", "kind": "",
        "reason": SuppressionReason.UNSUBSCRIBE, "evidence": "", "email_id": None, "actor": None, "created_at": NOW,
        "noted_at": NOW, "expires_at": None,
    }  # fmt: skip
    return Suppression(**(usual | fields))


def known(outbox: Outbox, address: str = ADA) -> list[Suppression]:
    return outbox.database.run(suppressions_of([address])).get(address, [])


def test_an_entry_is_kept_as_it_was_given(outbox: Outbox, clock: Clock) -> None:
    id, until = new_id(), clock.now + timedelta(days=3)
    [added] = outbox.database.run(
        suppress([
            stop(
                " Ada@Example.org ", scope=SuppressionScope.KIND, workspace="hotel", kind="news", evidence="said so",
                email_id=id, actor="grace", expires_at=until,
            )
        ])
    )  # fmt: skip

    assert known(outbox) == [added]
    assert replace(added, id="") == Suppression(
        id="", address=ADA, scope=SuppressionScope.KIND, workspace="hotel", kind="news",
        reason=SuppressionReason.MANUAL, evidence="said so", email_id=id, actor="grace", created_at=clock.now,
        noted_at=clock.now, expires_at=until,
    )  # fmt: skip


def test_said_again_an_entry_keeps_its_beginning_and_takes_the_latest_evidence(outbox: Outbox, clock: Clock) -> None:
    [first] = outbox.database.run(suppress([stop(evidence="on the phone", actor="grace")]))
    clock.advance(days=1)
    [again] = outbox.database.run(suppress([stop(evidence="by letter")]))
    [silent] = outbox.database.run(suppress([stop()]))

    assert again == replace(first, evidence="by letter", noted_at=clock.now)
    assert silent == again
    assert known(outbox) == [again]


def test_who_wants_to_be_left_alone_has_said_so_by_the_first_email(outbox: Outbox) -> None:
    """What is taken back by a link is what that link has led to, whoever has pressed another meanwhile."""
    first, second = new_id(), new_id()
    outbox.database.run(suppress([stop(reason=SuppressionReason.UNSUBSCRIBE, email_id=first)]))
    [wish] = outbox.database.run(suppress([stop(reason=SuppressionReason.UNSUBSCRIBE, email_id=second)]))
    outbox.database.run(suppress([stop(reason=SuppressionReason.COMPLAINT, email_id=first)]))
    [complaint] = outbox.database.run(suppress([stop(reason=SuppressionReason.COMPLAINT, email_id=second)]))

    assert (wish.email_id, complaint.email_id) == (first, second)


def test_said_twice_at_once_it_is_one_entry(outbox: Outbox) -> None:
    assert len(outbox.database.run(suppress([stop(), stop("ADA@example.org")]))) == 1


@pytest.mark.parametrize(("first", "second", "left"), [(1, 2, 2), (2, 1, 2), (1, None, None), (None, 1, None)])
def test_an_entry_never_ends_sooner_than_it_would_have(
    outbox: Outbox, clock: Clock, first: int | None, second: int | None, left: int | None
) -> None:
    def until(days: int | None) -> datetime | None:
        return None if days is None else clock.now + timedelta(days=days)

    outbox.database.run(suppress([stop(expires_at=until(first))]))
    [now] = outbox.database.run(suppress([stop(expires_at=until(second))]))

    assert now.expires_at == until(left)


def test_what_has_ended_is_not_found_by_its_address_any_more(outbox: Outbox, clock: Clock) -> None:
    outbox.database.run(suppress([stop(expires_at=clock.now + timedelta(hours=1))]))
    clock.advance(hours=1)

    assert known(outbox) == []
    assert outbox.database.run(suppressions_since(1e6)) == []


def test_taking_one_reason_away_leaves_the_others(outbox: Outbox) -> None:
    bounce, wish = sorted(
        outbox.database.run(suppress([stop(reason=SuppressionReason.HARD_BOUNCE), stop()])), key=lambda it: it.reason
    )
    assert outbox.database.run(unsuppress([wish.id])) == [wish]
    assert outbox.database.run(unsuppress([wish.id])) == []
    assert known(outbox) == [bounce]


def test_who_may_see_some_workspaces_takes_away_theirs_and_sees_theirs_and_what_is_about_everything(
    outbox: Outbox,
) -> None:
    theirs = {"scope": SuppressionScope.WORKSPACE, "workspace": "hotel"}
    entries = outbox.database.run(
        suppress([stop(), stop(**theirs), stop(scope=SuppressionScope.WORKSPACE, workspace="bank")])
    )
    own = [each for each in entries if each.workspace == "hotel"]
    seen = outbox.database.run(suppressions(limit=10, workspaces=["hotel"]))

    assert {each.workspace for each in seen} == {"", "hotel"}
    assert outbox.database.run(unsuppress([each.id for each in entries], workspaces=["hotel"])) == own
    assert len(known(outbox)) == 2


def test_entries_are_listed_latest_first_page_by_page_and_found_by_any_part(outbox: Outbox) -> None:
    for name in ("a_da", "grace", "alan"):
        outbox.database.run(suppress([stop(f"{name}@example.org")]))
    first = outbox.database.run(suppressions(limit=2))
    second = outbox.database.run(suppressions(limit=2, before=first[-1].id))

    assert [each.address.partition("@")[0] for each in (*first, *second)] == ["alan", "grace", "a_da"]
    assert [each.address for each in outbox.database.run(suppressions(limit=9, part="A_"))] == ["a_da@example.org"]
    assert outbox.database.run(suppressions(limit=9, part="%")) == []
    assert outbox.database.run(suppressions(limit=9, reason=SuppressionReason.COMPLAINT)) == []


def test_what_is_new_is_told_by_the_clock_of_the_store(outbox: Outbox, clock: Clock) -> None:
    outbox.database.run(suppress([stop("old@example.org")]))
    clock.advance(seconds=61)
    [new] = outbox.database.run(suppress([stop()]))

    assert outbox.database.run(suppressions_since(60)) == [new]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"address": "nobody"}, "address"),
        ({"address": "a b@example.org"}, "address"),
        ({"address": "a@b\r\nc"}, "address"),
        ({"workspace": "hotel"}, "scope"),
        ({"scope": SuppressionScope.KIND}, "kind"),
        ({"scope": SuppressionScope.WORKSPACE, "kind": "news"}, "kind"),
        ({"expires_at": datetime(2026, 3, 9)}, "expires_at"),  # noqa: DTZ001
    ],
)
def test_what_cannot_be_meant_is_refused_by_field(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidEmail) as refused:
        stop(**wrong)

    assert refused.value.field == field


# ---------------------------------------------------------------- which emails an entry stops


def test_a_wish_to_be_left_alone_stops_what_can_be_unsubscribed_from_and_no_receipt() -> None:
    wish = entry()

    assert stopped_by([wish], NEWSLETTER, now=NOW) is wish
    assert stopped_by([wish], RECEIPT, now=NOW) is None


def test_an_entry_about_everything_stops_everything() -> None:
    all_of_it = entry(scope=SuppressionScope.ALL, workspace="")

    assert stopped_by([all_of_it], RECEIPT, now=NOW) is all_of_it
    assert stopped_by([all_of_it], NEWSLETTER, now=NOW) is all_of_it


def test_a_mailbox_that_does_not_exist_gets_no_receipts_either_unless_that_is_switched_off() -> None:
    bounce = entry(reason=SuppressionReason.HARD_BOUNCE)

    assert stopped_by([bounce], RECEIPT, now=NOW) is bounce
    assert stopped_by([bounce], RECEIPT, now=NOW, rules=SuppressionRules(bounces_stop_all=False)) is None
    assert stopped_by([bounce], NEWSLETTER, now=NOW, rules=SuppressionRules(bounces_stop_all=False)) is bounce


def test_other_workspaces_and_other_kinds_go_on() -> None:
    of_a_kind = entry(scope=SuppressionScope.KIND, kind="news")

    assert stopped_by([of_a_kind], NEWSLETTER, now=NOW) is of_a_kind
    assert stopped_by([of_a_kind], replace(NEWSLETTER, kind="offers"), now=NOW) is None
    assert stopped_by([entry()], replace(NEWSLETTER, workspace="bank"), now=NOW) is None


def test_an_entry_that_has_ended_stops_nothing() -> None:
    assert stopped_by([entry(expires_at=NOW)], NEWSLETTER, now=NOW) is None


def test_of_several_the_first_is_named() -> None:
    first, later = entry(), entry(created_at=NOW + timedelta(days=1))

    assert stopped_by([later, first], NEWSLETTER, now=NOW) is first


@given(some.lists(some.sampled_from(list(SuppressionScope)), max_size=4), some.booleans())
def test_one_more_entry_never_lets_more_through(scopes: list[SuppressionScope], unsubscribable: bool) -> None:
    entries = [
        entry(
            scope=scope,
            workspace="" if scope is SuppressionScope.ALL else "hotel",
            kind="news" if scope is SuppressionScope.KIND else "",
        )
        for scope in scopes
    ]
    mail = replace(NEWSLETTER, unsubscribable=unsubscribable)
    stopped = [stopped_by(entries[:count], mail, now=NOW) is not None for count in range(len(entries) + 1)]

    assert stopped == sorted(stopped)
