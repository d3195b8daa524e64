"""The second step's one field: an emailed code, one from the host, one of the authenticator, or a recovery code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from postroom.accounts import rules
from postroom.accounts.chance import keyed, same
from postroom.accounts.factors import use_authenticator, use_recovery_code
from postroom.accounts.guessing import Caller, count, wait_for
from postroom.accounts.recovery import looks_like_one
from postroom.accounts.values import Person
from postroom.store.plan import Plan, Row, ask

NOTHING = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The code was right, and is used up."""

    by: str
    """`email`, `host`, `authenticator` or `recovery code`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """It was not."""

    tries_left: int = 0
    """Of the code that was mailed last; at 0 another one is needed."""
    wait: timedelta = NOTHING
    """Until six digits are looked at again; a recovery code always is."""
    spent: bool = False
    """This failure was the last one for a while."""


def check_code(
    person: Person | None, typed: str, *, session: str, caller: Caller, known: bool, now: datetime
) -> Plan[Passed | Missed]:
    """What a code is worth. Without a person, whose password was wrong, the same is asked and nothing is counted.

    A recovery code cannot be guessed, and is looked at however much was guessed before. So is a code from the host,
    which has tries of its own: somebody printed it because of the guesses.
    """
    id = person.id if person else ""
    counted = caller.code_count(known=known) if person else caller.no_count
    if looks_like_one(typed) and (yield from use_recovery_code(id, typed, key=caller.key)):
        return Passed(by="recovery code")
    wait = yield from wait_for([counted], now)
    session, apart = ("", "") if wait else (session, caller.apart)
    rows = yield ask("try_code", person=id, session=session, apart=apart, tries=rules.CODE_TRIES)
    fitting = [row for row in rows if _fits(row, id, typed, caller.key)]
    if wait and not fitting:
        return Missed(wait=wait)
    if fitting:
        return Passed(by="host" if fitting[0][1] is None else "email")
    if (yield from use_authenticator(id, typed, now, key=caller.key)):
        return Passed(by="authenticator")
    spent = yield from count([counted], now)
    wait = yield from wait_for([counted], now)
    left = max((rules.CODE_TRIES - tries for *_, tries in rows), default=0)
    return Missed(tries_left=left, wait=wait, spent=spent)


def code_digest(key: bytes, person_id: str, session: str | None, code: str) -> str:
    """What is kept of an emailed code, or of one from the host."""
    return keyed(key, "code", person_id, session or "", code)


def _fits(row: Row, person_id: str, code: str, key: bytes) -> bool:
    _, session, kept, _ = row
    return same(kept, code_digest(key, person_id, session, code))
