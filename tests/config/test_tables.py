"""`[[routing]]`, `[webhooks]` and `[[events]]`: what is understood, and how the rest is refused."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from postroom.config import load
from postroom.config.matching import kind_matches
from postroom.errors import ConfigurationError
from postroom.vocabulary import Change, Priority
from tests.config.conftest import Write

RULES = """
[routes.bulk]
[routes.partner]
[[routing]]
route = "partner"
recipient_domain = ["Partner.Example", "*.bücher.example"]
[[routing]]
route = "bulk"
kind = "news*"
priority = "bulk"
"""
HEARD = '[[events]]\nurl = "https://hear.example"\n'


def test_rules_keep_their_order_and_one_text_stands_for_a_list_of_it(write: Write) -> None:
    write(RULES)

    first, second = load().routing

    assert (first.route, second.route) == ("partner", "bulk")
    assert (second.kind, second.priority, second.workspace) == (("news*",), (Priority.BULK,), None)


def test_domains_of_rules_are_spelled_as_those_of_addresses(write: Write) -> None:
    write(RULES)

    assert load().routing[0].recipient_domain == ("partner.example", "*.xn--bcher-kva.example")


def test_rules_and_keys_may_come_from_the_environment_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_ROUTING", '[{"route": "default", "kind": "news"}]')
    monkeypatch.setenv("POSTROOM_WEBHOOKS__SECRETS", '["whsec_one", "whsec_two"]')

    settings = load()

    assert settings.routing[0].kind == ("news",)
    assert [each.get_secret_value() for each in settings.webhooks.secrets] == ["whsec_one", "whsec_two"]


def test_webhooks_have_keys_and_networks_of_ones_own(write: Write) -> None:
    write('[webhooks]\nsecrets = ["whsec_abc"]\nallow = ["10.0.0.0/8", "fd00::/8"]')

    webhooks = load().webhooks

    assert webhooks.allow == (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
    assert "whsec_abc" not in repr(webhooks)


def test_events_are_heard_of_all_changes_unless_some_are_named(write: Write) -> None:
    write(HEARD + HEARD + 'of = ["sent", "in_doubt"]\nkind = "invoice*"\nsecret = "whsec_abc"')

    everything, some = load().events

    assert (everything.of, everything.kind, everything.secret) == (tuple(Change), None, None)
    assert (some.of, some.kind) == ((Change.SENT, Change.IN_DOUBT), ("invoice*",))
    assert "whsec_abc" not in repr(some)


def test_a_kind_with_a_star_stands_for_all_that_begin_so() -> None:
    assert [kind for kind in ("news", "newsletter", "new", "") if kind_matches(("news*",), kind)] == [
        "news",
        "newsletter",
    ]
    assert kind_matches(("*",), "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[routes.bulk]\n[[routing]]\nroute = "bluk"',
            r"routing\.0\.route: no route is called 'bluk'; did you mean bulk\? The known ones are default, bulk",
        ),
        ('[[routing]]\nkind = "news"', r"routing\.0\.route: Field required"),
        ('[[routing]]\nroute = "default"\nknd = "news"', r"no setting routing\.0\.knd; did you mean kind\?"),
        ('[[routing]]\nroute = "default"\nkind = "*news"', r"routing\.0\.kind\.0: a star may stand at the end only"),
        ('[[routing]]\nroute = "default"\nkind = []', r"routing\.0\.kind: .* at least 1 item"),
        ('[[routing]]\nroute = "default"\npriority = "blk"', r"routing\.0\.priority\.0: expected urgent, normal or"),
        ('[[routing]]\nroute = "default"\nsender_domain = "a b"', r"sender_domain\.0: expected a domain such as"),
        ('[[routing]]\nroute = "default"\nsender_domain = "ada@b.example"', r"sender_domain\.0: expected a domain"),
        ('[webhooks]\nallow = ["10.0.0.1/8"]', r"webhooks\.allow\.0: expected a network .* host bits set"),
        ('[webhooks]\nsecrets = [""]', r"webhooks\.secrets\.0: .* at least 1 item"),
        ('[webhooks]\nallows = ["10.0.0.0/8"]', r"no setting webhooks\.allows; did you mean allow\?"),
        (HEARD + 'of = ["snet"]', r"events\.0\.of\.0: Input should be 'sent', .* 'deferred'"),
        (HEARD.replace("https", "ftp"), r"events\.0\.url: expected a URL that begins with https://"),
        (HEARD.replace("url", "ulr"), r"no setting events\.0\.ulr; did you mean url\?"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(write: Write, text: str, told: str) -> None:
    write(text)

    with pytest.raises(ConfigurationError, match=told):
        load()


def test_a_list_in_the_environment_that_is_no_json_is_told_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_WEBHOOKS__SECRETS", "whsec_abc")

    with pytest.raises(ConfigurationError, match=r"webhooks.*written as JSON") as refused:
        load()
    assert "whsec_abc" not in str(refused.value)
