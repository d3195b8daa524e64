"""The API against its own description: whatever fits it is answered as it says, whatever does not is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test

from postroom import AsyncOutbox, Outbox, Status
from postroom.accounts.values import Role
from postroom.config import load
from postroom.web import admin
from postroom.work import breakers
from tests.admin import formats
from tests.admin.callers import token_for
from tests.admin.campaign_house import PUBLIC
from tests.campaigns.sending.stage import Stage
from tests.store.journey import Clock, bring_to, email

EXAMPLES = 25
"""For each route."""

REPLAY = "/api/admin/outbox/{id}/replay"
"""Of an email that is not there, nobody would look at the corrections."""

CAMPAIGN = "/api/campaigns/{id}"
"""Beneath it, what names no workspace is about one that is there."""
THERE = {"id": "spring", "prospect": "p1"}

formats.register()

# The description is the same for every outbox, and this one is never opened.
DESCRIPTION = admin(AsyncOutbox("sqlite:///never-opened.db")).openapi()
ROUTES = [f"{verb.upper()} {path}" for path, verbs in DESCRIPTION["paths"].items() for verb in verbs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The API of an outbox with an email in most statuses, and a token of somebody who may do everything."""

    app: FastAPI
    token: str
    outbox: Outbox

    def replayable(self) -> str:
        """An email that can be replayed."""
        id = self.outbox.enqueue(email("Stopped")).id
        self.outbox.cancel(id)
        return id


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    url = f"sqlite:///{tmp_path_factory.mktemp('described') / 'outbox.db'}"
    given = load(
        database=url, secret="forty characters, none of which is a secret", public_url="https://mail.example.org"
    )
    with Outbox.from_settings(given) as outbox:
        outbox.migrate()
        outbox.database.run(breakers.standing_of({"smtp.example.org:587": ""}))
        for status in (Status.SENT, Status.DEAD, Status.RETRYING, Status.IN_DOUBT, Status.CANCELLED, Status.PENDING):
            bring_to(outbox, status, workspace="north", kind="welcome")
        stage = Stage(outbox, Clock(), "")
        stage.sender()
        stage.draft("spring", 3, (0, 3))
        yield Described(app=admin(outbox), token=token_for(outbox, Role.ADMIN), outbox=outbox)


@contextmanager
def _outbox(url: str, environment: pytest.MonkeyPatch) -> Iterator[Outbox]:
    """One from which campaigns can be sent."""
    for name, value in PUBLIC.items():
        environment.setenv(name, value)
    with Outbox(url) as outbox:
        outbox.migrate()
        yield outbox


@pytest.mark.parametrize("route", ROUTES)
def test_the_api_keeps_to_its_description(route: str, described: Described) -> None:
    """Its cases take a second to think of, so they are made here; `schema.parametrize()` would when tests are listed,
    which every process does."""
    verb, path = route.split()
    schema = schemathesis.openapi.from_dict(DESCRIPTION)
    keeps_to_it = build_operation_test(
        config=schema.config,
        operation=schema[path][verb],
        test_func=_keeps_to_it,
        given_kwargs={},
        feedback=FeedbackSources(),
    )
    keeps_to_it(described=described)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def _keeps_to_it(case: Any, described: Described) -> None:
    if case.meta.generation.mode.is_positive:
        if isinstance(case.body, dict):
            case.body = formats.as_no_schema_can_say(case.body)
        if case.operation.path == REPLAY:
            case.path_parameters = {"id": described.replayable()}
        if case.operation.path.startswith(CAMPAIGN) and not (case.query or {}).get("workspace"):
            case.path_parameters = {
                name: THERE.get(name, value) for name, value in (case.path_parameters or {}).items()
            }
    case.call_and_validate(app=described.app, headers={"Authorization": f"Bearer {described.token}"})
