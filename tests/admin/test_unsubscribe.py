"""The door behind the links: nobody signs in, nothing changes by looking, and one press is as good as a thousand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom import AsyncOutbox, AsyncRegions, Email, Outbox, config
from postroom.admin.app import build
from postroom.admin.unsubscribing import LONGEST_BODY
from postroom.compose.unsubscribing import link_in
from postroom.errors import ConfigurationError
from postroom.sealing import Keyring, Ticket, sealed
from postroom.store.ids import new_id
from postroom.store.suppressions import Suppression, suppressions, suppressions_of
from postroom.vocabulary import SuppressionScope
from postroom.web import desk, unsubscribe
from tests.admin.desk import desk as served_desk
from tests.admin.desk import head, rest
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]

SECRET = "forty characters that are by no means a secret"
FORMER = "what was the secret before it was changed, long ago"
HOST = "https://mail.example.org"
ONE_CLICK = {"List-Unsubscribe": "One-Click"}
TICKET = Ticket(email_id=new_id(), address="ada@example.org", workspace="hotel", kind="news")


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_SECRET", SECRET)
    monkeypatch.setenv("POSTROOM_PREVIOUS_SECRETS", FORMER.replace(" ", "_"))
    monkeypatch.setenv("POSTROOM_PUBLIC_URL", HOST)


@pytest.fixture
def outbox(store_url: str, configured: None) -> Iterator[Outbox]:
    with Outbox(store_url) as outbox:
        yield outbox


def path_of(ticket: Ticket = TICKET, secret: str = SECRET) -> str:
    return f"/u/{sealed(ticket, Keyring(secret))}"


def known(outbox: Outbox) -> list[Suppression]:
    return outbox.database.run(suppressions(limit=100), writes=False)


@asynccontextmanager
async def visitor(app: Any, base: str = HOST) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody from anywhere, who has never been here."""
    transport = httpx.ASGITransport(app, client=("203.0.113.9", 40_000))
    async with httpx.AsyncClient(transport=transport, base_url=base) as client:
        yield client


async def test_a_mailbox_presses_the_link_of_an_email_with_the_one_request_it_makes(outbox: Outbox) -> None:
    id = outbox.enqueue(
        Email(to="Ada@example.org", subject="News", text="Hello"), unsubscribable=True, workspace="hotel", kind="news"
    ).id
    link = link_in(outbox.letter(id).headers)
    assert link is not None
    async with visitor(build_app(outbox)) as mailbox:
        answer = await mailbox.post(link, data=ONE_CLICK)
    [entry] = known(outbox)

    assert answer.status_code == 200
    assert "You are unsubscribed" in answer.text
    assert (entry.address, entry.scope, entry.workspace) == ("ada@example.org", SuppressionScope.WORKSPACE, "hotel")
    assert entry.email_id == id


def build_app(outbox: Outbox) -> FastAPI:
    from postroom.web import admin

    return admin(outbox)


async def test_a_thousand_looks_change_nothing(outbox: Outbox) -> None:
    path = path_of()
    async with visitor(build_app(outbox)) as scanner:
        looks = [await scanner.request("HEAD" if n % 2 else "GET", path) for n in range(1_000)]

    assert {look.status_code for look in looks} == {200}
    assert {look.text for look in looks[1::2]} == {""}
    assert len({look.text for look in looks[::2]}) == 1
    assert {look.headers["content-length"] for look in looks[1::2]} == {str(len(looks[0].content))}
    assert known(outbox) == []


async def test_looking_asks_no_database(configured: None, tmp_path: Path) -> None:
    async with (
        AsyncOutbox(f"sqlite:///{tmp_path}/not/there.db") as outbox,
        visitor(build(outbox)) as person,
    ):
        look = await person.get(path_of())

    assert look.status_code == 200
    assert '<button type="submit" name="what" value="all">Unsubscribe</button>' in look.text


@pytest.mark.parametrize(
    "request_",
    [
        {"data": ONE_CLICK},
        {"files": {"List-Unsubscribe": (None, "One-Click")}},
        {"content": b"List-Unsubscribe=One-Click"},
        {"data": ONE_CLICK, "headers": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}},
        {"data": ONE_CLICK, "headers": {"Origin": "null", "Cookie": "postroom_session=nonsense"}},
        {"data": ONE_CLICK, "headers": {"Authorization": "Bearer nonsense"}},
        {"data": {"what": "all"}},
    ],
    ids=["form", "multipart", "bare", "another site", "cookies", "token", "our form"],
)
async def test_a_press_counts_whoever_sends_it_and_however(outbox: Outbox, request_: dict[str, Any]) -> None:
    async with visitor(build_app(outbox)) as somebody:
        answer = await somebody.post(path_of(), **request_)

    assert answer.status_code == 200
    assert "You are unsubscribed" in answer.text
    assert "set-cookie" not in answer.headers
    assert [entry.address for entry in known(outbox)] == ["ada@example.org"]


