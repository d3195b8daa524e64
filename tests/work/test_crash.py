"""Workers killed with SIGKILL at every named point, and what the mail server received in the end.

The short form; `make storm` is the long one.
"""

from __future__ import annotations

import random
import shutil
import signal
from pathlib import Path

import pytest

from postroom import EmailId, Status
from tests.work.assassin import MOMENTS, Assassin
from tests.work.nursery import WorkerProcess
from tests.work.office import PATIENCE, Office, wait_until
from tests.work.tally import check

FAILPOINTS = ("claimed", "before_dot", "reply_read", "journalled", "before_settle", "after_settle")
SHORT = "2s"


def mixed(office: Office, *, resend: int = 16, hold: int = 8, text: str = "Good morning.") -> list[EmailId]:
    """Emails of both kinds, in turns."""
    held = set(range(0, 3 * hold, 3))
    return [office.enqueue(text=text, on_doubt="hold" if n in held else "resend")[0] for n in range(resend + hold)]


def nth(place: str) -> str:
    """The second email at places that each email comes to; the first time where many come together."""
    return f"{place}:{2 if place in ('before_dot', 'reply_read', 'journalled') else 1}"


def killed(process: WorkerProcess) -> bool:
    return process.wait(PATIENCE) == -signal.SIGKILL


@pytest.mark.parametrize("place", FAILPOINTS)
def test_a_worker_killed_at_any_place_of_its_own_loses_nothing_and_doubles_nothing_silently(
    office: Office, place: str
) -> None:
    ids = mixed(office)
    worker = office.start_worker(lease=SHORT, POSTROOM_FAILPOINT=nth(place))

    assert killed(worker)
    office.finish()
    check(office, ids)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_killed_at_any_moment_of_the_conversation_loses_nothing_and_doubles_nothing_silently(
    office: Office, moment: str
) -> None:
    ids = mixed(office, text="Long. " * 100_000 if moment == "body" else "Short.", resend=4, hold=2)
    process: list[WorkerProcess] = []
    assassin = Assassin(office.server, moment, nth=2, victim=lambda: process[0].pid)
    process.append(office.start_worker(lease=SHORT))

    assert killed(process[0])
    assert assassin.struck.is_set()
    office.finish()
    check(office, ids)


@pytest.mark.parametrize("on_doubt", ["resend", "hold"])
@pytest.mark.parametrize("place", ["journalled", "before_settle", "after_settle"])
def test_what_the_journal_knows_to_be_sent_is_never_sent_again(office: Office, place: str, on_doubt: str) -> None:
    [id] = office.enqueue(on_doubt=on_doubt)
    worker = office.start_worker(POSTROOM_FAILPOINT=f"{place}:1")

    assert killed(worker)
    office.finish(lease="30s")
    assert office.get(id).status is Status.SENT
    assert office.get(id).doubts == 0
    assert office.copies(id) == 1


def test_only_the_email_between_dot_and_journal_is_in_doubt(office: Office) -> None:
    """One connection: those before are known to be sent, those behind known not to be."""
    ids = mixed(office)
    worker = office.start_worker(options="connections=1", POSTROOM_FAILPOINT="reply_read:5")

    assert killed(worker)
    office.finish(lease="30s")
    tally = check(office, ids)
    assert tally.doubted == 1


def test_an_email_whose_dot_left_without_a_word_in_the_journal_is_in_doubt(office: Office) -> None:
    """Killed between reading the reply and noting it: nobody can know, and the history says so."""
    [resent] = office.enqueue()
    worker = office.start_worker(lease=SHORT, POSTROOM_FAILPOINT="reply_read:1")

    assert killed(worker)
    office.finish()
    assert office.copies(resent) == 2
    [taken_over, sent] = office.get(resent).history
    assert (taken_over.what, taken_over.detail["dot_left"]) == ("taken_over", True)
    assert (sent.what, sent.detail["possible_second_copy"]) == ("sent", True)


def test_a_held_email_whose_dot_left_waits_for_a_person(office: Office) -> None:
    [held] = office.enqueue(on_doubt="hold")
    worker = office.start_worker(lease=SHORT, POSTROOM_FAILPOINT="reply_read:1")

    assert killed(worker)
    office.finish()
    assert office.get(held).status is Status.IN_DOUBT
    assert office.get(held).next_attempt_at is None
    assert office.copies(held) == 1


@pytest.mark.parametrize("place", ["before_dot", "reply_read", "before_settle"])
def test_without_the_journal_of_the_dead_what_cannot_be_known_is_in_doubt(office: Office, place: str) -> None:
    """The worker died with its disk, or on another machine: only the lease tells that it has gone."""
    ids = mixed(office, resend=6, hold=4)
    worker = office.start_worker(lease=SHORT, POSTROOM_FAILPOINT=nth(place))

    assert killed(worker)
    shutil.rmtree(office.journals)
    office.finish()
    check(office, ids)


def test_four_workers_killed_one_after_another_lose_nothing(office: Office) -> None:
    dice = random.Random(20)
    ids = mixed(office, resend=60, hold=30)
    places = [f"{place}:{dice.randint(1, 12)}" for place in dice.sample(FAILPOINTS[1:], 4)]
    workers = [office.start_worker(lease=SHORT, POSTROOM_FAILPOINT=place, options="connections=2") for place in places]

    wait_until(lambda: any(worker.poll() is not None for worker in workers) or not office.unfinished())
    office.finish(workers=2)
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    assert {worker.wait(PATIENCE) for worker in workers} <= {0, -signal.SIGKILL}
    check(office, ids)


def test_a_worker_stopped_past_its_lease_sends_nothing_that_another_has_taken_over(office: Office) -> None:
    """SIGSTOP in the middle of the conversations, take-over by another, SIGCONT."""
    ids = mixed(office, resend=20, hold=10)
    office.server.script(at="dot", delay=0.5, times=4)
    stopped = office.start_worker(lease="1s", options="connections=4")
    office.server.wait_for(2, timeout=PATIENCE)
    wait_until(lambda: office.try_to_stop(stopped))

    office.finish(lease="1s")
    stopped.send_signal(signal.SIGCONT)
    stopped.terminate()
    assert stopped.wait(PATIENCE) == 0
    check(office, ids)


def test_a_worker_that_dies_while_it_takes_over_leaves_the_doubt_behind(office: Office, tmp_path: Path) -> None:
    """The second death must not make the first one's emails look untouched."""
    ids = mixed(office, resend=4, hold=2)
    first = office.start_worker(lease=SHORT, POSTROOM_FAILPOINT="reply_read:2", journals=tmp_path / "one")
    assert killed(first)
    second = office.start_worker(lease=SHORT, POSTROOM_FAILPOINT="taken_over:1", journals=tmp_path / "two")

    assert killed(second)
    office.finish(journals=tmp_path / "two")
    check(office, ids)
