"""The API against its own description: whatever fits it is answered as it says, whatever does not is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from postroom import AsyncOutbox, Outbox, Status
from postroom.claim import transports
from postroom.people.values import Role
from postroom.web import admin
from tests.admin.callers import token_for
from tests.store.journey import bring_to

WRITTEN_BY_PEOPLE = {"/api/emails", "/api/admin/outbox/{id}/replay"}
"""No schema says what a deliverable address or a safe header is: here, what fits the schema may still be refused."""

EXAMPLES = 25
"""For each route."""

# The description is the same for every outbox, and this one is never opened.
schema = schemathesis.openapi.from_dict(admin(AsyncOutbox("sqlite:///never-opened.db")).openapi())


@pytest.fixture(scope="module")
def app_and_token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FastAPI, str]]:
    """The API of an outbox with an email in most statuses, and a token of somebody who may do everything."""
    url = f"sqlite:///{tmp_path_factory.mktemp('described') / 'outbox.db'}"
    with Outbox(url) as outbox:
        outbox.migrate()
        outbox.database.run(transports.learn("smtp.example.org:587", None, jitter=0))
        for status in (Status.SENT, Status.DEAD, Status.RETRYING, Status.IN_DOUBT, Status.CANCELLED, Status.PENDING):
            bring_to(outbox, status, workspace="north", kind="welcome")
        token = token_for(outbox, Role.ADMIN)
    awaiting = AsyncOutbox(url)
    yield admin(awaiting), token
    asyncio.run(awaiting.close())


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_api_keeps_to_its_description(case: Any, app_and_token: tuple[FastAPI, str]) -> None:
    app, token = app_and_token
    beyond = [positive_data_acceptance] if case.operation.path in WRITTEN_BY_PEOPLE else []
    case.call_and_validate(app=app, headers={"Authorization": f"Bearer {token}"}, excluded_checks=beyond)
