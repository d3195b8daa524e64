"""Who calls the API in tests: people with tokens of their own, over an app in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI

from postroom import Outbox
from postroom.accounts.accounts import add_person
from postroom.accounts.chance import new_token
from postroom.accounts.tokens import add_token
from postroom.accounts.values import Role


def token_for(outbox: Outbox, role: Role, *, workspaces: Collection[str] | None = None) -> str:
    """A token of somebody new, with this role."""
    token = new_token()
    name = f"{role}-{token[:8].lower().replace('_', 'a').replace('-', 'b')}@example.org"
    person = outbox.database.run(add_person(name, role=role, password="none", workspaces=workspaces))
    outbox.database.run(add_token(person, token, scope=role))
    return token


@asynccontextmanager
async def caller(app: FastAPI, token: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app; with a token, as whoever it stands for."""
    transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 40000), raise_app_exceptions=False)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client
