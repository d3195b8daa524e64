"""Budgets as plans: what is counted against what, and from where people have come before.

A plan that counts holds the name and the address first, so that no two failures of the same name or the same address
are counted as one. Both are held in one order everywhere, so that no two plans wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from postroom.accounts import rules
from postroom.accounts.accounts import instant
from postroom.accounts.chance import keyed
from postroom.accounts.neighbourhood import address_digest, block_of
from postroom.accounts.rules import Budget
from postroom.store.plan import Plan, ask

SWEPT = 50
"""Budgets that are whole again go, so many with each failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A budget and what it is of, under a keyed hash: what people type as a name may be a password."""

    of: str
    budget: Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody at the door: under which name, from where."""

    name: str
    address: str
    key: bytes

    def password_counts(self, *, known: bool) -> tuple[Count, ...]:
        """What a wrong password is counted against; the name as a whole only from an address that is not known."""
        of_name = () if known else (self._count("name", rules.OF_NAME, self.name),)
        return (
            *of_name,
            self._count("pair", rules.OF_PAIR, self.name, self._block),
            self._count("address", rules.OF_ADDRESS, self._block),
        )

    def code_count(self, *, known: bool) -> Count:
        """What a wrong code is counted against."""
        return self._count("codes", rules.OF_CODES, self.name, self._block if known else "elsewhere")

    @property
    def no_count(self) -> Count:
        """A budget that nothing depends on, for the same work where nothing is to be counted."""
        return self._count("nothing", rules.OF_CODES, self.name)

    @property
    def proof_count(self) -> Count:
        return self._count("proofs", rules.OF_PROOFS, self.name)

    def notice_count(self, what: str) -> Count:
        """What an email to the owner about this is counted against."""
        return self._count("notices", rules.OF_NOTICES, self.name, what)

    @property
    def held(self) -> list[str]:
        """What is held while something is counted, in the order of everybody."""
        return sorted([self._count("name", rules.OF_NAME, self.name).of, keyed(self.key, "address", self._block)])

    @property
    def apart(self) -> str:
        """What a code is for that is typed together with the password, there and nowhere else."""
        return keyed(self.key, "apart", self.name, self._block)

    @property
    def _block(self) -> str:
        return block_of(self.address)

    def _count(self, what: str, budget: Budget, *of: str) -> Count:
        return Count(of=keyed(self.key, what, *of), budget=budget)


def hold(caller: Caller) -> Plan[datetime]:
    """One step at a time for this name and this address; the time by the database's clock."""
    for name in caller.held:
        yield ask("hold", name=name)
    [[now]] = yield ask("clock")
    return instant(now)


def wait_for(counts: Sequence[Count], now: datetime) -> Plan[timedelta]:
    """How long until all of them have room; nothing when they do."""
    spent = yield from _spent(counts)
    return max(count.budget.wait(spent.get(count.of), now) for count in counts)


def count(counts: Sequence[Count], now: datetime) -> Plan[bool]:
    """One more failure; whether that spent one of them. Where there is no room, nothing is counted."""
    before = yield from _spent(counts)
    after = {each.of: each.budget.spend(before.get(each.of), now) for each in counts}
    yield ask("keep_budgets", budgets=[{"name": name, "spent_until": until} for name, until in after.items()])
    yield ask("sweep_budgets", limit=SWEPT)
    return any(each.budget.wait(after[each.of], now) for each in counts)


def restore(*counts: Count) -> Plan[None]:
    """They are whole again."""
    yield ask("restore_budgets", names=[each.of for each in counts])


def is_known(person_id: str, caller: Caller) -> Plan[bool]:
    """Whether the person has signed in from there; asked alike for a name that nobody has."""
    [[found]] = yield ask(
        "knows_address",
        person=person_id,
        digest=address_digest(caller.key, person_id, caller.address),
        seconds=int(rules.KNOWN_LIFE.total_seconds()),
    )
    return bool(found)


def remember(person_id: str, caller: Caller) -> Plan[None]:
    """The person has signed in from there."""
    yield ask(
        "remember_address",
        person=person_id,
        digest=address_digest(caller.key, person_id, caller.address),
        seconds=int(rules.KNOWN_LIFE.total_seconds()),
        most=rules.KNOWN_ADDRESSES,
    )


def _spent(counts: Sequence[Count]) -> Plan[dict[str, datetime]]:
    rows = yield ask("budgets", names=[each.of for each in counts])
    return {name: instant(until) for name, until in rows}
