"""`[regions.NAME]`: whose word counts, what is refused, and what a region is given of what all share (C1, C7)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.config import Settings, load, load_shared
from postroom.errors import ConfigurationError
from tests.config.conftest import Write

TWO = """
[regions.deu1]
database = "sqlite:///deu1.db"
[regions.usa1]
database = "postgresql://u:first@db.example/usa1"
"""


def test_a_region_has_its_own_database_and_shares_the_rest(write: Write) -> None:
    """(C1)"""
    write('smtp = "smtp://shared"\nsender = "Desk <desk@example.org>"\npolicy = "quick"' + TWO)

    deu1 = load(region="deu1")

    assert deu1.database.get_secret_value() == "sqlite:///deu1.db"
    assert (deu1.region, deu1.smtp_url(), deu1.policy) == ("deu1", "smtp://shared", "quick")
    assert deu1.default_sender() == "Desk <desk@example.org>"


def test_a_region_knows_nothing_of_the_others(write: Write) -> None:
    write(TWO)

    deu1 = load(region="deu1")

    assert deu1.regions == {}
    assert not any("first" in secret for secret in deu1.secrets())
    assert any("first" in secret for secret in load_shared().secrets())


def test_the_environment_names_the_region_and_its_settings(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(TWO)
    monkeypatch.setenv("POSTROOM_REGION", "sgp1")
    monkeypatch.setenv("POSTROOM_REGIONS__SGP1__DATABASE", "sqlite:///sgp1.db")
    monkeypatch.setenv("POSTROOM_REGIONS__SGP1__ROUTES__BULK__TRANSPORT", "smtp://bulk.sgp1")

    sgp1 = load()

    assert sgp1.database.get_secret_value() == "sqlite:///sgp1.db"
    assert sgp1.all_routes()["bulk"].transport == "smtp://bulk.sgp1"


def test_an_unknown_region_is_refused_with_those_there_are(write: Write) -> None:
    write(TWO)

    with pytest.raises(ConfigurationError, match=r"'due1'; did you mean deu1. The known ones are deu1, usa1"):
        load(region="due1")


def test_without_a_table_of_regions_a_region_is_a_mere_label() -> None:
    settings = load(region="anywhere", database="sqlite:///one.db")

    assert (settings.region, settings.database.get_secret_value()) == ("anywhere", "sqlite:///one.db")


def test_a_machine_may_know_a_region_by_its_name_alone(write: Write) -> None:
    """The password of another region's database has no business here."""
    write(TWO + "[regions.sgp1]\n")

    assert load(region="deu1").region == "deu1"
    with pytest.raises(ConfigurationError, match="POSTROOM_REGIONS__SGP1__DATABASE"):
        load(region="sgp1")


def test_where_there_are_regions_no_database_is_guessed(write: Write) -> None:
    write(TWO)

    with pytest.raises(ConfigurationError, match="the regions are deu1, usa1; name one"):
        load().check_one_database()
    load(region="deu1").check_one_database()
    load(database="sqlite:///given.db").check_one_database()


def test_what_a_program_says_itself_comes_before_its_region(write: Write) -> None:
    write(TWO + '[regions.sgp1]\ndatabase = "sqlite:///s.db"\nsmtp = "smtp://sgp1"\nsender = "sgp1@example.org"')

    said = load(region="sgp1", database="sqlite:///mine.db", smtp="smtp://mine", sender="me@example.org")

    assert said.database.get_secret_value() == "sqlite:///mine.db"
    assert (said.smtp_url(), said.default_sender()) == ("smtp://mine", "me@example.org")


