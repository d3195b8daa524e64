"""The two steps of a sign-in, and what may happen between them, as plans.

Each plan begins by locking the door of the name that was typed, so that steps of one name come one after another: no
two tries are counted as one, and no two codes are mailed where one is allowed. A step that fails writes as much for a
name that nobody has as for any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from postroom.accounts import rules
from postroom.accounts.accounts import find_person, instant
from postroom.accounts.audit import write_audit
from postroom.accounts.chance import digest, keyed, same
from postroom.accounts.rules import Door, after_failure, wait_for_code
from postroom.accounts.sessions import begin_session, end_session
from postroom.accounts.values import Person, Session, Stage
from postroom.store.contract import moment
from postroom.store.enqueue import enqueue
from postroom.store.ids import new_id
from postroom.store.order import Order
from postroom.store.plan import Plan, Row, ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A code on its way: what is kept of it, and the email that carries it."""

    code: str
    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Not let in. Why is told to nobody; `locked_out` is for the notice to the person whose name it is."""

    locked_out: Person | None = None
    """The person whose door this very failure locked."""
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """The password was right."""

    wait: timedelta
    """Until a code may be mailed; nothing when it was mailed now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCode:
    """Not this code; the sign-in goes on."""

    tries_left: int
    """Of the code that was mailed last; at 0 another one is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """Signed in."""

    person: Person


def first_step(
    name: str, *, kept: str | None, right: bool, token: str, post: Post | None, key: bytes, address: str
) -> Plan[Half | Refused]:
    """After a password was checked against the kept hash: a half session under the token, and a code by email.

    The kept hash is compared with the present one: a password that was changed in between counts as wrong.
    """
    door, now = yield from _lock(name, key)
    account = yield from find_person(name)
    if door.locked(now) or not right or account is None or account.password != kept:
        return (
            yield from _refuse(name, door, now, account.person if account else None, key, "password_wrong", address)
        )
    yield from begin_session(account.person, token, stage=Stage.HALF, life=rules.HALF_LIFE)
    wait = yield from _mail(account.person, token, post, now, key)
    yield from write_audit(name, "password_right", address=address)
    return Half(wait=wait)


def another_code(session: Session, token: str, post: Post, *, key: bytes, address: str) -> Plan[timedelta]:
    """Mail a new code, which ends the old one; how long until that is allowed, and nothing when it was done."""
    door, now = yield from _lock(session.person.name, key)
    if door.locked(now):
        assert door.locked_until is not None
        return door.locked_until - now
    wait = yield from _mail(session.person, token, post, now, key)
    if not wait:
        yield from write_audit(session.person.name, "code_resent", address=address)
    return wait


def second_step(
    half: Session, old_token: str, new_token: str, code: str, *, key: bytes, address: str
) -> Plan[Entered | WrongCode | Refused]:
    """After a code was typed: a full session under the new token, and the old token stands for nothing."""
    person = half.person
    door, now = yield from _lock(person.name, key)
    rows = yield ask("try_code", person=person.id, session=half.digest, tries=rules.CODE_TRIES)
    fitting = [row for row in rows if _fits(row, person, code, key)]
    left = max((rules.CODE_TRIES - tries for *_, tries in rows), default=0)
    # Asked again under the lock: a code typed twice at the same time is worth one sign-in.
    ended = not (yield ask("find_session", digest=half.digest))
    if door.locked(now) or ended or not fitting:
        refused = yield from _refuse(person.name, door, now, person, key, "code_wrong", address)
        return refused if refused.until or ended else WrongCode(tries_left=left)
    yield ask("end_codes", person=person.id)
    yield from end_session(old_token)
    yield from begin_session(person, new_token, stage=Stage.FULL, life=rules.SESSION_LIFE)
    yield from _keep(person.name, Door(), key)
    yield from write_audit(person.name, "sign_in", address=address, code="email" if fitting[0][1] else "host")
    return Entered(person=person)


def code_from_the_host(person: Person, code: str, *, key: bytes, by: str) -> Plan[None]:
    """A code that is good for any sign-in of the person, once; it also ends a lock-out. For when mail is down."""
    yield from _lock(person.name, key)
    yield from _put(person, None, code, key)
    yield from _keep(person.name, Door(), key)
    yield from write_audit(by, "code_from_host", person=person.name)


def door_name(name: str, key: bytes) -> str:
    """Under what a name is remembered: what people type at a door may be a password."""
    return keyed(key, "door", name)


def _lock(name: str, key: bytes) -> Plan[tuple[Door, datetime]]:
    [[failures, locks, failed_at, locked_until, now]] = yield ask("lock_door", name=door_name(name, key))
    door = Door(failures=failures, locks=locks, failed_at=moment(failed_at), locked_until=moment(locked_until))
    return door, instant(now)


def _keep(name: str, door: Door, key: bytes) -> Plan[None]:
    yield ask(
        "change_door",
        name=door_name(name, key),
        failures=door.failures,
        locks=door.locks,
        failed_at=door.failed_at,
        locked_until=door.locked_until,
    )


def _refuse(
    name: str, door: Door, now: datetime, person: Person | None, key: bytes, what: str, address: str
) -> Plan[Refused]:
    """Count the failure. While a door is locked nothing is counted, or it would never open again."""
    was_locked = door.locked(now)
    after = replace(door) if was_locked else after_failure(door, now)
    yield from _keep(name, after, key)
    locks_now = after.locked(now) and not was_locked
    if locks_now:
        yield ask("end_codes", person=person.id if person else "")
        yield ask("end_sessions", person=person.id if person else "", stage=Stage.HALF)
    # What somebody typed as a name may be their password: only names that exist are written down.
    actor = person.name if person else "?"
    yield from write_audit(actor, "locked_out" if locks_now else "locked" if was_locked else what, address=address)
    return Refused(locked_out=person if locks_now else None, until=after.locked_until if after.locked(now) else None)


def _mail(person: Person, token: str, post: Post | None, now: datetime, key: bytes) -> Plan[timedelta]:
    rows = yield ask("codes_sent", person=person.id)
    wait = wait_for_code([instant(at) for (at,) in rows], now)
    if post is not None and not wait:
        yield from _put(person, digest(token), post.code, key)
        yield from enqueue([post.order])
    return wait


def _put(person: Person, session: str | None, code: str, key: bytes) -> Plan[None]:
    yield ask(
        "put_code",
        id=str(new_id()),
        person=person.id,
        session=session,
        digest=_code_digest(key, person, session, code),
        seconds=int(rules.CODE_LIFE.total_seconds()),
    )


def _code_digest(key: bytes, person: Person, session: str | None, code: str) -> str:
    return keyed(key, "code", person.id, session or "", code)


def _fits(row: Row, person: Person, code: str, key: bytes) -> bool:
    _, session, kept, _ = row
    return same(kept, _code_digest(key, person, session, code))
