"""An email that is sent inline to who is not to be mailed: not sent, kept as dead, and its sender is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from postroom import DeadReason, Email, Status, Suppression
from postroom.errors import ConfigurationError, InvalidEmail
from postroom.outbox.base import NO_WAY_OUT
from postroom.outbox.outcome import NOBODY_LEFT
from postroom.testing import ScriptedSmtp
from tests.outbox.application import wait_until
from tests.outbox.shells import Shell

MakeOutbox = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("links")

ADA, BOB = "Ada@example.org", "bob@example.org"
LETTER = Email(to=ADA, subject="Booked", text="See you on Friday.")


def is_kept_as_dead(outbox: Shell, id: str) -> bool:
    stored = outbox.get(id)
    assert outbox.conservation().holds
    return (stored.status, stored.dead_reason, stored.attempts) == (Status.DEAD, DeadReason.SUPPRESSED, 0)


@pytest.mark.parametrize("wishes", [{}, {"unsubscribable": True}, {"durable": False}, {"key": "once"}])
def test_what_nobody_may_have_is_neither_sent_nor_queued(outbox: Shell, server: ScriptedSmtp, wishes: Any) -> None:
    entry = outbox.suppress(ADA)

    sending = outbox.send(LETTER, **wishes)

    assert (sending.sent, sending.queued, sending.suppressed) == (False, False, (ADA,))
    assert entry.id in sending.error
    wait_until(lambda: is_kept_as_dead(outbox, sending.id))
    assert server.messages == []


def test_sent_soon_it_is_told_at_once(outbox: Shell, server: ScriptedSmtp) -> None:
    outbox.suppress(ADA)

    sending = outbox.send_soon(LETTER)

    assert (sending.sent, sending.queued, sending.suppressed) == (False, False, (ADA,))
    wait_until(lambda: is_kept_as_dead(outbox, sending.id))
    assert server.messages == []


def test_sent_soon_to_several_it_is_told_who_is_left_out(outbox: Shell, server: ScriptedSmtp) -> None:
    outbox.suppress(BOB)

    sending = outbox.send_soon(Email(to=[ADA, BOB], subject="Booked", text="x"))

    assert (sending.queued, sending.suppressed) == (True, (BOB,))
    wait_until(lambda: outbox.get(sending.id).status is Status.SENT)
    assert [message.recipients for message in server.messages] == [(ADA,)]


@pytest.mark.parametrize("durable", [True, False])
def test_the_others_get_it_at_once(outbox: Shell, server: ScriptedSmtp, durable: bool) -> None:
    outbox.suppress(BOB)

    sending = outbox.send(Email(to=[ADA, BOB], subject="Booked", text="x"), durable=durable)

    assert sending.sent
    assert [message.recipients for message in server.messages] == [(ADA,)]


def test_where_there_is_no_way_out_it_is_not_queued_in_vain(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()
    outbox.suppress(ADA)

    stopped = outbox.send(LETTER)
    free = outbox.send(Email(to=BOB, subject="Booked", text="x"))

    assert (stopped.queued, stopped.suppressed, stopped.error) == (False, (ADA,), NOBODY_LEFT)
    assert (free.queued, free.suppressed, free.error) == (True, (), NO_WAY_OUT)
    assert outbox.get(stopped.id).status is Status.PENDING


def test_suppressed_between_the_envelope_and_the_dot_it_does_not_leave(outbox: Shell, server: ScriptedSmtp) -> None:
    entries: list[Suppression] = []

    def unsubscribe(moment: Any) -> bool:
        entries.append(outbox.suppress(ADA, reason="unsubscribe"))
        return False

    server.script(at="data", when=unsubscribe)
    sending = outbox.send(LETTER, unsubscribable=True)

    assert (sending.sent, sending.queued, sending.suppressed) == (False, False, (ADA,))
    assert entries[0].id in sending.error
    wait_until(lambda: is_kept_as_dead(outbox, sending.id))
    assert server.messages == []


def test_entries_are_listed_and_taken_away(outbox: Shell) -> None:
    first = outbox.suppress("carol@example.org", reason="imported", evidence="the old list", by="eve")
    second = outbox.suppress("CAROL@example.org", scope="kind", kind="digest", workspace="acme")
    third = outbox.suppress("dan@example.net")

    page = outbox.suppressions(limit=2)
    assert [entry.id for entry in page.entries] == [third.id, second.id]
    assert outbox.suppressions(limit=2, before=page.next).entries == (first,)
    assert outbox.suppressions(limit=2, before=page.next).next is None
    assert {entry.id for entry in outbox.suppressions("carol").entries} == {first.id, second.id}
    assert outbox.suppressions(reason="imported").entries == (first,)
    assert (first.evidence, first.actor, second.address) == ("the old list", "eve", "carol@example.org")

    assert outbox.unsuppress(first.id, by="eve")
    assert not outbox.unsuppress(first.id)
    assert outbox.suppressions("carol").entries == (second,)


def test_what_makes_no_sense_is_refused(outbox: Shell) -> None:
    with pytest.raises(ConfigurationError, match="no reason is called 'whim'; they are hard_bounce"):
        outbox.suppress(ADA, reason="whim")
    with pytest.raises(InvalidEmail, match="is about every workspace and kind"):
        outbox.suppress(ADA, kind="digest")

    assert outbox.suppressions().entries == ()


def test_a_batch_and_a_single_email_are_told_the_same(make_outbox: MakeOutbox) -> None:
    """And where bounces are not to stop everything, the receipt knows that too."""
    strict = make_outbox()
    strict.suppress(ADA, reason="hard_bounce", scope="workspace", workspace="acme")
    many = Email(to=[ADA, BOB, "carol@example.org"], subject="Booked", text="x")

    for wishes in ({"workspace": "acme"}, {"workspace": "acme", "key": "once"}):
        assert strict.enqueue(many, **wishes).suppressed == (ADA,)
    assert strict.enqueue(many).suppressed == ()


def test_a_setting_spares_what_cannot_be_unsubscribed_from(
    make_outbox: MakeOutbox, monkeypatch: pytest.MonkeyPatch, server: ScriptedSmtp
) -> None:
    monkeypatch.setenv("POSTROOM_BOUNCES_STOP_ALL", "no")
    outbox = make_outbox(smtp=server.url)
    outbox.suppress(ADA, reason="hard_bounce", scope="workspace", workspace="acme")

    assert outbox.enqueue(LETTER, workspace="acme").suppressed == ()
    assert outbox.enqueue(LETTER, workspace="acme", unsubscribable=True).suppressed == (ADA,)
    assert outbox.send(LETTER, workspace="acme").sent