def test_a_regions_routes_lie_over_the_shared_ones_by_name(write: Write) -> None:
    write(
        '[routes.default]\ntransport = "smtp://shared"\n[routes.bulk]\ntransport = "smtp://bulk"\nrate = "14/s"'
        + TWO
        + '[regions.usa1.routes.bulk]\ntransport = "smtp://bulk.usa1"\n[regions.usa1.routes.local]\n'
        'transport = "smtp://local.usa1"'
    )

    routes = load(region="usa1").all_routes()

    assert {name: route.transport for name, route in routes.items()} == {
        "default": "smtp://shared",
        "bulk": "smtp://bulk.usa1",
        "local": "smtp://local.usa1",
    }
    assert routes["bulk"].rate == "14/s"
    assert "local" not in load(region="deu1").all_routes()


def test_a_regions_smtp_takes_the_place_of_the_shared_default_route(write: Write) -> None:
    write('[routes.default]\ntransport = "smtp://shared"\nrate = "9/s"' + TWO + 'smtp = "smtp://usa1"')

    assert load(region="usa1").smtp_url() == "smtp://usa1?rate=9/s"
    assert load(region="deu1").smtp_url() == "smtp://shared?rate=9/s"


def test_rules_may_name_a_route_that_every_region_has(write: Write) -> None:
    write(
        '[[routing]]\nroute = "local"\nkind = "news"'
        + TWO
        + '[regions.usa1.routes.local]\n[regions.deu1.routes.local]\ntransport = "smtp://x"'
    )

    assert load(region="deu1").known_routes() == ("default", "local")


def test_a_rule_that_names_a_route_one_region_lacks_is_told_with_that_region(write: Write) -> None:
    write('[[routing]]\nroute = "local"\nkind = "news"' + TWO + "[regions.usa1.routes.local]")

    with pytest.raises(ConfigurationError, match=r"regions\.deu1: routing\.0\.route: no route is called 'local'"):
        load_shared()


@pytest.mark.parametrize(
    ("third", "problem"),
    [
        ('database = "sqlite:///./deu1.db"', "regions.deu1 and regions.sgp1 have the same database"),
        ('database = "postgresql://v:other@db.example:5432/usa1"', "regions.usa1 and regions.sgp1 have the same"),
        ('database = "postgresql:///usa1?host=db.example"', "regions.usa1 and regions.sgp1 have the same"),
        ('database = "sqlite:///s.db"\njournal = "j/deu1"', "the same folder of journals"),
        ('database = "sqlite:///s.db"\nwrong = 1', "there is no setting regions.sgp1.wrong"),
        ('databse = "sqlite:///s.db"', "did you mean database"),
        ('smtp = "smtp://a"\n[regions.sgp1.routes]\ndefault = "smtp://b"', "keep one of them"),
    ],
    ids=["one file", "one server", "one server in other words", "one journal", "unknown", "mistyped", "two ways out"],
)
def test_what_would_let_regions_into_each_other_is_refused(write: Write, third: str, problem: str) -> None:
    """(C1)"""
    write('journal = "j"' + TWO + "[regions.sgp1]\n" + third)

    with pytest.raises(ConfigurationError, match=problem):
        load_shared()


def test_one_server_may_serve_two_regions_under_different_tables(write: Write) -> None:
    write(TWO + '[regions.sgp1]\ndatabase = "postgresql://u:p@db.example/usa1"\ntables = "sgp1"')

    assert load(region="sgp1").tables == "sgp1"


def test_a_name_that_is_none_is_refused(write: Write) -> None:
    write('[regions."Deu 1"]\ndatabase = "sqlite:///x.db"')

    with pytest.raises(ConfigurationError, match="no name for a region"):
        load_shared()


def test_a_shared_folder_of_journals_is_divided_and_so_are_queues(write: Write) -> None:
    write('journal = "/var/journals"\nretry_queue = "again"' + TWO)

    deu1 = load(region="deu1")

    assert deu1.journal == Path("/var/journals/deu1")
    assert (deu1.send_queue, deu1.retry_queue) == ("deu1.email.dispatcher.send", "deu1.again")


