"""Passwords: argon2id, and as slow for an address that nobody has as for any other."""

from __future__ import annotations

import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

SHORTEST, LONGEST = 12, 200

_hasher = PasswordHasher()


def is_good(password: str) -> bool:
    """Long enough; several words are easy to remember."""
    return SHORTEST <= len(password) <= LONGEST


def hashed(password: str) -> str:
    """As it is kept."""
    return _hasher.hash(password)


def is_right(password: str, kept: str | None) -> bool:
    """Whether it is the password that was kept; takes as long when none was."""
    try:
        _hasher.verify(kept or _nobodys(), password[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return bool(kept)


@cache
def _nobodys() -> str:
    return hashed(secrets.token_urlsafe())
