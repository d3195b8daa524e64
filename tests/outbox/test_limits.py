"""An outbox's limits hold at every door alike: raised ones let in what they allow, lowered ones refuse with one voice.

A door takes an email (or a correction) and says how it was refused; nothing when it was taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from postroom import AsyncOutbox, Email, Limits, Outbox
from postroom.accounts.values import Role
from postroom.errors import InvalidEmail
from postroom.web import admin
from tests.admin.callers import caller, token_for
from tests.cli.conftest import CommandLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What somebody submits, or corrects before a replay."""

    to: list[str] | None = None
    text: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None

    def email(self) -> Email:
        return Email(to=self.to or "ada@example.org", subject="Hi", text=self.text or "Hello", headers=self.headers)

    def corrections(self) -> dict[str, Any]:
        found = {"to": self.to, "text": self.text}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """One outbox, and the folder for files."""

    url: str
    folder: Path

    def options(self, given: Given) -> list[str]:
        """As the command line has them: a long text comes from a file."""
        (self.folder / "text.txt").write_text(given.text or "Hello")
        to = [word for address in given.to or () for word in ("--to", address)]
        headers = [word for name, value in given.headers.items() for word in ("--header", f"{name}: {value}")]
        return [*to, *headers, *(["--text-file", str(self.folder / "text.txt")] if given.text else [])]


Door = Callable[[House, Given], str]


def by_library(house: House, given: Given) -> str:
    with Outbox(house.url) as outbox:
        return refusal_of(lambda: outbox.enqueue(given.email(), key=given.key))


def in_bulk(house: House, given: Given) -> str:
    with Outbox(house.url) as outbox:
        return refusal_of(lambda: outbox.enqueue_many([(given.email(), given.key)]))


def inline(house: House, given: Given) -> str:
    with Outbox(house.url) as outbox:
        return refusal_of(lambda: outbox.send(given.email(), key=given.key))


def awaited(house: House, given: Given) -> str:
    async def enqueue() -> None:
        async with AsyncOutbox(house.url) as outbox:
            await outbox.enqueue(given.email(), key=given.key)

    return refusal_of(lambda: asyncio.run(enqueue()))


def by_command(house: House, given: Given) -> str:
    given = given if given.to else Given(to=["ada@example.org"], text=given.text, headers=given.headers, key=given.key)
    key = ["--key", given.key] if given.key else []
    body = [] if given.text else ["--text", "Hello"]
    answer = CommandLine(house.url)("send", "--subject", "Hi", *house.options(given), *body, *key)
    return "" if answer.code == 0 else " ".join(answer.err.split())


def over_http(house: House, given: Given) -> str:
    body = {"to": given.to or ["ada@example.org"], "subject": "Hi", "text": given.text or "Hello"}

    async def post(client: httpx.AsyncClient) -> httpx.Response:
        headers = {"Idempotency-Key": given.key} if given.key else {}
        return await client.post("/api/emails", json=body | {"headers": dict(given.headers)}, headers=headers)

    return told(house, post)


def told(house: House, post: Callable[[httpx.AsyncClient], Coroutine[Any, Any, httpx.Response]]) -> str:
    """What an operator's request was answered, in the words of a refusal."""
    with Outbox(house.url) as outbox:
        token = token_for(outbox, Role.OPERATOR)

    async def answer() -> httpx.Response:
        async with AsyncOutbox(house.url) as outbox, caller(admin(outbox), token) as client:
            return await post(client)

    response = asyncio.run(answer())
    if response.is_success:
        return ""
    error = response.json()["error"]
    return f"{response.status_code} {error['message']}; {error['remedy']}"


def refusal_of(act: Callable[[], object]) -> str:
    try:
        act()
    except InvalidEmail as refusal:
        return str(refusal)
    return ""


def cancelled(house: House) -> str:
    """An email that may be replayed."""
    with Outbox(house.url) as outbox:
        id = outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="Hello")).id
        outbox.cancel(id)
    return id


def replayed_by_library(house: House, given: Given) -> str:
    id = cancelled(house)
    with Outbox(house.url) as outbox:
        return refusal_of(lambda: outbox.replay(id, **given.corrections()))


