"""What a press of the link leaves behind: one entry however often, and taken back only by whoever made it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from postroom import Outbox
from postroom.returns.unsubscribing import Wish, resubscribed, unsubscribed
from postroom.sealing import Ticket
from postroom.store.ids import new_id
from postroom.store.suppressions import Mail, Stop, Suppression, stopped_by, suppress, suppressions_of
from postroom.vocabulary import SuppressionReason, SuppressionScope
from tests.store.journey import Clock

TICKET = Ticket(email_id=new_id(), address="Ada@example.org", workspace="hotel", kind="news")
NEWS = Mail(workspace="hotel", kind="news", unsubscribable=True)
OFFERS = Mail(workspace="hotel", kind="offers", unsubscribable=True)
RECEIPT = Mail(workspace="hotel", kind="receipt")
ELSEWHERE = Mail(workspace="bar", kind="news", unsubscribable=True)


def known(outbox: Outbox) -> list[Suppression]:
    return outbox.database.run(suppressions_of([TICKET.address])).get("ada@example.org", [])


def stopped(outbox: Outbox, clock: Clock, *mails: Mail) -> list[bool]:
    return [stopped_by(known(outbox), mail, now=clock.now) is not None for mail in mails]


@pytest.mark.parametrize("wish", [Wish.ONE_CLICK, Wish.ALL])
def test_a_press_stops_what_can_be_unsubscribed_from_in_the_workspace(outbox: Outbox, clock: Clock, wish: Wish) -> None:
    entry = outbox.database.run(unsubscribed(TICKET, wish))

    assert known(outbox) == [entry]
    assert (entry.reason, entry.scope) == (SuppressionReason.UNSUBSCRIBE, SuppressionScope.WORKSPACE)
    assert (entry.workspace, entry.kind, entry.email_id) == ("hotel", "", TICKET.email_id)
    assert entry.evidence.startswith("one-click, ")
    assert (entry.actor, entry.expires_at) == (None, None)
    assert stopped(outbox, clock, NEWS, OFFERS, RECEIPT, ELSEWHERE) == [True, True, False, False]


def test_where_only_emails_like_this_one_are_to_stop_only_they_do(outbox: Outbox, clock: Clock) -> None:
    entry = outbox.database.run(unsubscribed(TICKET, Wish.KIND))

    assert (entry.scope, entry.kind) == (SuppressionScope.KIND, "news")
    assert stopped(outbox, clock, NEWS, OFFERS, RECEIPT) == [True, False, False]


def test_an_email_without_a_kind_is_like_every_other_one(outbox: Outbox) -> None:
    entry = outbox.database.run(unsubscribed(replace(TICKET, kind=""), Wish.KIND))

    assert (entry.scope, entry.kind) == (SuppressionScope.WORKSPACE, "")


def test_a_second_press_changes_nothing_but_when_it_was_heard_of_last(outbox: Outbox, clock: Clock) -> None:
    first = outbox.database.run(unsubscribed(TICKET, Wish.ONE_CLICK))
    clock.now += timedelta(days=1)
    second = outbox.database.run(unsubscribed(TICKET, Wish.ONE_CLICK))

    assert second == replace(first, noted_at=clock.now)
    assert known(outbox) == [second]


def test_what_a_link_has_recorded_it_can_take_back_and_more_than_once(outbox: Outbox) -> None:
    for wish in (Wish.KIND, Wish.ALL):
        outbox.database.run(unsubscribed(TICKET, wish))

    assert len(outbox.database.run(resubscribed(TICKET))) == 2
    assert outbox.database.run(resubscribed(TICKET)) == []
    assert known(outbox) == []


def test_no_link_takes_back_what_anything_else_has_led_to(outbox: Outbox) -> None:
    usual = {"address": TICKET.address, "scope": SuppressionScope.WORKSPACE, "workspace": "hotel"}
    others = [
        Stop(**usual, reason=SuppressionReason.COMPLAINT, email_id=TICKET.email_id),
        Stop(**usual, reason=SuppressionReason.MANUAL, email_id=TICKET.email_id),
        Stop(address=TICKET.address, reason=SuppressionReason.UNSUBSCRIBE, email_id=TICKET.email_id),
        Stop(**usual | {"workspace": "bar"}, reason=SuppressionReason.UNSUBSCRIBE, email_id=TICKET.email_id),
        Stop(**usual, reason=SuppressionReason.UNSUBSCRIBE, email_id=new_id()),
    ]  # fmt: skip
    kept = outbox.database.run(suppress(others))

    assert outbox.database.run(resubscribed(TICKET)) == []
    assert {entry.id for entry in known(outbox)} == {entry.id for entry in kept}