async def test_pressing_twice_or_twenty_times_at_once_is_pressing_once(outbox: Outbox) -> None:
    path = path_of()
    async with visitor(build_app(outbox)) as somebody:
        first = await somebody.post(path, data=ONE_CLICK)
        [entry] = known(outbox)
        others = await asyncio.gather(*(somebody.post(path, data=ONE_CLICK) for _ in range(20)))

    assert {answer.status_code for answer in others} == {200}
    assert {answer.text for answer in others} == {first.text}
    assert [(each.id, each.created_at) for each in known(outbox)] == [(entry.id, entry.created_at)]


async def test_only_emails_like_this_one_may_be_stopped_and_a_mistake_be_taken_back(outbox: Outbox) -> None:
    path = path_of()
    async with visitor(build_app(outbox)) as person:
        stopped = await person.post(path, data={"what": "kind"})
        scopes = [entry.scope for entry in known(outbox)]
        undone = [await person.post(path, data={"what": "undo"}) for _ in range(2)]

    assert "will get no more emails like this one" in stopped.text
    assert scopes == [SuppressionScope.KIND]
    assert [answer.status_code for answer in undone] == [200, 200]
    assert "You will get these emails again" in undone[0].text
    assert known(outbox) == []


async def test_another_email_to_the_same_person_takes_nothing_back(outbox: Outbox) -> None:
    async with visitor(build_app(outbox)) as person:
        await person.post(path_of(), data=ONE_CLICK)
        await person.post(path_of(replace(TICKET, email_id=new_id())), data={"what": "undo"})

    assert len(known(outbox)) == 1


@pytest.mark.parametrize("body", [{}, {"what": "everything"}, {"List-Unsubscribe": "yes"}])
async def test_what_asks_for_nothing_that_is_known_changes_nothing(outbox: Outbox, body: dict[str, str]) -> None:
    async with visitor(build_app(outbox)) as somebody:
        answer = await somebody.post(path_of(), data=body)

    assert answer.status_code == 400
    assert "Nothing was changed" in answer.text
    assert known(outbox) == []


@pytest.mark.parametrize(
    "broken", ["multipart/form-data; boundary=x", "multipart/form-data", "multipart/form-data; boundary="]
)
async def test_a_form_that_cannot_be_read_changes_nothing(outbox: Outbox, broken: str) -> None:
    async with visitor(build_app(outbox)) as somebody:
        answer = await somebody.post(path_of(), content=b"--y\r\nnot a form at all", headers={"Content-Type": broken})

    assert answer.status_code == 400
    assert known(outbox) == []


async def test_a_body_is_read_up_to_a_few_kilobytes(outbox: Outbox) -> None:
    words = b"List-Unsubscribe=One-Click&x="
    async with visitor(build_app(outbox)) as somebody:
        longest = await somebody.post(path_of(), content=words + b"x" * (LONGEST_BODY - len(words)))
        entries = known(outbox)
        longer = await somebody.post(
            path_of(replace(TICKET, address="bob@example.org")), content=words + b"x" * LONGEST_BODY
        )

    assert (longest.status_code, longer.status_code) == (200, 413)
    assert known(outbox) == entries


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_other_methods_are_not_allowed(outbox: Outbox, method: str) -> None:
    async with visitor(build_app(outbox)) as somebody:
        answer = await somebody.request(method, path_of())

    assert answer.status_code == 405
    assert "POST" in answer.headers["allow"]
    assert known(outbox) == []


