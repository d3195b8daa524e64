"""The two steps of a sign-in, and what may happen between them, as plans.

Each plan begins by holding the name that was typed and the address it came from, so that their steps come one after
another: no two failures are counted as one, and no two codes are mailed where one is allowed. A step that fails asks
the database the same for a name that nobody has as for any other.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from postroom.accounts import rules
from postroom.accounts.accounts import find_person, instant
from postroom.accounts.answers import Alarm, Entered, Half, Knock, Posting, Refused, Withheld, WrongCode
from postroom.accounts.audit import write_audit
from postroom.accounts.chance import digest
from postroom.accounts.factors import factors_of
from postroom.accounts.guessing import Caller, Count, count, hold, is_known, remember, restore, wait_for
from postroom.accounts.rules import wait_for_code
from postroom.accounts.second import Missed, check_code, code_digest
from postroom.accounts.sessions import begin_session, end_session
from postroom.accounts.values import Person, Session, Stage
from postroom.store.enqueue import enqueue
from postroom.store.ids import new_id
from postroom.store.plan import Plan, ask


def first_step(knock: Knock, posting: Posting) -> Plan[Half | Refused | Withheld | Entered]:
    """After a password was checked against the kept hash: a half session under the token, and a code by email.

    The kept hash is compared with the present one: a password that was changed in between counts as wrong.
    """
    caller = knock.caller
    now = yield from hold(caller)
    account = yield from find_person(caller.name)
    owner = account.person if account else None
    known = yield from is_known(owner.id if owner else "", caller)
    person = owner if account and knock.right and account.password == knock.kept else None
    counts = caller.password_counts(known=known)
    wait = yield from wait_for(counts, now)
    missed = None
    if knock.code:
        answer = yield from check_code(person, knock.code, session=caller.apart, caller=caller, known=known, now=now)
        if person and not isinstance(answer, Missed):
            return (yield from _let_in(person, knock.token, caller, by=answer.by))
        missed = answer if isinstance(answer, Missed) else None
    if wait:
        return (yield from _withhold(knock, person, missed, wait))
    if person is None:
        return (yield from _refuse(caller, owner, counts, now))
    alarm = (yield from _wrong_code(person, missed, caller, now)).alarm if missed else None
    yield from begin_session(person, knock.token, stage=Stage.HALF, life=rules.HALF_LIFE)
    yield from write_audit(caller.name, "password_right", address=caller.address)
    if not knock.mail and (yield from factors_of(person.id)).authenticator:
        return Half(alarm=alarm)
    pause = yield from _mail(person, digest(knock.token), posting, now, caller.key)
    return Half(mailed=not pause, wait=pause, alarm=alarm)


def after_withheld(withheld: Withheld, posting: Posting, *, caller: Caller) -> Plan[Alarm | None]:
    """What a right password leads to whose verdict was withheld, once the answer has left.

    A code is mailed, to be typed together with the password, from there; a wrong code is on record.
    """
    person = withheld.owner
    if person is None:
        return None
    now = yield from hold(caller)
    if withheld.missed is not None:
        return (yield from _wrong_code(person, withheld.missed, caller, now)).alarm
    yield from write_audit(person.name, "password_right", address=caller.address, withheld=True)
    if withheld.mail:
        yield from _mail(person, caller.apart, posting, now, caller.key)
    return None


def another_code(session: Session, token: str, posting: Posting, *, caller: Caller) -> Plan[timedelta]:
    """Mail a new code, which ends the old one; how long until that is allowed, and nothing when it was done."""
    now = yield from hold(caller)
    wait = yield from _mail(session.person, digest(token), posting, now, caller.key)
    if not wait:
        yield from write_audit(session.person.name, "code_mailed", address=caller.address)
    return wait


def second_step(
    half: Session, old_token: str, new_token: str, code: str, *, caller: Caller
) -> Plan[Entered | WrongCode | Refused]:
    """After a code was typed: a full session under the new token, and the old token stands for nothing."""
    person = half.person
    now = yield from hold(caller)
    # Asked again under the lock: a code typed twice at the same time is worth one sign-in.
    if not (yield ask("find_session", digest=half.digest)):
        return Refused()
    known = yield from is_known(person.id, caller)
    answer = yield from check_code(person, code, session=half.digest, caller=caller, known=known, now=now)
    if isinstance(answer, Missed):
        return (yield from _wrong_code(person, answer, caller, now))
    yield from end_session(old_token)
    return (yield from _let_in(person, new_token, caller, by=answer.by))


def code_from_the_host(person: Person, code: str, *, key: bytes, by: str) -> Plan[None]:
    """A code that is good for any sign-in of the person, once; what was guessed before does not count any more."""
    caller = Caller(name=person.name, address="", key=key)
    yield from hold(caller)
    yield from _put(person, None, code, key)
    yield from restore(*caller.password_counts(known=False)[:1], caller.code_count(known=False))
    yield from write_audit(by, "code_from_host", person=person.name)


def _withhold(knock: Knock, person: Person | None, missed: Missed | None, wait: timedelta) -> Plan[Withheld]:
    factors = yield from factors_of(person.id if person else "")
    return Withheld(wait=wait, owner=person, mail=knock.mail or not factors.authenticator, missed=missed)


def _refuse(caller: Caller, owner: Person | None, counts: tuple[Count, ...], now: datetime) -> Plan[Refused]:
    spent = yield from count(counts, now)
    # What somebody typed as a name may be their password: only names that exist are written down.
    actor = owner.name if owner else "?"
    yield from write_audit(actor, "password_wrong", address=caller.address)
    if not spent:
        return Refused()
    yield from write_audit(actor, "passwords_withheld", address=caller.address)
    return Refused(alarm=(yield from _warn(owner, "passwords", caller, now)))


def _wrong_code(person: Person, missed: Missed, caller: Caller, now: datetime) -> Plan[WrongCode]:
    if missed.spent or not missed.wait:  # what was not looked at is not written down: there is no end to it
        yield from write_audit(person.name, "code_wrong", address=caller.address)
    alarm = (yield from _warn(person, "codes", caller, now)) if missed.spent else None
    return WrongCode(tries_left=missed.tries_left, wait=missed.wait, alarm=alarm)


def _warn(owner: Person | None, about: str, caller: Caller, now: datetime) -> Plan[Alarm | None]:
    """Whether the owner is to be told, who is told of the same once a day."""
    noticed = caller.notice_count(about)
    if (yield from wait_for([noticed], now)):
        return None
    yield from count([noticed], now)
    return Alarm(person=owner, about=about) if owner else None


def _let_in(person: Person, token: str, caller: Caller, *, by: str) -> Plan[Entered]:
    """A full session. What was mistyped from there is forgotten; what others guessed elsewhere is not."""
    yield ask("end_codes", person=person.id)
    yield from begin_session(person, token, stage=Stage.FULL, life=rules.SESSION_LIFE)
    yield from remember(person.id, caller)
    yield from restore(*caller.password_counts(known=True)[:1], caller.code_count(known=True))
    yield from write_audit(person.name, "sign_in", address=caller.address, by=by)
    return Entered(person=person, by=by)


def _mail(person: Person, session: str, posting: Posting, now: datetime, key: bytes) -> Plan[timedelta]:
    rows = yield ask("codes_sent", person=person.id)
    wait = wait_for_code([instant(at) for (at,) in rows], now)
    if not wait:
        post = posting(person)
        yield from _put(person, session, post.code, key)
        yield from enqueue([post.order])
    return wait


def _put(person: Person, session: str | None, code: str, key: bytes) -> Plan[None]:
    yield ask(
        "put_code",
        id=str(new_id()),
        person=person.id,
        session=session,
        digest=code_digest(key, person.id, session, code),
        seconds=int(rules.CODE_LIFE.total_seconds()),
    )
