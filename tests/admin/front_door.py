"""The web app with people in it, and browsers that visit it over ASGI."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import httpx
from fastapi import FastAPI

from postroom import AsyncOutbox
from postroom.accounts.accounts import add_person
from postroom.accounts.audit import read_audit
from postroom.accounts.chance import TOKEN_PREFIX, new_token
from postroom.accounts.code_email import CODE_KIND
from postroom.accounts.tokens import add_token
from postroom.accounts.values import Person, Role
from postroom.admin.app import build
from tests.accounts.quick import quick_hasher
from tests.sealing.mailbox import letter_in_box
from tests.store.journey import Clock

PASSWORD = "correct horse battery staple"
PLAIN = "http://desk.example"
SECURE = "https://desk.example"

kept = cache(quick_hasher().hash)


class House:
    """An outbox, its web app, and one person for each role: viewer@example.org, …"""

    def __init__(self, outbox: AsyncOutbox, clock: Clock, people: dict[Role, Person], *, app: Any) -> None:
        self.outbox = outbox
        self.clock = clock
        self.people = people
        self.app = app

    def browser(self, base: str = PLAIN, *, client: str = "192.0.2.7") -> Browser:
        return Browser(self, base, client)

    async def signed_in(self, role: Role = Role.ADMIN, base: str = PLAIN, *, client: str = "192.0.2.7") -> Browser:
        """A browser after both steps."""
        browser = await self.half_signed_in(role, base, client=client)
        entered = await browser.submit("/admin/sign-in/code", code=await self.newest_code())
        assert entered.status_code == 303, entered.text
        browser.csrf = ""
        return browser

    async def half_signed_in(self, role: Role = Role.ADMIN, base: str = PLAIN, *, client: str = "192.0.2.7") -> Browser:
        """A browser after the right password."""
        browser = self.browser(base, client=client)
        await browser.get("/admin/sign-in")
        answer = await browser.submit("/admin/sign-in", name=f"{role}@example.org", password=PASSWORD)
        assert answer.status_code == 303, answer.text
        await browser.get("/admin/sign-in/code")
        return browser

    async def newest_code(self) -> str:
        """From the mailbox."""
        [email, *_] = (await self.outbox.list(kind=CODE_KIND)).emails
        reading = letter_in_box(email.id, self.outbox.rules.keyring)
        return re.findall(r"\b\d{6}\b", (await self.outbox.database.run(reading, writes=False)).text or "")[0]

    async def token(self, role: Role = Role.ADMIN, **wishes: Any) -> str:
        """An API token of the person with this role."""
        token = new_token(TOKEN_PREFIX)
        await self.outbox.database.run(add_token(self.people[role], token, **({"scope": role} | wishes)))
        return token

    async def audited(self) -> list[tuple[str, str]]:
        """Who did what, oldest first."""
        page = await self.outbox.database.run(read_audit(), writes=False)
        return [(entry.actor, entry.what) for entry in reversed(page.entries)]


class Browser:
    """Keeps cookies, sends what browsers send, follows nothing, and remembers the form's token of the last page."""

    def __init__(self, house: House, base: str, client: str) -> None:
        transport = httpx.ASGITransport(house.app, raise_app_exceptions=False, client=(client, 40_000))
        self.client = httpx.AsyncClient(transport=transport, base_url=base)
        self.base = base
        self.csrf = ""

    async def get(self, path: str, **options: Any) -> httpx.Response:
        answer = await self.client.get(path, **options)
        if found := re.search(r'name="csrf" value="([^"]*)"', answer.text):
            self.csrf = found[1]
        return answer

    async def submit(self, path: str, *, headers: dict[str, str] | None = None, **fields: str) -> httpx.Response:
        """A form of the last page, unless the headers or the fields say otherwise."""
        sent = {"origin": self.base, "sec-fetch-site": "same-origin"} if headers is None else headers
        return await self.client.post(path, data={"csrf": self.csrf} | fields, headers=sent)

    def bring(self, name: str, value: str) -> None:
        """A cookie that somebody put there."""
        self.client.cookies.set(name, value, domain="desk.example", path="/")

    @property
    def cookies(self) -> dict[str, str]:
        return dict(self.client.cookies)


@asynccontextmanager
async def open_house(url: str, *, dev: bool = False, mounted: str = "") -> AsyncIterator[House]:
    """A house on a database of the test's own."""
    clock = Clock()
    async with AsyncOutbox(url, clock=clock, sender="desk@example.org") as outbox:
        await outbox.migrate()
        people = {
            role: await outbox.database.run(add_person(f"{role}@example.org", role=role, password=kept(PASSWORD)))
            for role in Role
        }
        app: Any = build(outbox, dev=dev)
        if mounted:
            outer = FastAPI(openapi_url=None)
            outer.mount(mounted, app)
            app = outer
        yield House(outbox, clock, people, app=app)