def worthless() -> list[str]:
    token = sealed(TICKET, Keyring(SECRET))
    return [
        token[:-1], token[1:], token + "A", token[:-2] + ("AA" if token[-2:] != "AA" else "BB"), token.lower(), "x",
        sealed(TICKET, Keyring("z" * 40)), sealed(replace(TICKET, region="deu1"), Keyring(SECRET)),
    ]  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_link_that_is_not_valid_says_so_and_says_what_to_do(outbox: Outbox, method: str) -> None:
    async with visitor(build_app(outbox)) as somebody:
        answers = [
            await somebody.request(method, f"/u/{token}", content=b"List-Unsubscribe=One-Click")
            for token in worthless()
        ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1, "all are alike, whatever is wrong with them"
    assert "This link is not valid" in answers[0].text
    assert "reply to the email" in answers[0].text
    assert "<button" not in answers[0].text
    assert known(outbox) == []


async def test_a_link_of_a_former_secret_works(outbox: Outbox) -> None:
    async with visitor(build_app(outbox)) as somebody:
        answer = await somebody.post(path_of(secret=FORMER.replace(" ", "_")), data=ONE_CLICK)

    assert answer.status_code == 200
    assert len(known(outbox)) == 1


@given(st.one_of(st.text(), st.text("ABCDabcd0123-_.%/?&=", max_size=300)))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_stands_in_the_address_is_answered_as_a_link_that_is_none(quiet_app: Any, token: str) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"List-Unsubscribe=One-Click", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": f"/u/{token}", "headers": [], "query_string": b"", "root_path": "",
    }  # fmt: skip
    await quiet_app(scope, receive, send)

    assert sent[0]["status"] == 404


@pytest.fixture
def quiet_app(configured: None, tmp_path: Path) -> Iterator[Any]:
    with Outbox(f"sqlite:///{tmp_path}/empty.db") as outbox:
        yield unsubscribe(outbox)


async def test_every_answer_is_kept_by_nobody_and_leads_nowhere_else(outbox: Outbox) -> None:
    async with visitor(build_app(outbox)) as somebody:
        answers = [
            await somebody.get(path_of()),
            await somebody.head(path_of()),
            await somebody.post(path_of(), data=ONE_CLICK),
            await somebody.get("/u/nothing"),
        ]

    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-robots-tag"] == "noindex"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
        assert "set-cookie" not in answer.headers
        assert not re.search(r"https?://", answer.text)
        assert "ada@" not in answer.text


async def test_the_page_speaks_the_language_of_the_email_else_of_the_browser(outbox: Outbox) -> None:
    french = {"Accept-Language": "fr-FR, en;q=0.5"}
    async with visitor(build_app(outbox)) as person:
        german = await person.get(path_of(replace(TICKET, language="de-AT")), headers=french)
        of_browser = await person.get(path_of(), headers=french)
        invalid = await person.get("/u/nothing", headers=french)

    assert 'lang="de" dir="ltr"' in german.text
    assert german.headers["content-language"] == "de"
    assert 'lang="fr"' in of_browser.text
    assert "Ce lien n’est pas valable" in invalid.text


@pytest.mark.parametrize("what", ["all", "kind", "undo"])
async def test_while_the_database_is_away_nobody_is_told_that_it_is_done(
    configured: None, tmp_path: Path, what: str
) -> None:
    folder = tmp_path / "not mounted yet"
    async with AsyncOutbox(f"sqlite:///{folder}/a.db") as outbox, visitor(build(outbox)) as person:
        away = await person.post(path_of(), data={"what": what})
        folder.mkdir()
        await outbox.migrate()
        again = await person.post(path_of(), data={"what": what})

    assert (away.status_code, away.headers["retry-after"]) == (503, "60")
    assert "This did not work just now" in away.text
    assert f'value="{what}"' in away.text
    assert again.status_code == 200


async def test_where_there_are_no_tables_yet_it_is_said_to_have_failed(configured: None, tmp_path: Path) -> None:
    async with AsyncOutbox(f"sqlite:///{tmp_path}/a.db") as outbox, visitor(build(outbox)) as mailbox:
        answer = await mailbox.post(path_of(), data=ONE_CLICK)

    assert answer.status_code == 503


async def test_the_door_alone_can_be_mounted_in_any_app(outbox: Outbox) -> None:
    outer = FastAPI()
    outer.mount("/mail", unsubscribe(outbox))
    async with visitor(outer) as somebody:
        look = await somebody.get(f"/mail{path_of()}")
        pressed = await somebody.post(f"/mail{path_of()}", data=ONE_CLICK)
        elsewhere = await somebody.get("/mail/admin")
        wrong = await somebody.delete(f"/mail{path_of()}")

    assert (look.status_code, pressed.status_code, elsewhere.status_code, wrong.status_code) == (200, 200, 404, 405)
    assert len(known(outbox)) == 1


async def test_a_press_arrives_wherever_the_whole_app_is_mounted(outbox: Outbox) -> None:
    outer = FastAPI()
    outer.mount("/post/room", build_app(outbox))
    async with visitor(outer) as mailbox:
        pressed = await mailbox.post(f"/post/room{path_of()}", data=ONE_CLICK)

    assert pressed.status_code == 200
    assert len(known(outbox)) == 1


