"""Where only the services of the broker run, campaigns are sent by the senders, beside what messages name."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from postroom import Email
from postroom.campaigns.books.mails import ring
from postroom.vocabulary import CampaignStatus
from tests.broker.bureau import Bureau
from tests.campaigns.sending.stage import LINKS, Stage, miscounted
from tests.store.journey import Clock
from tests.work.office import subject_of, wait_until


class Today(Clock):
    """The machine's own clock."""

    def __call__(self) -> datetime:
        return datetime.now(UTC)


@pytest.fixture
def live(any_bureau: Bureau) -> Stage:
    stage = Stage(any_bureau.outbox, Today())
    stage.settings()
    return stage


def test_senders_send_campaigns_to_their_end_beside_what_messages_name(any_bureau: Bureau, live: Stage) -> None:
    live.launched("spring", 20, (0, 0))
    ids = [
        any_bureau.outbox.enqueue(Email(to="ada@x.example", subject=f"Receipt {n}", text="Hi")).id for n in range(20)
    ]
    running = [any_bureau.start_scheduler(), *(any_bureau.start_sender(**LINKS) for _ in range(2))]
    wait_until(lambda: live.campaign().status is CampaignStatus.COMPLETED)
    wait_until(lambda: any_bureau.statuses(ids) == {"sent"})
    any_bureau.dismiss(running)
    received = Counter((each.recipients[0], subject_of(each.data)) for each in any_bureau.server.messages)

    assert set(received.values()) == {1}
    assert len(received) == 60
    assert set(live.states().values()) == {"sent"}
    assert miscounted(live) == []


def test_a_mail_of_a_campaign_is_named_by_no_message(any_bureau: Bureau, live: Stage) -> None:
    """One that came back is due again like any other; but whose turn it is, no scheduler knows."""
    live.launched("spring", 1)
    any_bureau.server.script(at="rcpt", reply="451 4.2.0 try later", times=1)
    sender = any_bureau.start_sender(**LINKS)
    wait_until(lambda: any_bureau.sql("SELECT 1 FROM {emails} WHERE status = 'retrying'") != [])
    any_bureau.dismiss([sender])
    any_bureau.sql("UPDATE {emails} SET due_at = created_at")
    ordinary = any_bureau.outbox.enqueue(Email(to="ada@x.example", subject="A receipt", text="Paid.")).id
    running = [any_bureau.start_scheduler()]
    wait_until(lambda: any_bureau.statuses([ordinary]) == {"queued"})
    mail = live.mails()[0]
    assert any_bureau.statuses([mail.id]) == {"retrying"}
    running.append(any_bureau.start_sender(**LINKS))
    live.run(ring(live.workspace))
    wait_until(lambda: live.campaign().status is CampaignStatus.COMPLETED)
    any_bureau.dismiss(running)

    assert miscounted(live) == []
