"""`postroom region move` as people call it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import Outbox
from tests.campaigns.sending.stage import LINKS, SHOP, Stage
from tests.cli.conftest import enqueue
from tests.cli.test_regions import TABLE, postroom
from tests.regions.moving.pair import ADA, Pair, cut_short
from tests.store.journey import Clock

MOVE = ("region", "move", ADA, "--from", "deu1", "--to", "usa1")


@pytest.fixture
def pair(own_surroundings: None, tmp_path: Path) -> Iterator[Pair]:
    """The two regions of the settings."""
    (tmp_path / "postroom.toml").write_text(TABLE)
    assert postroom("migrate", "--all-regions").code == 0
    with Outbox(region="deu1") as here, Outbox(region="usa1") as there:
        yield Pair(here=here, there=there, clock=Clock())


def test_it_asks_first_and_says_what_it_did(pair: Pair) -> None:
    ids = [enqueue(pair.here, key=f"{ADA}:{n}") for n in range(2)]
    counted, asked, moved = postroom(*MOVE, "--dry-run"), postroom(*MOVE), postroom(*MOVE, "--yes")

    assert counted.out == "would move 2 emails from deu1 to usa1: 2 pending\n"
    assert (asked.code, "add --yes to do it" in asked.err) == (2, True)
    assert (moved.code, moved.out) == (0, "moved 2 emails from deu1 to usa1: 2 pending\n")
    assert {each.id for each in pair.there.list().emails} == set(ids)


def test_what_stays_is_told_and_the_exit_code_says_that_somebody_should_look(pair: Pair) -> None:
    both = enqueue(pair.here, to=[ADA, "bob@example.org"])  # type: ignore[arg-type]
    answer, told = postroom(*MOVE, "--yes"), postroom(*MOVE, "--yes", "--json")

    assert answer.code == 1
    assert "1 email is for other people, too, and stays; --with-others moves it" in answer.out
    assert told.json == {
        "from": "deu1", "to": "usa1", "dry_run": False, "moved": 0, "by_status": {}, "resumed": 0, "held": 0,
        "stays": {"others": 1}, "emails": [{"id": both, "stays": "others"}], "underway": {},
        "campaigns": [],
    }  # fmt: skip


def test_a_move_that_was_cut_short_is_told_by_doctor_and_finished(pair: Pair) -> None:
    enqueue(pair.here)
    cut_short(pair.moving(), after=4)
    warned = postroom("doctor", "--region", "deu1")
    finished = postroom("region", "move", "--resume")

    assert "1 email left for usa1" in warned.out
    assert "1 email of these had left before, by a move that was cut short" in finished.out
    assert pair.there.counts()["pending"] == 1
    assert "no move was cut short" in postroom("region", "move", "--resume").out


def test_both_regions_have_it_on_record_without_an_address(pair: Pair) -> None:
    enqueue(pair.here)
    postroom(*MOVE, "--yes")
    records = [postroom("user", "audit", "--region", name, "--json").out for name in ("deu1", "usa1")]

    assert all("region_move" in record for record in records)
    assert ADA not in records[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("region", "move", ADA, "--from", "due1", "--to", "usa1"), "did you mean deu1"),
        (("region", "move", ADA, "--from", "deu1", "--to", "deu1"), "name two regions"),
        (("region", "move", ADA, "--from", "deu1"), "say who moves and where"),
        (("region", "move", ADA, "--resume"), "leave the address"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_remedy(pair: Pair, arguments: tuple[str, ...], said: str) -> None:
    answer = postroom(*arguments)

    assert (answer.code, said in answer.err) == (2, True)


def test_campaigns_that_are_still_to_write_are_told_with_what_to_do(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)
    stage = Stage(pair.here, pair.clock)
    stage.launched("spring", ["ada"])
    moved = postroom(*MOVE, "--yes")

    assert moved.code == 1
    assert "1 campaign of deu1 is still to write to the person: spring of shop; `postroom suppress add" in moved.out
    assert postroom("suppress", "add", ADA, "--workspace", SHOP, "--region", "deu1").code == 0
    assert postroom(*MOVE, "--yes").code == 0
