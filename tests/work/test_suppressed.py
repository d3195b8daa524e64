"""Who is not to be mailed gets nothing: stopped before the claim, at it, or a moment before the dot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from postroom import DeadReason, Email, EmailId, Status
from postroom.errors import StoreUnavailable
from postroom.send.script import Moment
from postroom.store.contract import StoredEmail
from postroom.store.suppressions import Suppression, SuppressionRules
from postroom.work import stops
from postroom.work.worker import Worker
from tests.work.late import Press, late
from tests.work.office import AT_ONCE, Office, until, wait_until

pytestmark = pytest.mark.usefixtures("links")

ADA, BOB, EVE = "Ada@example.org", "bob@example.org", "eve@example.org"


def enqueue(office: Office, *to: str, **wishes: Any) -> EmailId:
    email = Email(to=list(to or [ADA]), subject="News", text="Good morning.")
    return office.outbox.enqueue(email, **({"policy": AT_ONCE} | wishes)).id


def is_stopped_by(entry: Suppression, email: StoredEmail) -> bool:
    """Dead of this entry, without an attempt, and without an address where none belongs."""
    told = [line for line in email.history if line.what == "suppressed"]
    assert "@" not in (email.last_error or "") + str([line.detail for line in told])
    return (
        (email.status, email.dead_reason) == (Status.DEAD, DeadReason.SUPPRESSED)
        and entry.id in (email.last_error or "")
        and [line.detail["entries"] for line in told][-1:] == [[entry.id]]
    )


@contextmanager
def at_the_last_moment(office: Office, act: Callable[[], None], *, recipient: str | None = None) -> Iterator[None]:
    """Have something done, once, while the server has the envelope and before it asks for the message."""
    done, seen = threading.Event(), []

    def notice(moment: Moment) -> bool:
        seen.append(moment.argument)
        return False

    def interrupt(moment: Moment) -> bool:
        if not done.is_set() and (recipient is None or recipient in seen):
            done.set()
            act()
        return False

    office.server.script(at="rcpt", when=notice)
    office.server.script(at="data", when=interrupt)
    yield
    assert done.is_set()


async def test_an_email_to_who_is_suppressed_already_is_kept_told_of_and_never_sent(office: Office) -> None:
    entry = office.outbox.suppress(ADA.upper(), reason="complaint")

    receipt = office.outbox.enqueue(Email(to=[ADA, BOB], subject="News", text="x"))
    alone = office.outbox.enqueue(Email(to=ADA, subject="News", text="x"), key="once")
    again = office.outbox.enqueue(Email(to=ADA, subject="News", text="x"), key="once")
    await office.work_until_idle()

    assert (receipt.suppressed, alone.suppressed, again.suppressed) == ((ADA,), (ADA,), ())
    assert is_stopped_by(entry, office.get(alone.id))
    assert office.get(alone.id).attempts == 0
    assert [message.recipients for message in office.server.messages] == [(BOB,)]
    assert office.outbox.conservation().holds


async def test_an_email_whose_recipient_was_suppressed_after_it_was_enqueued_is_not_sent(office: Office) -> None:
    ids = office.enqueue(30)
    entry = office.outbox.suppress("person7@example.org", reason="hard_bounce", evidence="550 no such user")

    await office.work_until_idle()
    assert is_stopped_by(entry, office.get(ids[7]))
    assert office.statuses(id for id in ids if id != ids[7]) == {Status.SENT}
    assert len(office.server.messages) == 29
    assert office.outbox.conservation().holds


async def test_an_email_that_can_be_unsubscribed_from_is_stopped_up_to_its_dot(office: Office) -> None:
    """The reader's wish is heard while the server waits for the message."""
    entries: list[Suppression] = []
    id = enqueue(office, unsubscribable=True, kind="digest", workspace="acme")

    def unsubscribe() -> None:
        given: Any = {"reason": "unsubscribe", "scope": "kind", "kind": "digest", "workspace": "acme"}
        entries.append(office.outbox.suppress(ADA, **given))

    with at_the_last_moment(office, unsubscribe):
        await office.work_until_idle()

    assert is_stopped_by(entries[0], office.get(id))
    assert (office.get(id).attempts, office.server.messages, office.server.refused) == (0, [], [])
    assert "DATA" in office.server.commands
    assert office.outbox.conservation().holds


async def test_any_other_email_is_stopped_once_its_worker_has_heard(office: Office) -> None:
    """Which takes it half a second; here, as long as it takes."""
    id = enqueue(office)
    entries: list[Suppression] = []
    async with office.working() as worker:
        with at_the_last_moment(office, lambda: _suppress_and_wait(office, worker, entries)):
            await until(lambda: office.get(id).status is Status.DEAD)

    assert is_stopped_by(entries[0], office.get(id))
    assert office.server.messages == []


