"""Nothing personal crosses (C1): three regions at work, and every byte of each searched for the others' people."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postroom import Email
from postroom.testing import ScriptedSmtp
from tests.regions.territory import NAMES, Region, employ, spelled, territory
from tests.servers.postgres import PostgresServer
from tests.work.nursery import Nursery
from tests.work.office import wait_until


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="module")
def regions(
    postgres_server: PostgresServer, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Region]]:
    """Each has sent, been refused, tried again, given up and doubted; each has logged, journalled and been measured."""
    folder = tmp_path_factory.mktemp("regions")
    servers = [postgres_server] * len(NAMES)
    with (
        ScriptedSmtp() as smtp,
        territory(servers, folder, smtp.url) as regions,
    ):
        for region in regions.values():
            write_to_everybody(region, smtp)
            employ(region, nursery, "--metrics-port", "0")
        for region in regions.values():
            wait_until(lambda region=region: everything_has_happened(region))  # type: ignore[misc]
            region.scrape()
            assert region.worker is not None
            region.worker.terminate()
            assert region.worker.wait(60) == 0
        yield regions


def write_to_everybody(region: Region, smtp: ScriptedSmtp) -> None:
    """Servers like to repeat whom they refuse, applications to put an address into a key."""

    def write(*fates: str, **wishes: object) -> str:
        to = [region.person(fate) for fate in fates]
        mail = Email(to=to, subject=f"For {to[0]}", text=f"Hello, {to[0]}.")
        receipt = region.outbox.enqueue(mail, key=f"welcome:{to[0]}", policy="quick", **wishes)  # type: ignore[arg-type]
        assert region.outbox.enqueue(mail, key=f"welcome:{to[0]}").duplicate
        return receipt.id

    write("accepted")
    write("sensitive", sensitive=True)
    write("refused")
    write("spared", "refused-too")
    write("later")
    doubtful = write("doubtful", on_doubt="hold")
    unknown, full = "550 5.1.1 <{}> unknown", "451 4.2.2 <{}> full"
    for fate, reply in (("refused", unknown), ("refused-too", unknown), ("later", full)):
        address = region.people[fate]
        smtp.script(at="rcpt", argument=address, reply=reply.format(address))
    smtp.script(at="dot", argument=region.outbox.get(doubtful).message_id, cut=True)  # type: ignore[arg-type]


def everything_has_happened(region: Region) -> bool:
    wanted = {"sent": 3, "dead": 1, "retrying": 1, "in_doubt": 1}
    return {name: count for name, count in region.outbox.counts().items() if count} == wanted


@pytest.mark.parametrize("name", NAMES)
def test_no_address_of_another_region_is_in_any_byte_of_this_one(regions: dict[str, Region], name: str) -> None:
    others = [address for other in regions.values() if other.name != name for address in other.people.values()]

    for where, found in regions[name].traces().items():
        assert found, f"the {where} of {name} cannot be looked through"
        for wanted in spelled(others):
            assert wanted not in found, f"{wanted!r} is in the {where} of {name}"


@pytest.mark.parametrize("name", NAMES)
def test_no_address_is_in_logs_metrics_or_journals_at_all(regions: dict[str, Region], name: str) -> None:
    """Not even those of the region itself: logs and metrics go to places that nobody thinks of as a database."""
    traces = regions[name].traces()

    for where in ("log", "metrics", "journals"):
        for wanted in spelled(regions[name].people.values()):
            assert wanted not in traces[where], f"{wanted!r} is in the {where} of {name}"


def test_the_looking_finds_what_is_there(regions: dict[str, Region]) -> None:
    """Otherwise the tests above would prove nothing."""
    for region in regions.values():
        found = region.traces()["database"]
        for fate, address in region.people.items():
            assert address.encode() in found, fate
            assert address.partition("@")[0].encode() in found
