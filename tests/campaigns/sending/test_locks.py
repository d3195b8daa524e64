"""Who waits for whom where several do something to the campaigns of a workspace at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from postroom import Outbox
from postroom.campaigns.sending.acting import pause_campaign
from postroom.campaigns.sending.objecting import objection_to, take_place
from tests.campaigns.sending.stage import SHOP, Stage
from tests.store.journey import Clock
from tests.store.test_concurrency import wait_until_somebody_waits


@pytest.fixture
def outbox(migrated_postgres_url: str, clock: Clock) -> Iterator[Outbox]:
    """Where several transactions write at once: for what only row locks can show."""
    with Outbox(migrated_postgres_url, clock=clock) as outbox:
        yield outbox


def test_p11_a_pause_is_heard_that_commits_while_a_mail_waits_for_its_place(stage: Stage, outbox: Outbox) -> None:
    """What it is asked is asked when it has the workspace to itself, and not before."""
    stage.settings()
    stage.launched("spring", 1)
    email = stage.claim()
    assert stage.run(objection_to(email.id)) is None
    with ThreadPoolExecutor() as pool:
        with outbox.transaction() as connection:
            outbox.database.run_on(connection, pause_campaign(SHOP, "spring"))
            taking = pool.submit(stage.run, take_place(email.id))
            wait_until_somebody_waits(outbox)
        objection = taking.result()

    assert objection is not None
    assert objection.reason == "its campaign is paused"
