"""A one-time code never waits behind a campaign, although both leave by the same route of the same worker."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom import Email, EmailId, Status
from postroom.send.script import At
from postroom.testing import Hold
from tests.campaigns.sending.stage import LINKS, OPEN_ALWAYS, Stage
from tests.campaigns.sending.test_workers import live, nursery, office, server
from tests.work.office import Office, wait_until

__all__ = ["live", "nursery", "office", "server"]

HOURLY = replace(OPEN_ALWAYS, gap_seconds=(3600, 3600))
FIRST, SECOND, THIRD = (f"p{n}:spring-words:1" for n in (1, 2, 3))


def send_a_code(office: Office) -> EmailId:
    """Until it is there."""
    code = Email(to="ada@example.org", subject="Your code", text="It is 137 042.")
    id = office.outbox.enqueue(code, priority="urgent").id
    wait_until(lambda: office.get(id).status is Status.SENT)
    return id


def test_a_one_time_code_leaves_while_a_campaign_waits_for_its_gap(office: Office, live: Stage) -> None:
    live.settings(HOURLY)
    live.launched("spring", 3)
    worker = office.start_worker(options="connections=1", **LINKS)
    wait_until(lambda: live.states()[FIRST] == "sent")
    send_a_code(office)
    office.dismiss([worker])

    assert office.order_of_arrival() == ["Hello P1", "Your code"]
    assert live.states() == {FIRST: "sent", SECOND: "ready", THIRD: "ready"}


@pytest.mark.parametrize("at", ["rcpt", "data", "dot"])
def test_a_one_time_code_overtakes_a_mail_of_a_campaign_that_is_in_hand_at_a_slow_server(
    office: Office, live: Stage, at: At
) -> None:
    slow = Hold()
    office.server.script(at=at, hold=slow, times=1)
    live.settings(HOURLY)
    live.launched("spring", 3)
    worker = office.start_worker(options="connections=2&command=10m&data=10m&dot=10m", **LINKS)
    wait_until(lambda: slow.waiting == 1)
    code = send_a_code(office)

    assert office.copies(code) == 1
    assert slow.waiting == 1
    assert live.states() == {FIRST: "leaving", SECOND: "ready", THIRD: "ready"}
    slow.release()
    wait_until(lambda: live.states()[FIRST] == "sent")
    office.dismiss([worker])
    assert sorted(office.order_of_arrival()) == ["Hello P1", "Your code"]


def test_a_one_time_code_finds_a_connection_however_much_of_a_campaign_is_held_up(office: Office, live: Stage) -> None:
    """Without a gap a campaign would have every connection to a server that does not answer."""
    slow = Hold()
    office.server.script(at="rcpt", hold=slow, when=lambda moment: moment.argument != "ada@example.org")
    live.settings(replace(OPEN_ALWAYS, gap_seconds=(0, 0)))
    live.launched("spring", 3)
    worker = office.start_worker(options="connections=2&command=10m", **LINKS)
    wait_until(lambda: slow.waiting == 1)
    code = send_a_code(office)

    assert office.copies(code) == 1
    assert live.states() == {FIRST: "leaving", SECOND: "ready", THIRD: "ready"}
    slow.release()
    wait_until(lambda: set(live.states().values()) == {"sent"})
    office.dismiss([worker])
