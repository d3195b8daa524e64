"""An outbox with campaigns in two workspaces, its app, and people who call the API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from postroom import AsyncOutbox, Outbox
from postroom.accounts.values import Role
from postroom.admin.app import build
from tests.admin.callers import caller, token_for
from tests.campaigns.sending.stage import OFFICE, Stage
from tests.store.journey import Clock

NORTH, SOUTH = "north", "south"
PUBLIC = {
    "POSTROOM_PUBLIC_URL": "https://mail.shop.example",
    "POSTROOM_SECRET": "a secret of the tests, long enough to seal",
}
"""What campaigns need to be sent: that people can unsubscribe."""


class CampaignHouse:
    """`spring` is a draft of two steps to three people, in two workspaces under the same id."""

    def __init__(self, outbox: Outbox, app: FastAPI, clock: Clock) -> None:
        self.outbox = outbox
        self.app = app
        self.north, self.south = (Stage(outbox, clock, workspace) for workspace in (NORTH, SOUTH))
        for stage in (self.north, self.south):
            stage.settings(OFFICE)
            stage.sender()
            stage.draft("spring", 3, (0, 3))

    def caller(self, role: Role = Role.OPERATOR, *workspaces: str) -> Any:
        """A client of somebody new, who sees these workspaces, or all."""
        return caller(self.app, token_for(self.outbox, role, workspaces=workspaces or None))

    @asynccontextmanager
    async def caller_elsewhere(self, role: Role = Role.OPERATOR) -> AsyncIterator[httpx.AsyncClient]:
        """The same of another process's app, with connections of its own."""
        token = token_for(self.outbox, role)
        async with (
            AsyncOutbox(self.outbox.database_url, clock=self.outbox.clock) as awaiting,
            caller(build(awaiting), token) as client,
        ):
            yield client


@asynccontextmanager
async def campaign_house(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> AsyncIterator[CampaignHouse]:
    """On a migrated database."""
    for name, value in PUBLIC.items():
        monkeypatch.setenv(name, value)
    with Outbox(url, clock=clock, **settings) as outbox:
        async with AsyncOutbox(url, clock=clock, **settings) as awaiting:
            yield CampaignHouse(outbox, build(awaiting), clock)


def data_of(response: httpx.Response, status: int = 200) -> Any:
    """What a request was answered, provided that it was good news in the one shape."""
    body = response.json()
    assert (response.status_code, body.get("success")) == (status, True), body
    assert set(body) == {"success", "data"}
    return body["data"]


def error_of(response: httpx.Response, status: int) -> dict[str, str]:
    """The error, provided that it has the one shape of these routes."""
    body = response.json()
    assert (response.status_code, body.get("success")) == (status, False), body
    assert set(body) == {"success", "error"}
    assert set(body["error"]) == {"code", "message", "remedy"}
    error: dict[str, str] = body["error"]
    return error
