"""The outbox in plain Python: what every verb should come to, without a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from postroom import EmailId, Status
from postroom.store.acts import APPLIES_TO
from postroom.store.contract import Claim, Settlement
from postroom.store.dispatch import Named
from postroom.store.order import Order

WAITING = (Status.PENDING, Status.RETRYING, Status.IN_DOUBT)


@dataclass(slots=True, kw_only=True)
class Remembered:
    """One email."""

    id: EmailId
    due_at: datetime | None
    priority: int
    route: str
    status: Status = Status.PENDING
    attempts: int = 0
    token: int = 0
    leased_until: datetime | None = None
    finished_at: datetime | None = None
    doubts: int = 0
    version: int = 1


@dataclass(slots=True)
class Model:
    """All emails, all keys, and how many have gone."""

    emails: dict[EmailId, Remembered] = field(default_factory=dict)
    keys: dict[tuple[str, str], EmailId] = field(default_factory=dict)
    gone: Counter[str] = field(default_factory=Counter)
    dismissed: dict[EmailId, tuple[datetime, Remembered]] = field(default_factory=dict)
    """What can be reinstated, and since when it is out of sight."""
    enqueued: int = 0

    def enqueue(self, order: Order, now: datetime) -> EmailId:
        """The id of the email, or of the first under the same key."""
        if order.key is not None:
            first = self.keys.setdefault((order.workspace, order.key), order.id)
            if first != order.id:
                return first
        due_at = order.not_before or now
        self.emails[order.id] = Remembered(id=order.id, due_at=due_at, priority=order.priority, route=order.route)
        self.enqueued += 1
        return order.id

    def claim(
        self, count: int, now: datetime, lease: timedelta, *, route: str, onto: str | None = None
    ) -> list[EmailId]:
        due = [each for each in self._due(now) if each.route == route and not (onto and each.doubts)]
        for each in due[:count]:
            each.status, each.token, each.leased_until = Status.SENDING, each.token + 1, now + lease
            each.route = onto or route
        return [each.id for each in due[:count]]

    def reserve(self, count: int, now: datetime, lease: timedelta) -> list[EmailId]:
        """So many of each lane, for a scheduler; within a lane, routes take turns."""
        turns: Counter[tuple[int, str]] = Counter()
        in_turn = []
        for place, each in enumerate(self._due(now)):
            in_turn.append((turns[each.priority, each.route], place, each))
            turns[each.priority, each.route] += 1
        in_turn.sort(key=lambda turn: turn[:2])
        lanes = [[each for _, _, each in in_turn if each.priority == lane][:count] for lane in range(3)]
        given = [each for lane in lanes for each in lane]
        for each in given:
            each.status, each.token, each.leased_until = Status.QUEUED, each.token + 1, now + lease
        return sorted(each.id for each in given)

    def _due(self, now: datetime) -> list[Remembered]:
        """In the order of their turns."""
        due = [each for each in self.emails.values() if each.status in WAITING and each.due_at and each.due_at <= now]
        return sorted(due, key=_turn)

    def claim_queued(self, messages: Collection[Named], now: datetime, lease: timedelta) -> list[EmailId]:
        named = [self.emails[each.id] for each in set(messages) if self.queued_for(each)]
        named.sort(key=_turn)
        for each in named:
            each.status, each.token, each.leased_until = Status.SENDING, each.token + 1, now + lease
        return [each.id for each in named]

    def queued_for(self, message: Named) -> bool:
        """Whether a message is good."""
        email = self.emails.get(message.id)
        return bool(email and email.status is Status.QUEUED and email.attempts == message.attempt - 1)

    def unqueue(self, message: Named) -> None:
        if self.queued_for(message):
            self._come_back(self.emails[message.id])

    def requeue(self, limit: int, now: datetime) -> list[Named]:
        queued = [each for each in self.emails.values() if each.status is Status.QUEUED]
        lost = sorted(each.id for each in queued if each.leased_until and each.leased_until < now)[:limit]
        for id in lost:
            self._come_back(self.emails[id])
        return [Named(id, self.emails[id].attempts + 1) for id in lost]

    def give_up(self, claim: Claim, now: datetime) -> bool:
        email = self.owned(claim, Status.QUEUED)
        if email is not None:
            email.status, email.due_at, email.leased_until, email.finished_at = Status.DEAD, None, None, now
        return email is not None

    def take_over(self, limit: int, now: datetime, lease: timedelta) -> list[EmailId]:
        sending = [each for each in self.emails.values() if each.status is Status.SENDING]
        expired = sorted(each.id for each in sending if each.leased_until and each.leased_until < now)[:limit]
        for id in expired:
            self.emails[id].token += 1
            self.emails[id].leased_until = now + lease
        return expired

    def owned(self, claim: Claim, *statuses: Status) -> Remembered | None:
        """The email a claim still holds, to send it if nothing else is said."""
        email = self.emails.get(claim.id)
        held = email and email.status in (statuses or (Status.SENDING,)) and email.token == claim.token
        return email if held else None

    def renew(self, claim: Claim, now: datetime, lease: timedelta) -> bool:
        if email := self.owned(claim):
            email.leased_until = now + lease
        return email is not None

    def release(self, claim: Claim) -> bool:
        email = self.owned(claim, Status.QUEUED, Status.SENDING)
        if email is not None:
            self._come_back(email)
        return email is not None

    def defer(self, claim: Claim, until: datetime) -> bool:
        email = self.owned(claim, Status.QUEUED, Status.SENDING)
        if email is not None:
            self._come_back(email)
            email.due_at = until
        return email is not None

    def move_route(self, source: str, to: str, limit: int) -> int:
        waiting = [each for each in self.emails.values() if each.status in WAITING and each.due_at]
        moved = sorted([each for each in waiting if each.route == source != to], key=_turn)[:limit]
        for each in moved:
            each.route = to
        return len(moved)

    def _come_back(self, email: Remembered) -> None:
        """Due as before."""
        email.status = Status.RETRYING if email.attempts else Status.PENDING
        if email.doubts:
            email.status = Status.IN_DOUBT
        email.leased_until = None

    def settle(self, settlement: Settlement, now: datetime, *, keep_sent: bool) -> bool:
        email = self.owned(settlement.claim) or self._late(settlement)
        if email is None:
            return False
        email.status, email.attempts, email.due_at = settlement.status, settlement.attempts, settlement.due_at
        email.doubts, email.leased_until = settlement.doubts, None
        email.finished_at = now if settlement.status in (Status.SENT, Status.DEAD) else None
        if settlement.status is Status.SENT and not keep_sent:
            self._leave(email, "pruned")
        return True

    def _late(self, settlement: Settlement) -> Remembered | None:
        """A doubt ends when an owner before the last one knows that it sent the email."""
        email = self.emails.get(settlement.claim.id)
        late = email and email.status is Status.IN_DOUBT and email.token == settlement.claim.token + 1
        return email if late and settlement.status is Status.SENT else None

    def applies(self, act: str, id: EmailId) -> bool:
        return id in self.emails and self.emails[id].status in APPLIES_TO[act]

    def act(self, act: str, id: EmailId, now: datetime, *, corrected: bool = False) -> None:
        email = self.emails[id]
        if act == "dismiss":
            self.dismissed[id] = now, email
            return self._leave(email, "dismissed")
        email.token, email.leased_until = email.token + 1, None
        if act == "cancel":
            email.status, email.finished_at = Status.CANCELLED, now
            return None
        email.status, email.attempts, email.due_at, email.finished_at = Status.PENDING, 0, now, None
        email.version += corrected
        return None

    def reinstate(self, id: EmailId, since: datetime) -> bool:
        """Whether it was dismissed since then, and so is back; what was in doubt is held."""
        if id not in self.dismissed or self.dismissed[id][0] < since:
            return False
        _, email = self.dismissed.pop(id)
        if email.status is Status.IN_DOUBT:
            email.due_at = None
        self.emails[id] = email
        self.gone["dismissed"] -= 1
        return True

    def prune(self, statuses: list[Status], before: datetime) -> int:
        old = [each for each in self.emails.values() if each.finished_at and each.finished_at < before]
        leaving = [each for each in old if each.status in statuses]
        for each in leaving:
            self._leave(each, "pruned")
        return len(leaving)

    def counts(self) -> dict[str, int]:
        found = Counter(each.status for each in self.emails.values())
        return {str(status): found[status] for status in Status} | {
            name: self.gone[name] for name in ("dismissed", "moved", "moving", "pruned")
        }

    def _leave(self, email: Remembered, place: str) -> None:
        del self.emails[email.id]
        self.gone[place] += 1


def _turn(email: Remembered) -> tuple[object, ...]:
    return email.priority, email.due_at, email.id
