"""Passwords that take no time, for tests in which many are checked and none is about what a check costs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from argon2 import PasswordHasher, Type

from postroom.accounts import passwords


@cache
def quick_hasher() -> PasswordHasher:
    """Of the same kind, at the least cost there is."""
    return PasswordHasher(type=Type.ID, time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
def in_earnest() -> None:
    """Asked for by tests that are about the cost."""


@pytest.fixture(autouse=True)
def quick_passwords(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if "in_earnest" not in request.fixturenames:
        monkeypatch.setattr(passwords, "_hasher", quick_hasher)
    passwords.nobodys.cache_clear()
    yield
    passwords.nobodys.cache_clear()
