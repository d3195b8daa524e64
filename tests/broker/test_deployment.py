"""A broker between two deployments: neither schedulers nor senders touch what is another one's."""

from __future__ import annotations

import pytest

from postroom import Status
from postroom.errors import WrongDeployment
from postroom.store.migrate import migrate
from tests.broker.bureau import Bureau
from tests.work.office import until


def stamp_as(bureau: Bureau, name: str) -> None:
    bureau.sql("DELETE FROM {deployment}")
    migrate(bureau.outbox.database, deployment=name)


@pytest.mark.parametrize("service", ["scheduling", "sending"])
async def test_neither_works_for_another_deployment(bureau: Bureau, service: str) -> None:
    stamp_as(bureau, "production")
    [id] = bureau.enqueue()

    with pytest.raises(WrongDeployment, match="belongs to the deployment production"):
        await work_and_end(bureau, service)
    assert bureau.get(id).status is Status.PENDING


async def work_and_end(bureau: Bureau, service: str) -> None:
    """Leaving the block tells how it ended."""
    async with getattr(bureau, service)(deployment="staging") as running:
        ownership = running._ownership if service == "scheduling" else running.engine.ownership
        await until(lambda: ownership.refusal is not None)


async def test_over_the_broker_emails_of_one_s_own_deployment_are_sent(bureau: Bureau) -> None:
    stamp_as(bureau, "staging")
    ids = bureau.enqueue(20)
    async with bureau.scheduling(deployment="staging"), bureau.sending(deployment="staging"):
        await until(lambda: bureau.statuses(ids) == {Status.SENT})

    assert set(bureau.server.copies_of_all().values()) == {1}


async def test_what_a_shared_broker_brings_from_another_deployment_is_put_aside(bureau: Bureau) -> None:
    """Published before the copy was adopted; the same ids are in both databases."""
    stamp_as(bureau, "production")
    [id] = bureau.enqueue()
    async with bureau.scheduling(deployment="production"):
        await until(lambda: bureau.get(id).status is Status.QUEUED)
    stamp_as(bureau, "staging")
    async with bureau.sending(deployment="staging"):
        await until(lambda: bureau.meter.counts["poison"] == 1)

    assert bureau.copies(id) == 0
    [aside] = await bureau.obituaries()
    assert aside["emailId"] == id


async def test_a_scheduler_notices_a_database_that_is_restored_beneath_it(bureau: Bureau) -> None:
    stamp_as(bureau, "staging")

    async def work() -> None:
        async with bureau.scheduling(deployment="staging") as scheduler:
            await until(lambda: scheduler._ownership.confirmed)
            stamp_as(bureau, "production")
            await scheduler.stopping.wait()

    with pytest.raises(WrongDeployment, match="belongs to the deployment production"):
        await work()
