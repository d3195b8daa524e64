"""What somebody at the door brings along, and what they are answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from postroom.accounts.guessing import Caller
from postroom.accounts.second import NOTHING, Missed
from postroom.accounts.values import Person
from postroom.store.order import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A code on its way: what is kept of it, and the email that carries it."""

    code: str
    order: Order


Posting = Callable[[Person], Post]
"""Composes the email of a code; not called before it is known that one is to be mailed, for it takes time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knock:
    """Somebody at the door with a password that was checked, and perhaps with a code at once."""

    caller: Caller
    kept: str | None
    """The hash that it was checked against."""
    right: bool
    token: str = field(repr=False)
    """What the session will be known by."""
    code: str = field(default="", repr=False)
    mail: bool = False
    """A code by email was asked for; who has an authenticator is mailed none otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Somebody is to be told of guesses, by email, after the answer."""

    person: Person
    about: str
    """`passwords` or `codes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Not let in. Why is told to nobody."""

    alarm: Alarm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """Nobody is told whether the password was right: too many were wrong. Both at once would have let in."""

    wait: timedelta
    """Until a password is answered for again."""
    owner: Person | None = None
    """Whose password it was, for what is done after the answer, which must not take longer for a right one."""
    mail: bool = False
    """A code is to be mailed."""
    missed: Missed | None = None
    """What came of a code that was typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """The password was right."""

    mailed: bool = False
    wait: timedelta = NOTHING
    """Until a code may be mailed; nothing when it was mailed now, or not to be."""
    alarm: Alarm | None = None
    """A code that came with the password was wrong, as many before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCode:
    """Not this code; the sign-in goes on."""

    tries_left: int = 0
    """Of the code that was mailed last; at 0 another one is needed."""
    wait: timedelta = NOTHING
    """Until six digits are looked at again."""
    alarm: Alarm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """Signed in."""

    person: Person
    by: str = "email"
    """What the second step was."""