def replayed_awaited(house: House, given: Given) -> str:
    id = cancelled(house)

    async def replay() -> None:
        async with AsyncOutbox(house.url) as outbox:
            await outbox.replay(id, **given.corrections())

    return refusal_of(lambda: asyncio.run(replay()))


def replayed_by_command(house: House, given: Given) -> str:
    answer = CommandLine(house.url)("replay", cancelled(house), *house.options(given))
    return "" if answer.code == 0 else " ".join((answer.err + answer.out).split())


def replayed_over_http(house: House, given: Given) -> str:
    path = f"/api/admin/outbox/{cancelled(house)}/replay"
    return told(house, lambda client: client.post(path, json=given.corrections()))


SUBMITTED: list[Door] = [by_library, in_bulk, inline, awaited, by_command, over_http]
REPLAYED: list[Door] = [replayed_by_library, replayed_awaited, replayed_by_command, replayed_over_http]


def people(count: int) -> list[str]:
    return [f"r{number}@example.org" for number in range(count)]


def own_headers(count: int) -> dict[str, str]:
    return {f"X-{number}": "x" for number in range(count)}


RAISED: dict[str, tuple[int, Given]] = {
    "RECIPIENTS": (2_000, Given(to=people(1_500))),
    "BYTES": (27_000_000, Given(text="All work and no play.\n" * 1_140_000)),
    "HEADERS": (200, Given(headers=own_headers(150))),
    "KEY": (400, Given(key="k" * 300)),
}
"""What the defaults would refuse."""

LOWERED: dict[str, tuple[int, Given, str]] = {
    "RECIPIENTS": (3, Given(to=people(4)), "to: has 4 recipients; send several emails to at most 3 each"),
    "BYTES": (
        9_000,
        Given(text="All work and no play.\n" * 500),
        "text: the email has about 11,792 bytes; bring it under 9,000, for instance with a link in place of a file",
    ),
    "HEADERS": (2, Given(headers=own_headers(3)), "headers: has 3 entries; give at most 2"),
    "KEY": (10, Given(key="k" * 11), "key: has 11 characters; shorten it to 10, for instance by hashing it"),
}
"""What the defaults would let in."""

CORRECTABLE = ["RECIPIENTS", "BYTES"]