def test_a_door_that_could_open_no_link_is_not_made(sqlite_url: str) -> None:
    with Outbox(sqlite_url) as outbox, pytest.raises(ConfigurationError, match="set POSTROOM_SECRET"):
        unsubscribe(outbox)


def test_a_secret_that_is_too_short_is_told_when_the_door_is_made(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_SECRET", "short")
    with Outbox(sqlite_url) as outbox, pytest.raises(ConfigurationError, match="at least 32"):
        unsubscribe(outbox)


@pytest.fixture
async def regions(tmp_path: Path, configured: None) -> AsyncIterator[AsyncRegions]:
    """Two that share a secret, and one with a secret of its own."""
    own: dict[str, Any] = {name: {"database": f"sqlite:///{tmp_path}/{name}.db"} for name in ("deu1", "usa1", "sgp1")}
    own["sgp1"]["secret"] = "s" * 40
    async with AsyncRegions.from_settings(config.load_shared(regions=own)) as regions:
        await regions.migrate()
        yield regions


async def links(regions: AsyncRegions) -> dict[str, str]:
    found = {}
    for name in regions:
        email = Email(to=f"{name}@example.org", subject="News", text="Hello")
        receipt = await regions[name].enqueue(email, unsubscribable=True)
        found[name] = link_in((await regions[name].letter(receipt.id)).headers) or ""
    return found


async def stopped_in(regions: AsyncRegions) -> dict[str, list[str]]:
    wanted = [f"{name}@example.org" for name in regions]
    return {name: [*await regions[name].database.run(suppressions_of(wanted), writes=False)] for name in regions}


@pytest.mark.parametrize("app", [desk, unsubscribe], ids=["desk", "door"])
async def test_one_door_over_several_regions_records_in_the_one_that_sent_it(regions: AsyncRegions, app: Any) -> None:
    async with visitor(app(regions)) as mailbox:
        answers = [await mailbox.post(link, data=ONE_CLICK) for link in (await links(regions)).values()]
        of_none = await mailbox.post(path_of(), data=ONE_CLICK)
        unknown = await mailbox.post(path_of(replace(TICKET, region="bra1")), data=ONE_CLICK)

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert await stopped_in(regions) == {name: [f"{name}@example.org"] for name in regions}
    assert (of_none.status_code, unknown.status_code) == (404, 404)


async def test_a_region_of_a_desk_has_a_door_of_its_own(regions: AsyncRegions) -> None:
    found = await links(regions)
    async with visitor(desk(regions)) as mailbox:
        own, other = [
            await mailbox.post(f"/regions/deu1{found[name].removeprefix(HOST)}", data=ONE_CLICK)
            for name in ("deu1", "usa1")
        ]

    assert (own.status_code, other.status_code) == (200, 404)
    assert await stopped_in(regions) == {"deu1": ["deu1@example.org"], "usa1": [], "sgp1": []}


async def test_the_door_of_one_region_opens_no_link_of_another(regions: AsyncRegions) -> None:
    """They may share a secret; an address must not get into another region's database all the same."""
    found = await links(regions)
    async with visitor(unsubscribe(regions["deu1"])) as mailbox:
        answers = {name: (await mailbox.post(link, data=ONE_CLICK)).status_code for name, link in found.items()}

    assert answers == {"deu1": 200, "usa1": 404, "sgp1": 404}
    assert await stopped_in(regions) == {"deu1": ["deu1@example.org"], "usa1": [], "sgp1": []}


def test_the_served_app_takes_a_press_over_a_socket(sqlite_url: str, configured: None) -> None:
    with ExitStack() as stack:
        outbox = stack.enter_context(Outbox(sqlite_url))
        outbox.migrate()
        web = stack.enter_context(served_desk(outbox, "--dev"))
        with web.connect() as connection:
            body = b"List-Unsubscribe=One-Click"
            kind = "Content-Type: application/x-www-form-urlencoded"
            connection.sendall(
                head("POST", path_of(), "Connection: close", kind, f"Content-Length: {len(body)}") + body
            )
            pressed = rest(connection)
        with web.connect() as connection:
            connection.sendall(head("HEAD", path_of(), "Connection: close"))
            looked = rest(connection)
        entries = known(outbox)

    assert pressed.startswith(b"HTTP/1.1 200")
    assert b"You are unsubscribed" in pressed
    assert looked.startswith(b"HTTP/1.1 200")
    assert looked.endswith(b"\r\n\r\n")
    assert b"set-cookie" not in (pressed + looked).lower()
    assert [entry.address for entry in entries] == ["ada@example.org"]
