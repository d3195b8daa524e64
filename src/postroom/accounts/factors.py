"""What lets a person in beside an emailed code, as plans: an authenticator, and recovery codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from postroom.accounts import rules, totp
from postroom.accounts.accounts import instant
from postroom.accounts.recovery import recovery_digest
from postroom.accounts.sealing import seal, unseal
from postroom.accounts.values import Person
from postroom.store.contract import moment
from postroom.store.plan import Plan, ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """What a person has beside the mail."""

    secret: str | None = field(default=None, repr=False)
    """Of the authenticator, sealed; None without one."""
    made_at: datetime | None = None
    confirmed_at: datetime | None = None
    """Since when it is in use; None while it is only offered."""
    last_step: int = 0
    recovery_codes: int = 0
    """Those that were not used yet."""

    @property
    def authenticator(self) -> bool:
        """Whether there is one in use."""
        return self.confirmed_at is not None

    @property
    def told(self) -> str:
        """`email`, or `authenticator, 9 recovery codes`; an emailed code works for everybody."""
        codes = f"{self.recovery_codes} recovery code{'' if self.recovery_codes == 1 else 's'}"
        return f"authenticator, {codes}" if self.authenticator else "email"


def factors_of(person_id: str) -> Plan[Factors]:
    [row] = yield ask("second_factors", person=person_id)
    return _factors(row)


def everybodys_factors() -> Plan[dict[str, Factors]]:
    """By the id of the person."""
    rows = yield ask("all_second_factors")
    return {id: _factors(columns) for id, *columns in rows}


def offer_authenticator(person: Person, secret: bytes, *, key: bytes) -> Plan[None]:
    """A secret for the person's authenticator, worth nothing until a code of it was typed."""
    yield ask("offer_authenticator", person=person.id, secret=seal(secret, key=key, owner=person.id))


def offered_secret(person: Person, *, key: bytes) -> Plan[bytes | None]:
    """The secret that waits to be confirmed; None when there is none, or its time is up."""
    factors = yield from factors_of(person.id)
    [[now]] = yield ask("clock")
    if factors.authenticator or factors.made_at is None or instant(now) - factors.made_at >= rules.OFFER_LIFE:
        return None
    return opened(factors, person.id, key=key)


def confirm_authenticator(person: Person, code: str, recovery_codes: Sequence[str], *, key: bytes) -> Plan[bool]:
    """Take the authenticator into use, with recovery codes, if the code is one of its codes; whether it was.

    The code is used up by that.
    """
    secret = yield from offered_secret(person, key=key)
    [[now]] = yield ask("clock")
    step = totp.fitting_step(secret, code, instant(now), after=0) if secret is not None else None
    if step is None or not (yield ask("confirm_authenticator", person=person.id, step=step)):
        return False
    yield from change_recovery_codes(person, recovery_codes, key=key)
    return True


def use_authenticator(person_id: str, code: str, now: datetime, *, key: bytes) -> Plan[bool]:
    """Whether it is a code of the person's authenticator that was not used before; it is from now on."""
    factors = yield from factors_of(person_id)
    secret = opened(factors, person_id, key=key) if factors.authenticator else None
    step = totp.fitting_step(secret, code, now, after=factors.last_step) if secret is not None else None
    return step is not None and bool((yield ask("use_step", person=person_id, step=step)))


def change_recovery_codes(person: Person, codes: Sequence[str], *, key: bytes) -> Plan[None]:
    """These instead of those there were."""
    digests = [recovery_digest(key, person.id, code) for code in codes]
    yield ask("change_recovery_codes", person=person.id, digests=digests)


def use_recovery_code(person_id: str, code: str, *, key: bytes) -> Plan[bool]:
    """Whether it is one of the person's; it is good no more from now on."""
    return bool((yield ask("use_recovery_code", person=person_id, digest=recovery_digest(key, person_id, code))))


def remove_factors(person: Person) -> Plan[bool]:
    """No authenticator and no recovery codes any more; whether there was an authenticator."""
    return bool((yield ask("remove_second_factors", person=person.id)))


def opened(factors: Factors, person_id: str, *, key: bytes) -> bytes | None:
    """The secret itself; None where it was sealed under another POSTROOM_SECRET."""
    return unseal(factors.secret, key=key, owner=person_id) if factors.secret is not None else None


def _factors(row: Sequence[Any]) -> Factors:
    secret, made_at, confirmed_at, last_step, codes = row
    return Factors(
        secret=secret,
        made_at=moment(made_at),
        confirmed_at=moment(confirmed_at),
        last_step=int(last_step or 0),
        recovery_codes=int(codes),
    )