def _suppress_and_wait(office: Office, worker: Worker, entries: list[Suppression], address: str = ADA) -> None:
    entries.append(office.outbox.suppress(address))
    wait_until(lambda: worker.engine.stops.alert)


async def test_what_was_taken_back_before_it_was_too_late_stops_nothing(office: Office) -> None:
    """What a worker has heard is only a reason to ask."""
    id = enqueue(office)
    async with office.working() as worker:

        def change_minds() -> None:
            entries: list[Suppression] = []
            _suppress_and_wait(office, worker, entries)
            office.outbox.unsuppress(entries[0].id)

        with at_the_last_moment(office, change_minds):
            await until(lambda: office.get(id).status is Status.SENT)

    assert office.copies(id) == 1
    assert office.get(id).attempts == 1


async def test_of_several_recipients_the_others_get_it(office: Office) -> None:
    entry = office.outbox.suppress(BOB)
    id = enqueue(office, ADA, BOB, EVE)

    await office.work_until_idle()
    email = office.get(id)
    assert (email.status, email.partly) == (Status.SENT, True)
    assert [recipient.status for recipient in email.recipients] == ["sent", "dead", "sent"]
    assert entry.id in (email.recipients[1].text or "")
    assert [message.recipients for message in office.server.messages] == [(ADA, EVE)]


async def test_of_several_recipients_one_is_stopped_before_the_dot_and_the_others_get_it_once(office: Office) -> None:
    id = enqueue(office, ADA, BOB)
    entries: list[Suppression] = []
    async with office.working() as worker:
        with at_the_last_moment(office, lambda: _suppress_and_wait(office, worker, entries, BOB)):
            await until(lambda: office.get(id).status is Status.SENT)

    assert [recipient.status for recipient in office.get(id).recipients] == ["sent", "dead"]
    assert [message.recipients for message in office.server.messages] == [(ADA,)]
    assert office.get(id).attempts == 1


async def test_who_has_it_already_keeps_it(office: Office) -> None:
    """Dead all the same, and for that reason: those who were still to get it will not."""
    office.server.script(at="rcpt", argument=BOB, reply="450 4.2.1 later")
    id = enqueue(office, ADA, BOB, policy="patient")
    async with office.working():
        await until(lambda: office.get(id).status is Status.RETRYING)
    entry = office.outbox.suppress(BOB)
    office.sql("UPDATE {emails} SET due_at = created_at")

    await office.work_until_idle()
    email = office.get(id)
    assert is_stopped_by(entry, email)
    assert [recipient.status for recipient in email.recipients] == ["sent", "dead"]
    assert email.attempts == 1
    assert len(office.server.messages) == 1


async def test_what_is_in_doubt_is_not_sent_again_and_says_that_it_may_have_arrived(office: Office) -> None:
    office.server.script(at="dot", cut=True, times=1)
    id = enqueue(office, policy="patient")
    async with office.working():
        await until(lambda: office.get(id).status is Status.IN_DOUBT)
    entry = office.outbox.suppress(ADA)
    office.sql("UPDATE {emails} SET due_at = created_at")

    await office.work_until_idle()
    email = office.get(id)
    assert is_stopped_by(entry, email)
    assert "it may have arrived" in (email.last_error or "")
    assert office.copies(id) == 1


async def test_retried_it_ends_the_same_until_the_entry_is_gone(office: Office) -> None:
    entry = office.outbox.suppress(ADA)
    id = enqueue(office)
    await office.work_until_idle()

    office.outbox.retry(id)
    await office.work_until_idle()
    assert is_stopped_by(entry, office.get(id))
    assert office.server.messages == []

    assert office.outbox.unsuppress(entry.id)
    office.outbox.retry(id)
    await office.work_until_idle()
    assert office.get(id).status is Status.SENT
    assert office.copies(id) == 1


async def test_replayed_to_another_address_it_is_sent(office: Office) -> None:
    office.outbox.suppress(ADA)
    id = enqueue(office)
    await office.work_until_idle()

    office.outbox.replay(id, to=BOB)
    await office.work_until_idle()
    assert office.get(id).status is Status.SENT
    assert [message.recipients for message in office.server.messages] == [(BOB,)]


async def test_what_nobody_can_unsubscribe_from_is_stopped_only_by_what_is_about_everything_or_a_hard_bounce(
    office: Office,
) -> None:
    office.outbox.suppress(ADA, reason="unsubscribe", scope="workspace", workspace="acme")
    office.outbox.suppress(BOB, reason="hard_bounce", scope="workspace", workspace="acme")
    wanted = enqueue(office, ADA, workspace="acme")
    bounced = enqueue(office, BOB, workspace="acme")
    digest = enqueue(office, ADA, workspace="acme", unsubscribable=True)
    elsewhere = enqueue(office, ADA, workspace="other", unsubscribable=True)

    await office.work_until_idle()
    ended = {id: office.get(id).status for id in (wanted, bounced, digest, elsewhere)}
    assert ended == {wanted: Status.SENT, bounced: Status.DEAD, digest: Status.DEAD, elsewhere: Status.SENT}


