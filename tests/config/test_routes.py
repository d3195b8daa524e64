"""Named ways out, from the file, the environment and code."""

from __future__ import annotations

import pytest

from postroom.config import RouteSettings, Settings, load
from postroom.config.routes import as_tables
from postroom.errors import ConfigurationError
from postroom.send.smtp.server import Server
from tests.config.conftest import Write

TWO = """
smtp = "smtp://main.example:587"
[routes.default]
rate = "14/s"
fallback = "backup"
[routes.backup]
transport = "smtps://user:hunter22@backup.example"
connections = 4
fallback = "default"
"""


def test_there_is_no_route_until_one_is_given() -> None:
    assert load().all_routes() == {}


def test_the_smtp_setting_is_the_route_default() -> None:
    routes = load(smtp="smtp://main.example").all_routes()

    assert routes == {"default": RouteSettings(name="default", transport="smtp://main.example")}


def test_smtp_host_and_port_are_the_route_default_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_HOST", "main.example")
    monkeypatch.setenv("SMTP_PORT", "2525")

    assert load().all_routes()["default"].url == "smtp://main.example:2525"


def test_the_file_names_routes_that_may_back_each_other_up(write: Write) -> None:
    write(TWO)

    routes = load().all_routes()

    assert list(routes) == ["default", "backup"]
    assert routes["default"] == RouteSettings(
        name="default", transport="smtp://main.example:587", rate="14/s", fallback="backup"
    )
    assert (routes["backup"].connections, routes["backup"].fallback) == (4, "default")


def test_what_stands_beside_a_transport_is_among_the_options_of_its_url(write: Write) -> None:
    write(TWO.replace("connections = 4", 'connections = 4\nrate = "5000/h"').replace("backup.example", "b?dot=2s"))

    server = Server.parse(load().all_routes()["backup"].url)

    assert (server.rate, server.connections, server.limits.dot) == ("5000/h", 4, 2.0)
    assert load().smtp_url() == "smtp://main.example:587?rate=14/s"


def test_the_environment_names_routes_by_two_underscores(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    write(TWO)
    monkeypatch.setenv("POSTROOM_ROUTES__BACKUP__CONNECTIONS", "7")
    monkeypatch.setenv("POSTROOM_ROUTES__THIRD__TRANSPORT", "smtp://third.example")

    routes = load().all_routes()

    assert routes["backup"].connections == 7
    assert routes["backup"].transport == "smtps://user:hunter22@backup.example"
    assert routes["third"].transport == "smtp://third.example"


def test_a_url_alone_stands_for_a_route(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    write('[routes]\nbackup = "smtp://backup.example"')
    monkeypatch.setenv("POSTROOM_ROUTES__THIRD", "smtp://third.example")

    assert {name: route.transport for name, route in load().all_routes().items()} == {
        "backup": "smtp://backup.example",
        "third": "smtp://third.example",
    }


def test_an_application_may_know_a_route_without_its_transport(write: Write) -> None:
    """Its workers have the password, in their environment; `fallback` and rules are in the file of both."""
    write('[routes.bulk]\nfallback = "default"\n[[routing]]\nroute = "bulk"\nkind = "news"')

    settings = load()

    assert settings.all_routes() == {}
    assert settings.known_routes() == ("default", "bulk")


@pytest.mark.parametrize("name", ["backup", "a", "9-to-5", "eu_west", "x" * 50])
def test_names_are_of_small_letters_digits_hyphens_and_underscores(name: str) -> None:
    assert name in load(routes={name: "smtp://host"}).all_routes()


@pytest.mark.parametrize("name", ["", "Backup", "back up", "-x", "ü", "a.b", "x" * 51])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is no name for a route; use lower-case letters"):
        load(routes={name: "smtp://host"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[routes.backup]\nfallback = "backup"', r"routes\.backup: its fallback is the route itself"),
        (
            '[routes.backup]\nfallback = "defualt"',
            r"routes\.backup\.fallback: no route is called 'defualt'; did you mean default\? .* default, backup",
        ),
        ('[routes.b]\ntransport = "smtp://h?rate=1/s"\nrate = "2/s"', r"routes\.b\.rate: its URL has a rate too"),
        (
            'smtp = "smtp://h?connections=2"\n[routes.default]\nconnections = 2',
            r"routes\.default\.connections: its URL has a connections too",
        ),
        (
            'smtp = "smtp://one"\n[routes.default]\ntransport = "smtp://other"',
            r"smtp and routes\.default\.transport are both given",
        ),
        ('[routes.b]\nrate = "fast"', r"routes\.b\.rate: expected a number per unit such as 14/s"),
        ("[routes.b]\nconnections = 0", r"routes\.b\.connections: .* greater than or equal to 1"),
        ('[routes.b]\ntransport = "hunter22"', r"routes\.b\.transport: expected a URL such as smtp://"),
        ('[routes.b]\ntransprot = "smtp://h"', r"no setting routes\.b\.transprot; did you mean transport\?"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(write: Write, text: str, told: str) -> None:
    write(text)

    with pytest.raises(ConfigurationError, match=told):
        load()


def test_what_is_found_first_counts_under_either_name_of_the_default(
    monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    write('[routes.default]\ntransport = "smtp://file"\nrate = "3/s"')

    assert load().smtp_url() == "smtp://file?rate=3/s"
    monkeypatch.setenv("POSTROOM_SMTP", "smtp://environment")
    assert load().smtp_url() == "smtp://environment?rate=3/s"
    assert load(routes=as_tables({"default": "smtp://code"})).smtp_url() == "smtp://code?rate=3/s"
    assert load(smtp="smtp://code").smtp_url() == "smtp://code?rate=3/s"


def test_an_older_name_counts_where_ours_is_not_given(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    write('[routes.default]\ntransport = "smtp://ours"')
    monkeypatch.setenv("SMTP_HOST", "theirs")

    assert load().smtp_url() == "smtp://ours"


def test_a_route_given_in_code_may_not_call_itself_otherwise() -> None:
    with pytest.raises(ConfigurationError, match=r"routes\.backup: the route given there calls itself 'other'"):
        as_tables({"backup": RouteSettings(name="other", transport="smtp://host")})


def test_no_password_shows_in_the_settings_or_in_what_is_wrong_with_them(write: Write) -> None:
    write(TWO)
    settings = load()

    assert "hunter22" not in f"{settings!r} {settings} {settings.all_routes()!r}"
    with pytest.raises(ValueError) as wrong:
        Settings(routes={"b": {"transport": "hunter22"}})  # type: ignore[dict-item]
    assert "hunter22" not in str(wrong.value)


def test_the_settings_tell_which_of_their_values_are_secrets(write: Write) -> None:
    write(TWO + '[webhooks]\nsecrets = ["whsec_one"]\n[[events]]\nurl = "https://x.example"\nsecret = "whsec_two"')

    secrets = set(load(broker="amqp://u:p@host", secret="k" * 32).secrets())

    assert secrets == {
        "sqlite:///postroom.db",
        "smtp://main.example:587",
        "smtps://user:hunter22@backup.example",
        "amqp://u:p@host",
        "k" * 32,
        "whsec_one",
        "whsec_two",
    }
