"""Real workers that are killed while somebody unsubscribes over HTTP: nobody is mailed once their stop is recorded."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from email import message_from_bytes
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn

from postroom.send.script import At, Moment
from postroom.testing import ScriptedSmtp
from postroom.vocabulary import CampaignStatus
from postroom.web import unsubscribe
from tests.campaigns.sending.stage import LINKS, Stage, miscounted
from tests.campaigns.sending.test_workers import live, nursery, office, server
from tests.work.office import PATIENCE, Office, wait_until

__all__ = ["live", "nursery", "office", "server"]

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def door(office: Office) -> Iterator[str]:
    """The page behind the links, over HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(unsubscribe(office.outbox), log_level="warning", lifespan="off", ws="none")
        serving = uvicorn.Server(config)
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        serving.should_exit = True
        thread.join()


class Reader:
    """Somebody who presses the link of the email they got."""

    def __init__(self, server: ScriptedSmtp, door: str, address: str) -> None:
        self._server, self._door = server, door
        self.address = address
        self.had = 0
        """Emails at the moment in which the stop was recorded."""

    @property
    def received(self) -> int:
        return sum(self.address in message.recipients for message in self._server.messages)

    def press(self) -> None:
        """As a mailbox does; when it is answered, the stop is recorded."""
        first = next(message for message in self._server.messages if self.address in message.recipients)
        link = message_from_bytes(first.data)["List-Unsubscribe"].strip("<>")
        answer = httpx.post(self._door + urlsplit(link).path, data=ONE_CLICK, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        self.had = self.received


def is_over(office: Office, live: Stage, campaign: str = "spring") -> bool:
    """Every enrolment has ended, and all conclusions are drawn."""
    waiting = office.sql("SELECT 1 FROM {campaign_mails} WHERE state = 'leaving' OR moved")
    return live.campaign(campaign).status is CampaignStatus.COMPLETED and not waiting and not office.unfinished()


@pytest.mark.parametrize("place", ["campaign_before_commit:2", "campaign_claimed:2", "before_dot:2"])
def test_who_unsubscribes_after_a_worker_was_killed_is_not_mailed_by_the_next_p12(
    office: Office, live: Stage, door: str, place: str
) -> None:
    """Also not with the second step, which the dead worker had in hand."""
    live.launched("spring", 1, (0, 0))
    worker = office.start_worker(lease="2s", POSTROOM_FAILPOINT=place, **LINKS)
    assert worker.wait(PATIENCE) == -signal.SIGKILL, office.logs()
    reader = Reader(office.server, door, "p1@example.org")
    reader.press()
    live.draft("summer", ["p1", "p2"])
    live.launch("summer")
    running = office.start_worker(lease="2s", **LINKS)
    wait_until(lambda: is_over(office, live, "spring") and is_over(office, live, "summer"))
    office.dismiss([running])

    assert (reader.had, reader.received) == (1, 1)
    assert [message.recipients for message in office.server.messages] == [("p1@example.org",), ("p2@example.org",)]
    assert live.enrolments()["p1"].status == "unsubscribed"
    assert miscounted(live) == []


@pytest.mark.parametrize("at", ["mail", "rcpt", "data"])
def test_who_unsubscribes_while_their_worker_is_killed_is_not_mailed_p12(
    office: Office, live: Stage, door: str, at: At
) -> None:
    """The next step is on its way to the server when the link is pressed and the worker dies, at once."""
    live.launched("spring", 1, (0, 0))
    reader = Reader(office.server, door, "p1@example.org")
    worker = office.start_worker(lease="2s", **LINKS)
    struck = threading.Event()

    def strike(moment: Moment) -> bool:
        if reader.received and not struck.is_set():
            struck.set()
            pressing = threading.Thread(target=reader.press)
            pressing.start()
            worker.kill()
            pressing.join()
        return False

    office.server.script(at=at, when=strike)
    assert worker.wait(PATIENCE) == -signal.SIGKILL, office.logs()
    wait_until(lambda: reader.had > 0)
    running = office.start_worker(lease="2s", **LINKS)
    wait_until(lambda: is_over(office, live))
    office.dismiss([running])

    assert (struck.is_set(), reader.had, reader.received) == (True, 1, 1)
    assert {each.reason for each in live.mails() if each.state == "stopped"} == {"unsubscribed"}
    assert miscounted(live) == []


def test_who_unsubscribes_before_the_dot_is_not_mailed_by_a_worker_that_lives_p12(
    office: Office, live: Stage, door: str
) -> None:
    live.launched("spring", 1, (0, 0))
    reader = Reader(office.server, door, "p1@example.org")

    def strike(moment: Moment) -> bool:
        if reader.received and not reader.had:
            reader.press()
        return False

    office.server.script(at="data", when=strike)
    running = office.start_worker(**LINKS)
    wait_until(lambda: is_over(office, live))
    office.dismiss([running])

    assert (reader.had, reader.received) == (1, 1)
    assert live.states() == {"p1:spring-words:1": "sent", "p1:spring-words:2": "stopped"}
