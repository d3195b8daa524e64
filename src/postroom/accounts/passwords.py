"""Passwords: argon2id, in a thread, a few at a time.

A check takes 64 MiB and a tenth of a second on purpose; the semaphore keeps a crowd at the door from taking more
memory than the machine has. A name that nobody has is checked against a password that nobody has, so that it takes as
long as any other.
"""

from __future__ import annotations

import asyncio
import secrets
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from postroom.errors import ConfigurationError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 12
LONGEST = 1024
"""Characters; hashing more is work for nothing."""
AT_ONCE = 2


@lru_cache
def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher, Type
    except ImportError as error:
        raise ConfigurationError("passwords need argon2-cffi: install it with `pip install 'postroom[web]'`") from error
    return PasswordHasher(type=Type.ID)


def check_new(password: str) -> str:
    """The password, if it is good enough to be somebody's."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise ConfigurationError(f"a password has {SHORTEST} to {LONGEST} characters; several words make a good one")
    if len(set(password)) < 5:
        raise ConfigurationError("the password repeats a few characters only; several words make a good one")
    return password


def hash_password(password: str) -> str:
    """As it is kept: argon2id with its salt and cost."""
    return _hasher().hash(_composed(password))


@lru_cache
def nobodys() -> str:
    """The password of nobody, for names that nobody has."""
    return hash_password(secrets.token_urlsafe())


def is_right(kept: str | None, password: str) -> bool:
    """Whether it is the password that was kept; takes as long when none was."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        _hasher().verify(kept or nobodys(), _composed(password[:LONGEST]))
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None


def _composed(password: str) -> bytes:
    """Keyboards differ in how they spell é: as one character, or as a letter and an accent.

    Half a character, which only a hostile form can hold, is a wrong password like any other.
    """
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


class Checker:
    """Checks passwords off the event loop, a few at a time."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(AT_ONCE)

    async def warm_up(self) -> None:
        """Have nobody's password ready, so that the first unknown name does not take longer."""
        await asyncio.to_thread(nobodys)

    async def is_right(self, kept: str | None, password: str) -> bool:
        async with self._places:
            return await asyncio.to_thread(is_right, kept, password)
