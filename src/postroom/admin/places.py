"""What pages and forms share: whom they ask, where the app is, and who may act."""

from __future__ import annotations

from typing import cast

from fastapi import Request

from postroom.accounts.values import Person, Role
from postroom.admin.visit import address_of, known_visit
from postroom.operate import Actor
from postroom.operate.service import AsyncOperations


def operations_of(request: Request) -> AsyncOperations:
    """The service behind this app."""
    return cast("AsyncOperations", request.app.state.operations)


def may_act(person: Person) -> bool:
    """Whether buttons are shown; the routes behind them ask again."""
    return person.role.may(Role.OPERATOR)


def root_of(request: Request) -> str:
    """Where this app is mounted."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def path_of(request: Request) -> str:
    """What is asked for within this app. Not from `request.url`, into which the sender's `Host` is written."""
    return str(request.scope["path"]).removeprefix(root_of(request))


def actor_of(request: Request, person: Person) -> Actor:
    """Who acts by this request, as the audit log tells it."""
    visit = known_visit(request)
    token = visit.by_token if visit is not None else None
    return Actor(name=person.name, address=address_of(request), token=token)
