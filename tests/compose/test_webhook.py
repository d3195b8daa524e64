"""Webhooks are checked when they are made."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import Limits, Webhook
from postroom.compose import DEFAULT_LIMITS
from postroom.compose.frozen import decode
from postroom.errors import InvalidEmail
from postroom.vocabulary import EmailId

ID = EmailId("01920000-0000-7000-8000-000000000001")
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
URL = "https://hooks.example.org/orders?shop=7"


def frozen(webhook: Webhook, *, date: datetime = NOON, limits: Limits = DEFAULT_LIMITS) -> Any:
    return webhook.freeze(id=ID, date=date, limits=limits)


def test_a_webhook_is_frozen_as_standard_webhooks_wants_it() -> None:
    kept = frozen(Webhook(url=URL, event="order.paid", data={"id": 7, "né": "ä"}, headers={"X-Shop": "7"}))

    assert kept.text == ('{"type":"order.paid","timestamp":"2026-11-01T12:00:00.000000Z","data":{"id":7,"né":"ä"}}')
    assert (kept.subject, kept.message_id) == ("order.paid", "msg_01920000000070008000000000000001")
    assert kept.envelope.startswith('{"date":1793534400000000,"to":')
    assert decode(kept.envelope) == {"date": 1793534400000000, "to": [URL], "headers": [["X-Shop", "7"]]}
    assert (kept.recipients, kept.html, kept.size) == ((URL,), None, len(kept.text.encode()) + 7)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_any_json_arrives_as_it_was_given(data: Any) -> None:
    webhook = Webhook(url=URL, event="e", data=data)

    assert json.loads(frozen(webhook).text)["data"] == (data if data is not None else {})
    assert webhook.data == (data if data is not None else {})


def test_what_happens_to_the_data_afterwards_changes_nothing() -> None:
    data = {"items": [1]}
    webhook = Webhook(url=URL, event="e", data=data)
    data["items"].append(2)

    assert webhook.data == {"items": [1]}
    assert hash(webhook) == hash(Webhook(url=URL, event="e", data={"items": [1]}))


def test_the_time_makes_no_difference_to_the_fingerprint_and_the_data_do() -> None:
    """A key that is used twice tells whether the content was another one."""
    webhook, later = Webhook(url=URL, event="e", data=1), datetime(2026, 11, 2, tzinfo=UTC)

    assert frozen(webhook).fingerprint == frozen(webhook, date=later).fingerprint
    assert frozen(webhook).fingerprint != frozen(Webhook(url=URL, event="e", data=2)).fingerprint
    assert frozen(webhook).fingerprint != frozen(Webhook(url=URL + "8", event="e", data=1)).fingerprint


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://example.org/", "begins with 'ftp'"),
        ("javascript:alert(1)", "begins with 'javascript'"),
        ("/orders", "begins with ''"),
        ("https:///orders", "names no host"),
        ("https://example.org:0/", "port 0"),
        ("https://example.org:70000/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
        ("https://ada:secret@example.org/", "a user or a password"),
        ("https://@example.org/", "a user or a password"),
        ("https://example.org/#top", "has a fragment"),
        ("https://example.org/a b", "a character that no URL has"),
        ("https://example.org/\r\nX: y", "a character that no URL has"),
        ("https://exämple.org/", "a character that no URL has"),
        ("https://example.org\\@inside/", "a character that no URL has"),
        ("https://example.org/" + "a" * 2000, "characters"),
        (7, "expected str"),
    ],
)
def test_a_url_that_cannot_be_sent_to_is_refused(url: Any, problem: str) -> None:
    with pytest.raises(InvalidEmail, match=problem) as caught:
        Webhook(url=url, event="e")

    assert caught.value.field == "url"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://example.org", "https://example.org:8443/a?b=c", "https://[2606:4700::1]/x"])
def test_any_other_url_is_taken(url: str) -> None:
    assert Webhook(url=url, event="e").url == url


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"event": ""}, "event"),
        ({"event": "two words"}, "event"),
        ({"event": "x" * 101}, "event"),
        ({"data": object()}, "data"),
        ({"data": float("nan")}, "data"),
        ({"data": "\ud800"}, "data"),
        ({"headers": {"webhook-id": "7"}}, "headers['webhook-id']"),
        ({"headers": {"Webhook-Signature": "7"}}, "headers['Webhook-Signature']"),
        ({"headers": {"Host": "inside"}}, "headers['Host']"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "headers['Transfer-Encoding']"),
        ({"headers": {"X-A": "b\r\nc"}}, "headers['X-A']"),
        ({"headers": {"X-A": "ü"}}, "headers['X-A']"),
        ({"headers": {"X A": "b"}}, "headers['X A']"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_its_name(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidEmail) as caught:
        Webhook(**{"url": URL, "event": "e", **fields})

    assert caught.value.field == field


def test_an_outboxs_limits_hold() -> None:
    with pytest.raises(InvalidEmail, match="bring it under 100"):
        frozen(Webhook(url=URL, event="e", data="x" * 100), limits=Limits(bytes=100))
    with pytest.raises(InvalidEmail, match="give at most 1"):
        frozen(Webhook(url=URL, event="e", headers={"X-A": "1", "X-B": "2"}), limits=Limits(headers=1))