async def test_a_hard_bounce_can_be_set_to_spare_what_nobody_can_unsubscribe_from(office: Office) -> None:
    office.outbox.suppress(BOB, reason="hard_bounce", scope="workspace", workspace="acme")
    bounced = enqueue(office, BOB, workspace="acme")

    await office.work_until_idle(suppressions=SuppressionRules(bounces_stop_all=False))
    assert office.get(bounced).status is Status.SENT


async def test_while_the_database_cannot_be_asked_it_does_not_leave(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put off, and no attempt; asked in time, it is sent."""
    id = enqueue(office, unsubscribable=True)
    async with office.working() as worker:

        def lose_the_database() -> None:
            monkeypatch.setattr(worker.engine.clearance, "_database", _Away())

        with at_the_last_moment(office, lose_the_database):
            await until(lambda: [line.what for line in office.get(id).history] == ["deferred"])
        assert (office.get(id).attempts, office.server.messages) == (0, [])
        monkeypatch.undo()
        office.sql("UPDATE {emails} SET due_at = created_at")
        await until(lambda: office.get(id).status is Status.SENT)

    assert office.copies(id) == 1


class _Away:
    async def run(self, plan: Any, **how: Any) -> Any:
        plan.close()
        raise StoreUnavailable("it is away")


async def test_after_a_large_import_every_email_is_asked_about(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a worker remembers: what is in hand goes by the database's word, and so does what is stopped."""
    monkeypatch.setattr(stops, "MOST", 3)
    stopped, free = enqueue(office, ADA), enqueue(office, BOB)

    def import_list(worker: Worker) -> None:
        for number in range(5):
            office.outbox.suppress(f"other{number}@example.org", reason="imported")
        office.outbox.suppress(ADA, reason="imported")
        wait_until(lambda: worker.engine.stops.alert)

    async with office.working(options="connections=1") as worker:
        with at_the_last_moment(office, lambda: import_list(worker)):
            await until(lambda: not office.unfinished())

    assert (office.get(stopped).status, office.get(free).status) == (Status.DEAD, Status.SENT)
    assert [message.recipients for message in office.server.messages] == [(BOB,)]


async def test_what_rides_behind_a_stopped_email_arrives_once(office: Office) -> None:
    ids = [enqueue(office, f"reader{number}@example.org", unsubscribable=True) for number in range(20)]

    def unsubscribe() -> None:
        office.outbox.suppress("reader5@example.org", reason="unsubscribe")

    with at_the_last_moment(office, unsubscribe, recipient="reader5@example.org"):
        await office.work_until_idle(options="connections=1")

    assert [office.get(id).status for id in ids].count(Status.SENT) == 19
    assert office.get(ids[5]).dead_reason is DeadReason.SUPPRESSED
    assert set(office.server.copies_of_all().values()) == {1}
    assert office.outbox.conservation().holds


async def test_what_is_not_rendered_yet_is_not_rendered_in_vain(office: Office) -> None:
    press = Press()
    office.outbox.suppress("ada@example.org")
    id = office.outbox.enqueue(late("Ada")).id

    await office.work_until_idle(render=press)
    assert office.get(id).dead_reason is DeadReason.SUPPRESSED
    assert press.printed == []


async def test_an_entry_that_has_ended_stops_nothing(office: Office) -> None:
    entry = office.outbox.suppress(ADA)
    office.sql("UPDATE {suppressions} SET expires_at = created_at")
    receipt = office.outbox.enqueue(Email(to=ADA, subject="News", text="x"), unsubscribable=True)

    await office.work_until_idle()
    assert receipt.suppressed == ()
    assert office.get(receipt.id).status is Status.SENT
    assert office.outbox.unsuppress(entry.id)


async def test_who_was_suppressed_a_moment_ago_gets_nothing_that_is_enqueued_now(office: Office) -> None:
    """A worker that has only just seen that nobody is suppressed takes no advantage of it."""
    async with office.working():
        first = enqueue(office)
        await until(lambda: office.get(first).status is Status.SENT)
        entry = office.outbox.suppress(ADA)
        second = enqueue(office)
        await until(lambda: office.get(second).status is Status.DEAD)

    assert is_stopped_by(entry, office.get(second))
    assert office.copies(second) == 0


async def test_a_damaged_email_to_who_is_suppressed_dies_alone(office: Office) -> None:
    office.outbox.suppress(ADA)
    damaged, well = enqueue(office, ADA), enqueue(office, BOB)
    office.sql("UPDATE {emails} SET outcomes = '[]' WHERE id = ?", damaged)

    await office.work_until_idle()
    assert office.get(damaged).dead_reason is DeadReason.INVALID
    assert office.get(well).status is Status.SENT