@pytest.fixture
def house(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    with Outbox(sqlite_url) as outbox:
        outbox.migrate()
    return House(url=sqlite_url, folder=tmp_path)


@pytest.mark.parametrize("limit", RAISED)
@pytest.mark.parametrize("door", SUBMITTED)
def test_what_a_raised_limit_allows_comes_in_by_every_door(
    house: House, monkeypatch: pytest.MonkeyPatch, door: Door, limit: str
) -> None:
    most, given = RAISED[limit]
    monkeypatch.setenv(f"POSTROOM_MAX_{limit}", str(most))

    assert door(house, given) == ""
    assert stored(house) == 1


@pytest.mark.parametrize("limit", LOWERED)
@pytest.mark.parametrize("door", SUBMITTED)
def test_a_lowered_limit_refuses_at_every_door_in_the_same_words(
    house: House, monkeypatch: pytest.MonkeyPatch, door: Door, limit: str
) -> None:
    most, given, words = LOWERED[limit]
    monkeypatch.setenv(f"POSTROOM_MAX_{limit}", str(most))

    assert words in door(house, given)
    assert stored(house) == 0


@pytest.mark.parametrize("limit", CORRECTABLE)
@pytest.mark.parametrize("door", REPLAYED)
def test_a_correction_may_be_as_large_as_a_raised_limit_allows(
    house: House, monkeypatch: pytest.MonkeyPatch, door: Door, limit: str
) -> None:
    most, given = RAISED[limit]
    monkeypatch.setenv(f"POSTROOM_MAX_{limit}", str(most))

    assert door(house, given) == ""
    assert stored(house, "pending") == 1


@pytest.mark.parametrize("limit", CORRECTABLE)
@pytest.mark.parametrize("door", REPLAYED)
def test_a_correction_over_a_lowered_limit_is_refused_and_the_email_stays_as_it_was(
    house: House, monkeypatch: pytest.MonkeyPatch, door: Door, limit: str
) -> None:
    most, given, words = LOWERED[limit]
    monkeypatch.setenv(f"POSTROOM_MAX_{limit}", str(most))

    assert words in door(house, given)
    assert stored(house, "cancelled") == 1


@pytest.mark.parametrize("door", SUBMITTED + REPLAYED)
@pytest.mark.parametrize("address", ["root@localhost", "ada@intranet"])
def test_an_address_of_a_machine_nearby_is_refused_at_every_door_unless_a_setting_allows_it(
    house: House, monkeypatch: pytest.MonkeyPatch, door: Door, address: str
) -> None:
    assert "is an address of a machine nearby" in door(house, Given(to=[address]))

    monkeypatch.setenv("POSTROOM_DOTLESS_DOMAINS", "yes")

    assert door(house, Given(to=[address])) == ""


@pytest.mark.parametrize("door", [by_command, over_http, replayed_by_command, replayed_over_http])
def test_a_list_of_a_name_and_an_address_is_two_recipients_of_whom_one_is_none(house: House, door: Door) -> None:
    """Where there are only lists, a name and an address are written as one text."""
    assert "'Ada' is not an email address" in door(house, Given(to=["Ada", "ada@example.org"]))
    assert door(house, Given(to=["Ada <ada@example.org>"])) == ""


def test_a_pair_is_one_recipient_in_a_replay_too(house: House) -> None:
    id = cancelled(house)
    with Outbox(house.url) as outbox:
        assert "a tuple of 3" in refusal_of(lambda: outbox.replay(id, to=("a", "b", "c")))  # type: ignore[arg-type]

        outbox.replay(id, to=("mallory@evil.org", "ada@example.org"))

        assert [each.address for each in outbox.get(id).recipients] == ["ada@example.org"]


def stored(house: House, *statuses: str) -> int:
    with Outbox(house.url) as outbox:
        counts = outbox.counts()
    return sum(counts[status] for status in statuses or counts)


def test_limits_that_an_outbox_was_given_count_more_than_the_settings(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_MAX_RECIPIENTS", "1")

    with Outbox(house.url, limits=Limits(recipients=2)) as outbox:
        outbox.enqueue(Given(to=people(2)).email())
        assert "at most 2 each" in refusal_of(lambda: outbox.enqueue(Given(to=people(3)).email()))


def test_without_any_setting_the_defaults_hold(house: House) -> None:
    assert "send several emails to at most 1,000 each" in by_library(house, Given(to=people(1_001)))
    assert by_library(house, Given(to=people(1_000))) == ""


def test_one_large_email_among_many_keeps_them_all_out(house: House) -> None:
    """`enqueue_many` is one transaction."""
    emails = [Given(to=people(count)).email() for count in (1, 1_001, 2)]

    with Outbox(house.url) as outbox:
        assert "has 1,001 recipients" in refusal_of(lambda: outbox.enqueue_many(emails))
    assert stored(house) == 0


def test_the_description_of_the_api_tells_the_limits_of_its_outbox(house: House) -> None:
    with Outbox(house.url, limits=Limits(recipients=2_000, headers=7, key=40)) as outbox:
        described = admin(outbox).openapi()
    fields = described["components"]["schemas"]["EnqueueRequest"]["properties"]
    [key] = [each for each in described["paths"]["/api/emails"]["post"]["parameters"] if each["in"] == "header"]

    assert [each["maxItems"] for each in fields["to"]["anyOf"] if each["type"] == "array"] == [2_000]
    assert fields["headers"]["maxProperties"] == 7
    assert key["schema"]["anyOf"][0]["maxLength"] == 40
    assert "x-postroom" not in str(described)


def test_what_cannot_be_asked_for_an_email_is_said_at_once(house: House) -> None:
    with Outbox(house.url) as outbox, pytest.raises(TypeError, match="urgency"):
        outbox.enqueue(Given().email(), urgency="high")  # type: ignore[call-arg]
