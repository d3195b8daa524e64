"""`Regions` and `AsyncRegions`: an outbox for each, and nothing between them (C1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import AsyncRegions, Email, Outbox, PostroomError, Regions, Settings
from postroom.config import load_shared
from postroom.errors import ConfigurationError
from tests.regions.continents import two_regions
from tests.servers.postgres import PostgresServer

ADA = Email(to="ada@example.org", subject="Hi", text="Hello")


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Two regions, each with a database of its own."""
    if request.param == "sqlite":
        yield two_regions(tmp_path)
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with server.database() as deu1, server.database() as usa1:
        regions = {"deu1": {"database": deu1}, "usa1": {"database": usa1}}
        yield load_shared(regions=regions, sender="desk@example.org")


def test_an_email_is_in_its_region_and_in_no_other(settings: Settings) -> None:
    with Regions.from_settings(settings, of=lambda user: user["region"]) as regions:
        applied = regions.migrate()
        receipt = regions["deu1"].enqueue(ADA)
        regions.of({"region": "usa1"}).enqueue(ADA)
        regions.of({"region": "usa1"}).enqueue(ADA)

        assert set(applied) == {"deu1", "usa1"}
        assert all(applied.values())
        assert {name: regions[name].counts()["pending"] for name in regions} == {"deu1": 1, "usa1": 2}
        assert regions["deu1"].get(receipt.id).recipients[0].address == "ada@example.org"


async def test_the_same_for_event_loops(settings: Settings) -> None:
    async with AsyncRegions.from_settings(settings, of=lambda user: str(user)) as regions:
        await regions.migrate()
        await regions.of("usa1").enqueue(ADA)

        assert {name: (await regions[name].counts())["pending"] for name in regions} == {"deu1": 0, "usa1": 1}


def test_regions_are_known_by_their_names(tmp_path: Path) -> None:
    with Regions.from_settings(two_regions(tmp_path)) as regions:
        assert list(regions) == ["deu1", "usa1"]
        assert len(regions) == 2
        assert "deu1" in regions
        assert "sgp1" not in regions
        assert regions["deu1"] is regions["deu1"]
        assert regions["deu1"].settings.region == "deu1"
        with pytest.raises(ConfigurationError, match="'dau1'; did you mean deu1"):
            regions["dau1"]


def test_nothing_is_opened_before_it_is_asked_for(tmp_path: Path) -> None:
    with Regions.from_settings(two_regions(tmp_path)) as regions:
        regions["deu1"].migrate()

    assert [path.name for path in tmp_path.glob("*.db")] == ["deu1.db"]


def test_closed_regions_give_no_outbox(tmp_path: Path) -> None:
    regions = Regions.from_settings(two_regions(tmp_path))
    regions.close()

    with pytest.raises(PostroomError, match="closed"):
        regions["deu1"]


def test_a_region_that_the_application_makes_up_is_told_without_a_word_of_the_user(tmp_path: Path) -> None:
    """An error ends up in logs, and those may be read in another region."""
    regions = Regions.from_settings(two_regions(tmp_path), of=lambda user: user)

    for answer in ("ada@example.org", None, {"email": "ada@example.org"}):
        with pytest.raises(ConfigurationError, match="which is no region; they are deu1, usa1") as told:
            regions.of(answer)
        assert "ada" not in str(told.value)
    with pytest.raises(ConfigurationError, match="answered 'mars'"):
        regions.of("mars")


def test_whose_region_is_which_has_to_be_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="of="):
        Regions.from_settings(two_regions(tmp_path)).of("ada")


def test_without_regions_there_are_none() -> None:
    with pytest.raises(ConfigurationError, match="no regions are known"):
        Regions.from_settings()


def test_an_outbox_is_of_the_region_it_names_and_guesses_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POSTROOM_REGIONS__DEU1__DATABASE", f"sqlite:///{tmp_path}/deu1.db")

    with Outbox(region="deu1") as named:
        assert named.settings.region == "deu1"
    with pytest.raises(ConfigurationError, match="name one"):
        Outbox()
    monkeypatch.setenv("POSTROOM_REGION", "deu1")
    with Outbox() as by_environment:
        assert by_environment.database_url == named.database_url


def test_all_regions_are_there_also_in_a_process_of_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POSTROOM_REGIONS__DEU1__DATABASE", f"sqlite:///{tmp_path}/deu1.db")
    monkeypatch.setenv("POSTROOM_REGIONS__USA1__DATABASE", f"sqlite:///{tmp_path}/usa1.db")
    monkeypatch.setenv("POSTROOM_REGION", "deu1")

    with Regions.from_settings() as regions:
        assert list(regions) == ["deu1", "usa1"]


def test_settings_that_name_their_region_make_its_outbox(tmp_path: Path) -> None:
    settings = two_regions(tmp_path, region="usa1")

    with Outbox.from_settings(settings) as outbox:
        assert outbox.settings.region == "usa1"
        assert outbox.database_url.endswith("usa1.db")