def test_the_other_names_hold_for_one_region_or_for_all(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """(C7)"""
    write(TWO)
    for name, value in {
        "SMTP_HOST": "mail.example",
        "SMTP_PORT": "2525",
        "SMTP_FROM_ADDRESS": "desk@example.org",
        "SMTP_FROM_NAME": "Desk",
        "EMAIL_WORKER_ENABLED": "true",
        "EMAIL_WORKER_BATCH_SIZE": "100",
        "EMAIL_WORKER_POLL_INTERVAL": "5s",
        "SMTP_HOST__USA1": "mail.usa1.example",
        "SMTP_PORT__USA1": "587",
        "SMTP_FROM_ADDRESS__USA1": "desk@usa1.example",
        "EMAIL_WORKER_ENABLED__USA1": "false",
        "email_worker_batch_size__usa1": "7",
        "EMAIL_WORKER_POLL_INTERVAL__USA1": "2s",
    }.items():
        monkeypatch.setenv(name, value)

    deu1, usa1 = load(region="deu1"), load(region="usa1")

    assert (deu1.smtp_url(), usa1.smtp_url()) == ("smtp://mail.example:2525", "smtp://mail.usa1.example:587")
    assert (deu1.default_sender(), usa1.default_sender()) == ('"Desk" <desk@example.org>', '"Desk" <desk@usa1.example>')
    assert (deu1.worker_enabled, usa1.worker_enabled) == (True, False)
    assert (deu1.worker_batch_size, usa1.worker_batch_size) == (100, 7)
    assert (str(deu1.worker_poll_interval), str(usa1.worker_poll_interval)) == ("0:00:05", "0:00:02")


def test_another_name_for_a_region_that_is_none_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(TWO)
    monkeypatch.setenv("EMAIL_WORKER_ENABLED__DUE1", "false")

    with pytest.raises(
        ConfigurationError, match="EMAIL_WORKER_ENABLED__DUE1: no region is called 'due1'; did you mean"
    ):
        load(region="deu1")


def test_where_there_are_no_regions_such_a_name_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_HOST__DEU1", "mail.example")

    assert load().smtp_url() is None


WAYS_OUT = ("code", "our name, region", "other name, region", "file, region", "our name", "file", "other name")
"""Where a way out may be said, in the order in which they count."""


@contextmanager
def said_in(folder: Path, places: frozenset[str]) -> Iterator[Settings]:
    """The settings of deu1 when a way out is said in these places, each its own."""
    url = {place: f"smtp://h{number}" for number, place in enumerate(WAYS_OUT)}
    host = {place: f"h{number}" for number, place in enumerate(WAYS_OUT)}
    variables = {
        "our name, region": ("POSTROOM_REGIONS__DEU1__SMTP", url["our name, region"]),
        "other name, region": ("SMTP_HOST__DEU1", host["other name, region"]),
        "our name": ("POSTROOM_SMTP", url["our name"]),
        "other name": ("SMTP_HOST", host["other name"]),
    }
    shared = f'smtp = "{url["file"]}"\n' if "file" in places else ""
    own = f'smtp = "{url["file, region"]}"\n' if "file, region" in places else ""
    (folder / "postroom.toml").write_text(f'{shared}[regions.deu1]\ndatabase = "sqlite:///deu1.db"\n{own}')
    with mock.patch.dict(os.environ, dict(said for place, said in variables.items() if place in places)):
        yield load(region="deu1", smtp=url["code"] if "code" in places else None)


@given(places=st.sets(st.sampled_from(WAYS_OUT)))
def test_what_is_said_of_one_region_counts_before_what_is_said_of_all(places: set[str]) -> None:
    """Whatever else is said, and wherever: the first of `WAYS_OUT` counts (C1, C7)."""
    with said_in(Path.cwd(), frozenset(places)) as settings:
        found = settings.smtp_url()

    first = next((number for number, place in enumerate(WAYS_OUT) if place in places), None)
    assert found == (None if first is None else f"smtp://h{first}{':25' if 'other' in WAYS_OUT[first] else ''}")
