"""Addresses that name the email they are the sender of."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from postroom import config
from postroom.channels.email import EMAIL, returning_to
from postroom.compose import DEFAULT_LIMITS, Address, Email
from postroom.compose.return_path import ReturnPath
from postroom.errors import ConfigurationError
from postroom.send.contract import Envelope
from postroom.store.ids import new_id
from postroom.vocabulary import EmailId
from postroom.work.routes import routes_of
from tests.store.journey import Clock

SECRET, FORMER = "s" * 32, "f" * 40
PATH = ReturnPath("Bounces@example.org", [b"key"])

ids = some.uuids().map(lambda id: EmailId(str(id)))


@given(ids)
def test_an_address_names_its_email_in_any_case_and_within_the_limits_of_smtp(id: EmailId) -> None:
    sender = PATH.sender(id)
    local = sender.partition("@")[0]

    assert [PATH.email_of(spelled) for spelled in (sender, sender.upper(), sender.lower())] == [id] * 3
    assert re.fullmatch(r"Bounces\+[a-z2-7]{40}", local)
    assert len(local) <= 64


@given(ids, some.integers(0, 39), some.sampled_from("abcdefghijklmnopqrstuvwxyz234567"))
def test_one_changed_letter_makes_it_nobody_s(id: EmailId, place: int, letter: str) -> None:
    sender = PATH.sender(id)
    start = len("Bounces+") + place
    changed = sender[:start] + letter + sender[start + 1 :]

    assert PATH.email_of(changed) == (id if changed == sender else None)


@given(some.text(max_size=80))
def test_what_is_no_such_address_is_nobody_s(text: str) -> None:
    assert PATH.email_of(text) is None
    assert PATH.email_of(f"bounces+{text}@example.org") is None


def test_a_former_secret_is_still_believed_and_a_stranger_s_is_not() -> None:
    id = new_id()
    before = config.load(return_address="b@example.org", secret=FORMER).return_path()
    after = config.load(return_address="b@example.org", secret=SECRET, previous_secrets=[FORMER]).return_path()
    assert before is not None
    assert after is not None

    assert after.email_of(before.sender(id)) == id
    assert before.email_of(after.sender(id)) is None


def test_an_address_of_another_domain_or_mailbox_is_not_ours() -> None:
    sender = PATH.sender(new_id())

    for other in (sender.replace("example.org", "example.com"), sender.replace("Bounces", "returns"), "bounces@x.org"):
        assert PATH.email_of(other) is None


@pytest.mark.parametrize("wrong", ["bounces", "a b@example.org", "a+b@example.org", "x" * 24 + "@example.org", "b@"])
def test_a_return_address_that_cannot_bear_a_token_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="return_address"):
        config.load(return_address=wrong)


def test_without_a_secret_or_an_address_nothing_changes() -> None:
    assert config.load(return_address="b@example.org").return_path() is None
    assert config.load(secret=SECRET).return_path() is None
    assert config.load(return_address="b@example.org", secret=SECRET).return_path() is not None


def test_a_route_may_have_a_return_address_of_its_own() -> None:
    bulk = {"transport": "smtp://b", "return_address": "news@example.com"}
    settings = config.load(return_address="b@example.org", secret=SECRET, smtp="smtp://a", routes={"bulk": bulk})
    id = new_id()
    senders = {
        route.name: route.channel.prepare(id=id, **stored(id)).sender  # type: ignore[union-attr]
        for route in routes_of(settings)
    }

    assert senders["default"].endswith("@example.org")
    assert senders["bulk"].startswith("news+")
    assert settings.return_addresses() == ("b@example.org", "news@example.com")
    assert {each.email_of(senders["bulk"]) for each in settings.return_paths()} == {None, id}
    with pytest.raises(ConfigurationError, match="return_address"):
        config.load(routes={"bulk": bulk | {"return_address": "a+b@c"}})


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="32"):
        config.load(return_address="b@example.org", secret="short").return_path()


def test_the_envelope_changes_and_the_message_does_not() -> None:
    id = new_id()
    content = {"id": id, **stored(id)}
    plain, returning = EMAIL.prepare(**content), returning_to(PATH)(**content)
    assert isinstance(plain, Envelope)
    assert isinstance(returning, Envelope)

    assert (plain.sender, returning.sender) == ("desk@example.org", PATH.sender(id))
    assert (plain.message, plain.recipients) == (returning.message, returning.recipients)
    assert b"From: desk@example.org" in returning.message


def stored(id: EmailId) -> dict[str, Any]:
    """An email as `prepare` is given it."""
    email = Email(to="ada@example.org", subject="Hi", text="Hello", html="<p>Hello</p>")
    sender = Address("", "desk@example.org")
    frozen = EMAIL.freeze(email, id=id, date=Clock().now, default_sender=sender, limits=DEFAULT_LIMITS)
    return {
        "subject": frozen.subject, "message_id": frozen.message_id, "envelope": frozen.envelope,
        "text": frozen.text, "html": frozen.html, "attachments": {}, "only": None,
    }  # fmt: skip
