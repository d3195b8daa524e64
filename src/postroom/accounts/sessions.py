"""Sessions as plans. A session is known by the hash of a token that only the browser has."""

from __future__ import annotations

from datetime import timedelta

from postroom.accounts.accounts import instant, person
from postroom.accounts.chance import digest
from postroom.accounts.values import Person, Session, Stage
from postroom.store.plan import Plan, ask


def begin_session(who: Person, token: str, *, stage: Stage, life: timedelta) -> Plan[None]:
    """From now on, and for so long, the token stands for the person at this stage."""
    yield ask("begin_session", digest=digest(token), person=who.id, stage=stage, seconds=int(life.total_seconds()))


def find_session(token: str) -> Plan[Session | None]:
    """What a token stands for; nothing when it was never given, has ended, or its time is up."""
    rows = yield ask("find_session", digest=digest(token))
    if not rows:
        return None
    *who, stage, expires_at = rows[0]
    return Session(digest=digest(token), person=person(who), stage=Stage(stage), expires_at=instant(expires_at))


def end_session(token: str) -> Plan[bool]:
    """The token stands for nothing any more; whether it stood for something."""
    rows = yield ask("end_session", digest=digest(token))
    return bool(rows)
