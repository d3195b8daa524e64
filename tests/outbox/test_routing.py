"""The choice of a route from rules: all conditions of the first rule that holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.config import RoutingRule
from postroom.outbox.routing import choose
from postroom.vocabulary import LANES, Priority

KINDS = ["", "news", "newsletter", "invoice"]
WORKSPACES = ["", "acme", "globex"]
DOMAINS = ["example.org", "mail.example.org", "badexample.org", "example.net"]
EMAIL = {
    "kind": "newsletter",
    "workspace": "acme",
    "sender_domain": "mail.example.org",
    "recipient_domains": {"example.org", "mail.example.org"},
    "priority": Priority.BULK,
}


def rule(route: str = "chosen", **conditions: Any) -> RoutingRule:
    return RoutingRule.model_validate({"route": route, **conditions})


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"kind": "newsletter"},
        {"kind": ["invoice", "news*"]},
        {"workspace": ["globex", "acme"]},
        {"sender_domain": "MAIL.example.org"},
        {"sender_domain": "*.example.org"},
        {"recipient_domain": ["example.org", "*.example.org"]},
        {"priority": ["normal", "bulk"]},
        {"kind": "*", "workspace": "acme", "sender_domain": "*.org", "recipient_domain": ["example.org", "*.org"]},
    ],
)
def test_a_rule_holds_when_all_of_its_conditions_do(conditions: dict[str, Any]) -> None:
    assert choose([rule(**conditions)], **EMAIL) == "chosen"


@pytest.mark.parametrize(
    "conditions",
    [
        {"kind": "news"},
        {"kind": "Newsletter"},
        {"workspace": "globex"},
        {"sender_domain": "example.org"},
        {"recipient_domain": "example.org"},
        {"recipient_domain": "*.example.org"},
        {"priority": "urgent"},
        {"kind": "newsletter", "priority": "normal"},
    ],
)
def test_a_rule_does_not_hold_when_one_of_its_conditions_does_not(conditions: dict[str, Any]) -> None:
    assert choose([rule(**conditions)], **EMAIL) is None


def test_a_domain_beneath_is_one_behind_a_dot() -> None:
    assert choose([rule(sender_domain="*.example.org")], **EMAIL | {"sender_domain": "badexample.org"}) is None


def test_what_has_no_recipients_with_a_domain_is_at_none_of_them() -> None:
    assert choose([rule(recipient_domain="*.org")], **EMAIL | {"recipient_domains": set()}) is None


conditions = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.lists(st.sampled_from([*KINDS, "news*", "*"]), min_size=1),
        "workspace": st.lists(st.sampled_from(WORKSPACES), min_size=1),
        "sender_domain": st.lists(st.sampled_from([*DOMAINS, "*.example.org"]), min_size=1),
        "recipient_domain": st.lists(st.sampled_from([*DOMAINS, "*.example.org", "*.org"]), min_size=1),
        "priority": st.lists(st.sampled_from([each.label for each in LANES]), min_size=1),
    },
)
emails = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "workspace": st.sampled_from(WORKSPACES),
        "sender_domain": st.sampled_from(DOMAINS),
        "recipient_domains": st.sets(st.sampled_from(DOMAINS), min_size=1),
        "priority": st.sampled_from(LANES),
    }
)


@given(st.lists(conditions), emails)
def test_the_first_rule_that_holds_by_itself_is_chosen(given: list[dict[str, Any]], email: dict[str, Any]) -> None:
    rules = [rule(str(number), **each) for number, each in enumerate(given)]
    holding = [each.route for each in rules if choose([each], **email)]

    assert choose(rules, **email) == (holding[0] if holding else None)


@given(conditions, emails)
def test_a_rule_holds_exactly_when_each_of_its_conditions_holds_alone(
    given: dict[str, Any], email: dict[str, Any]
) -> None:
    alone = [choose([rule(**{name: value})], **email) is not None for name, value in given.items()]

    assert (choose([rule(**given)], **email) is not None) == all(alone)


@given(conditions, emails)
def test_several_values_are_alternatives(given: dict[str, Any], email: dict[str, Any]) -> None:
    """Apart from recipients, of whom each may be at another."""
    for name, values in given.items():
        if name != "recipient_domain":
            apart = [choose([rule(**{name: value})], **email) is not None for value in values]
            assert (choose([rule(**{name: values})], **email) is not None) == any(apart)


@given(emails, st.lists(st.sampled_from(DOMAINS), min_size=1))
def test_a_condition_on_recipients_holds_when_each_of_them_meets_it(email: dict[str, Any], domains: list[str]) -> None:
    found = choose([rule(recipient_domain=domains)], **email)

    assert (found is not None) == (email["recipient_domains"] <= set(domains))
