"""One region's trouble is not another's (C1): its PostgreSQL is killed under load, and the others do not notice.

How quick they stay is measured by `make bench`, part `regions`; here is what does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import Email
from postroom.testing import ScriptedSmtp
from tests.regions.territory import Region, employ, territory
from tests.servers.postgres import PostgresServer
from tests.servers.postgres_cluster import PostgresCluster
from tests.work.nursery import Nursery
from tests.work.office import wait_until

LOAD = 300
DOOMED = "sgp1"


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


def sent(region: Region) -> int:
    return region.outbox.counts()["sent"]


def complaints(region: Region) -> list[dict[str, object]]:
    return [line for line in region.said() if line["level"] in ("warning", "error", "critical")]


def test_the_others_go_on_when_the_database_of_one_is_killed_under_load(
    postgres_server: PostgresServer, nursery: Nursery, tmp_path: Path
) -> None:
    with (
        PostgresCluster.create(durable=True) as cluster,
        ScriptedSmtp() as smtp,
        territory(
            [postgres_server, postgres_server, PostgresServer(url=cluster.url)], tmp_path, f"{smtp.url}?rate=100/s"
        ) as regions,
    ):
        doomed = regions[DOOMED]
        others = [region for region in regions.values() if region is not doomed]
        for region in regions.values():
            region.outbox.enqueue_many(
                Email(to=f"{n}@{region.name}.example", subject="Hi", text="Hello") for n in range(LOAD)
            )
            employ(region, nursery)
        wait_until(lambda: all(sent(region) >= LOAD // 10 for region in regions.values()))
        cluster.kill()
        wait_until(lambda: bool(complaints(doomed)))

        wait_until(lambda: all(sent(region) == LOAD for region in others))
        assert [complaints(region) for region in others] == [[], []]
        assert all(region.worker is not None and region.worker.poll() is None for region in regions.values())

        cluster.start()
        wait_until(lambda: sent(doomed) == LOAD)
        copies = smtp.copies_of_all()
        assert (len(copies), set(copies.values())) == (3 * LOAD, {1})
        assert [complaints(region) for region in others] == [[], []]
