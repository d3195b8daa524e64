"""What people change about their own way in. Each change asks for the password or a code again.

A session that somebody else got hold of is thus not enough to add an authenticator, take one away, or read codes off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from postroom.accounts.accounts import find_person
from postroom.accounts.audit import write_audit
from postroom.accounts.chance import typed_code
from postroom.accounts.door import DoorKeeper
from postroom.accounts.factors import (
    change_recovery_codes,
    confirm_authenticator,
    offer_authenticator,
    offered_secret,
    remove_factors,
    use_authenticator,
    use_recovery_code,
)
from postroom.accounts.guessing import Caller, count, hold, wait_for
from postroom.accounts.recovery import looks_like_one, new_codes
from postroom.accounts.totp import new_secret
from postroom.accounts.values import Person
from postroom.store.plan import Plan

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproved:
    """Neither the password nor a code; nothing was done."""

    wait: timedelta
    """Until it can be tried again; nothing when at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAccount:
    """One person's own account, from one place."""

    keeper: DoorKeeper
    person: Person
    address: str

    async def offer(self, proof: str) -> bytes | Unproved:
        """A secret for a new authenticator, which is in use once a code of it was typed."""
        secret = new_secret()

        def offered(key: bytes) -> Plan[bytes]:
            yield from offer_authenticator(self.person, secret, key=key)
            return secret

        return await self._proved(proof, offered)

    async def offered(self) -> bytes | None:
        """The secret that waits for a code."""
        return await self.keeper.ask(offered_secret(self.person, key=await self.keeper.key()))

    async def confirm(self, code: str) -> tuple[str, ...] | None:
        """Take the offered authenticator into use; recovery codes, to be shown once, or None for a wrong code."""
        codes, key = new_codes(), await self.keeper.key()

        def confirmed() -> Plan[bool]:
            done = yield from confirm_authenticator(self.person, typed_code(code), codes, key=key)
            if done:
                yield from write_audit(self.person.name, "authenticator_on", address=self.address)
            return done

        if not await self.keeper.do(confirmed()):
            return None
        await self._tell("authenticator_on")
        return codes

    async def turn_off(self, proof: str) -> bool | Unproved:
        """Neither authenticator nor recovery codes any more."""

        def off(key: bytes) -> Plan[bool]:
            done = yield from remove_factors(self.person)
            yield from write_audit(self.person.name, "authenticator_off", address=self.address)
            return done

        answer = await self._proved(proof, off)
        if not isinstance(answer, Unproved):
            await self._tell("authenticator_off")
        return answer

    async def renew_codes(self, proof: str) -> tuple[str, ...] | Unproved:
        """Other recovery codes, to be shown once; the old ones are good no more."""
        codes = new_codes()

        def renewed(key: bytes) -> Plan[tuple[str, ...]]:
            yield from change_recovery_codes(self.person, codes, key=key)
            yield from write_audit(self.person.name, "recovery_codes_made", address=self.address)
            return codes

        answer = await self._proved(proof, renewed)
        if not isinstance(answer, Unproved):
            await self._tell("recovery_codes_made")
        return answer

    async def _proved(self, proof: str, act: Callable[[bytes], Plan[T]]) -> T | Unproved:
        """Do it, in the transaction that takes the proof."""
        account = await self.keeper.ask(find_person(self.person.name))
        right = await self.keeper.check_password(account.password if account else None, proof)
        key = await self.keeper.key()
        caller = Caller(name=self.person.name, address=self.address, key=key)
        return await self.keeper.do(_after_proof(self.person, typed_code(proof), right, caller, act))

    async def _tell(self, change: str) -> None:
        await self.keeper.tell_of_change(self.person, change, address=self.address)


def _after_proof(
    person: Person, code: str, right: bool, caller: Caller, act: Callable[[bytes], Plan[T]]
) -> Plan[T | Unproved]:
    now = yield from hold(caller)
    if wait := (yield from wait_for([caller.proof_count], now)):
        return Unproved(wait=wait)
    if not right:
        right = looks_like_one(code) and (yield from use_recovery_code(person.id, code, key=caller.key))
    if not right:
        right = yield from use_authenticator(person.id, code, now, key=caller.key)
    if not right:
        yield from write_audit(person.name, "proof_wrong", address=caller.address)
        yield from count([caller.proof_count], now)
        return Unproved(wait=(yield from wait_for([caller.proof_count], now)))
    return (yield from act(caller.key))
