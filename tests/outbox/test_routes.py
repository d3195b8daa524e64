"""An email has exactly one route from the moment it is enqueued: asked for, by rule, or the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from postroom import Email, Outbox, RouteSettings, Settings
from postroom.config import load
from postroom.errors import InvalidEmail
from postroom.outbox.base import house_rules
from postroom.outbox.submission import HouseRules, Submission, Wishes

RULES = [
    {"route": "partner", "recipient_domain": "partner.example"},
    {"route": "bulk", "kind": "news*", "priority": "bulk"},
    {"route": "acme", "workspace": "acme", "sender_domain": "*.acme.example"},
]
ROUTES = {name: {} for name in ("partner", "bulk", "acme", "backup")}


def route_of(rules: HouseRules, *, to: Any = "ada@example.org", sender: str = "desk@example.org", **wishes: Any) -> str:
    email = Email(to=to, sender=sender, text="Hello")
    return rules.order(Submission(email, None, Wishes(**wishes))).route


@pytest.fixture
def rules() -> HouseRules:
    return house_rules(load(routes=ROUTES, routing=RULES))


@pytest.mark.parametrize(
    ("given", "route"),
    [
        ({}, "default"),
        ({"to": "ada@Partner.example"}, "partner"),
        ({"to": ["ada@partner.example", "eve@example.org"]}, "default"),
        ({"kind": "newsletter", "priority": "bulk"}, "bulk"),
        ({"kind": "newsletter"}, "default"),
        ({"workspace": "acme", "sender": "desk@mail.acme.example"}, "acme"),
        ({"workspace": "acme"}, "default"),
        ({"to": "ada@partner.example", "kind": "news", "priority": "bulk"}, "partner"),
    ],
)
def test_an_email_that_names_no_route_takes_that_of_the_first_rule_that_holds(
    rules: HouseRules, given: dict[str, Any], route: str
) -> None:
    assert route_of(rules, **given) == route
    assert route_of(rules, **given, route=None) == route


def test_a_route_that_is_asked_for_comes_before_every_rule(rules: HouseRules) -> None:
    assert route_of(rules, to="ada@partner.example", route="backup") == "backup"
    assert route_of(rules, to="ada@partner.example", route="default") == "default"


def test_an_unknown_route_is_refused_with_the_nearest_and_all_there_are(rules: HouseRules) -> None:
    with pytest.raises(InvalidEmail) as refused:
        route_of(rules, route="bakcup")

    assert refused.value.field == "route"
    assert str(refused.value) == (
        "route: no route is called 'bakcup'; "
        "did you mean backup? The known ones are acme, backup, bulk, default, partner"
    )


def test_where_no_routes_are_configured_only_the_default_is_known() -> None:
    rules = house_rules(load())

    assert route_of(rules) == route_of(rules, route="default") == "default"
    with pytest.raises(InvalidEmail, match=r"no route is called 'backup'; the known ones are default"):
        route_of(rules, route="backup")


def test_what_is_enqueued_carries_its_route_by_every_verb(make_outbox: Callable[..., Any]) -> None:
    outbox = make_outbox(routes={"backup": "smtp://localhost:1"})
    email = Email(to="ada@example.org", text="Hello")

    ids = [
        outbox.enqueue(email, route="backup").id,
        outbox.enqueue(email).id,
        outbox.send(email, route="backup").id,
        outbox.send_soon(email, route="backup").id,
    ]
    outbox.enqueue_many([email, (email, "many")], route="backup", kind="many")

    assert [outbox.get(id).route for id in ids] == ["backup", "default", "backup", "backup"]
    assert [each.route for each in outbox.list(kind="many").emails] == ["backup", "backup"]


def test_an_unknown_route_stores_nothing_by_any_verb(make_outbox: Callable[..., Any]) -> None:
    outbox = make_outbox()
    email = Email(to="ada@example.org", text="Hello")

    for put_in in (outbox.enqueue, outbox.send, outbox.send_soon):
        with pytest.raises(InvalidEmail, match="no route is called"):
            put_in(email, route="backup")
    with pytest.raises(InvalidEmail, match="no route is called"):
        outbox.enqueue_many([email], route="backup")
    assert sum(outbox.counts().values()) == 0


def test_routes_are_given_in_code_as_urls_or_with_all_there_is_to_say() -> None:
    backup = RouteSettings(transport="smtp://backup", rate="14/s", connections=4, fallback="default")
    with Outbox("sqlite:///never-opened.db", smtp="smtp://main", routes={"backup": backup, "b": "smtp://b"}) as outbox:
        routes = outbox.settings.all_routes()

    assert {name: route.url for name, route in routes.items()} == {
        "default": "smtp://main",
        "backup": "smtp://backup?rate=14/s&connections=4",
        "b": "smtp://b",
    }
    assert routes["backup"].fallback == "default"


def test_an_outbox_is_made_from_settings(sqlite_url: str) -> None:
    settings = load(database=sqlite_url, routes=ROUTES, routing=RULES, sender="desk@example.org", max_recipients=1)

    with Outbox.from_settings(settings) as outbox:
        outbox.migrate()
        id = outbox.enqueue(Email(to="ada@partner.example", text="Hello")).id
        with pytest.raises(InvalidEmail, match="recipients"):
            outbox.enqueue(Email(to=["ada@example.org", "eve@example.org"], text="Hello"))

        assert outbox.settings is settings
        assert outbox.get(id).route == "partner"
        assert outbox.letter(id).sender_address == "desk@example.org"


def test_an_outbox_from_settings_reads_the_environment_when_none_are_given(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_DATABASE", sqlite_url)
    monkeypatch.setenv("POSTROOM_ROUTES__BACKUP__TRANSPORT", "smtp://backup")

    with Outbox.from_settings() as outbox:
        assert outbox.database_url == sqlite_url
        assert isinstance(outbox.settings, Settings)
        assert list(outbox.settings.all_routes()) == ["backup"]
