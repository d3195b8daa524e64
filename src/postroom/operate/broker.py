"""The broker as those who use it tell of it: schedulers and senders say with every heartbeat how it looks from there.

Nobody here talks to a broker. What is known is as old as the last sign of life, at most a few seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from postroom.operate.wording import clock_time, count_of
from postroom.store.heartbeats import WorkerSeen
from postroom.vocabulary import Status

SCHEDULER, SENDER = "scheduler", "sender"

_WAITING = (Status.PENDING, Status.QUEUED, Status.RETRYING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceView:
    """A scheduler or a sender, and how the broker looks from there."""

    seen: WorkerSeen
    alive: bool
    connected: bool
    """As it said last; not known of one that is silent."""
    away: bool = False
    """It has tried, and does not reach the broker; one that has just been started is neither."""

    @property
    def state(self) -> str:
        """In a word or two."""
        if not self.alive:
            return "silent"
        return "connected" if self.connected else "broker away" if self.away else "connecting"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerView:
    """The broker, and those who talk to it."""

    name: str
    """Host, port and virtual host; empty when nobody says."""
    services: tuple[ServiceView, ...]
    """Schedulers, then senders."""
    since: datetime | None = None
    """When it was reached, or lost."""
    reason: str = ""
    """Why it is away, from whoever cannot reach it."""
    blocked: str = ""
    """Why it takes no messages from schedulers, if it does not: short of memory, or of disk."""
    refused: str = ""
    """Which queues' messages it does not take from schedulers, and in which way, if there are such queues."""
    depths: Mapping[str, int] = field(default_factory=dict)
    """Messages that wait, by queue; empty while nobody can tell."""
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    """Likewise in the queue of what was given up or put aside, which nobody but a person empties."""

    @property
    def schedulers(self) -> int:
        """At work."""
        return self._alive(SCHEDULER)

    @property
    def senders(self) -> int:
        """At work."""
        return self._alive(SENDER)

    @property
    def at_work(self) -> int:
        """Both together."""
        return self.schedulers + self.senders

    @property
    def away(self) -> int:
        """How many of those at work do not reach it."""
        return sum(each.away for each in self.services)

    @property
    def connected(self) -> bool:
        """Somebody is at work, and everybody who is reaches it."""
        return bool(self.at_work) and all(each.connected for each in self.services if each.alive)

    @property
    def lost(self) -> bool:
        """Somebody is at work, and nobody reaches it."""
        return bool(self.away) and self.away == self.at_work

    @property
    def state(self) -> str:
        """In a word or two."""
        if not self.at_work:
            return "nobody at work"
        if self.away:
            return "away" if self.lost else "partly away"
        if self.blocked:
            return "blocked"
        if self.refused:
            return "refusing"
        return "connected" if self.connected else "connecting"

    @property
    def waiting(self) -> int:
        """Messages in the queues."""
        return sum(self.depths.values())

    def _alive(self, role: str) -> int:
        return sum(each.alive for each in self.services if each.seen.role == role)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What one heartbeat says of the broker."""

    name: str = ""
    connected: bool = False
    since: datetime | None = None
    reason: str = ""
    blocked: str = ""
    refused: str = ""
    depths: Mapping[str, int] | None = None
    dead: Mapping[str, int] = field(default_factory=dict)

    @property
    def away(self) -> bool:
        """There is always a reason for that."""
        return not self.connected and bool(self.reason)


def broker_view(workers: Sequence[tuple[WorkerSeen, bool]]) -> BrokerView | None:
    """Put together what schedulers and senders say; None where there are none. Given who was seen, and is alive.

    It is away since the first of them lost it, and there since the last of them reached it.
    """
    services = sorted(
        [(seen, alive, _told(seen.broker)) for seen, alive in workers if seen.role in (SCHEDULER, SENDER)],
        key=lambda each: (each[0].role, each[0].name),
    )
    if not services:
        return None
    latest = sorted(services, key=lambda each: each[0].seen_at, reverse=True)
    heard = [told for _, alive, told in latest if alive]
    away = [told for told in heard if told.away]
    times = [told.since for told in away or heard if told.since is not None]
    counted = next((told for told in heard if told.connected and told.depths is not None), _Told())
    return BrokerView(
        name=next((told.name for _, _, told in latest if told.name), ""),
        services=tuple(
            ServiceView(seen=seen, alive=alive, connected=alive and told.connected, away=alive and told.away)
            for seen, alive, told in services
        ),
        since=(min if away else max)(times, default=None),
        reason=next((told.reason for told in away if told.reason), ""),
        blocked=next((told.blocked for told in heard if told.blocked), ""),
        refused=next((told.refused for told in heard if told.refused), ""),
        depths=counted.depths or {},
        dead_letters=counted.dead,
    )


def state_of(broker: BrokerView, *, waiting: int, now: datetime) -> str:
    """The broker in a sentence; `waiting` emails are neither sent nor given up."""
    who = f"RabbitMQ {broker.name}".rstrip()
    since = f" since {clock_time(broker.since, now)}" if broker.since else ""
    why = f": {broker.reason}" if broker.reason else ""
    if not broker.at_work:
        return f"{who}: no scheduler and no sender has been heard of lately"
    if broker.lost:
        return f"{who} is away{since}{why} — {emails_wait(waiting)} in the database"
    if broker.away:
        return f"{who} is out of reach for {broker.away} of {broker.at_work} services{since}{why}"
    if broker.blocked:
        return f"{who} takes no messages: {broker.blocked} — {emails_wait(waiting)} in the database"
    if broker.refused:
        return f"{who} does not take messages for {broker.refused} — {emails_wait(waiting)} in the database"
    if not broker.connected:
        return f"{who} is being connected to"
    return f"{who} is connected · {_messages_wait(broker)}"


def hitch(broker: BrokerView, counts: Mapping[str, int], *, direct: bool, now: datetime) -> tuple[str, str] | None:
    """What holds emails up between database and sender, and its tone; None when nothing does.

    `direct` says that a plain worker is at work as well, so that no email depends on the broker.
    """
    waiting = waiting_in(counts)
    if broker.lost or broker.blocked or broker.refused:
        return state_of(broker, waiting=waiting, now=now), "trouble" if waiting and not direct else "attention"
    if broker.schedulers and not broker.senders and counts.get(Status.QUEUED) and not direct:
        return f"No sender is running — {emails_wait(waiting)}", "trouble"
    return (state_of(broker, waiting=waiting, now=now), "attention") if broker.away else None


def waiting_in(counts: Mapping[str, int]) -> int:
    """How many emails wait for an attempt."""
    return sum(counts.get(status, 0) for status in _WAITING)


def at_work(broker: BrokerView) -> str:
    """`2 schedulers and 3 senders are at work`."""
    people = [_so_many(broker.schedulers, SCHEDULER), _so_many(broker.senders, SENDER)]
    return f"{' and '.join(people)} {'is' if broker.at_work <= 1 else 'are'} at work"


def emails_wait(count: int) -> str:
    """`1 email waits`, `1,204 emails wait`."""
    return f"{count_of(count, 'email')} wait{'s' if count == 1 else ''}"


def _so_many(count: int, noun: str) -> str:
    return count_of(count, noun) if count else f"no {noun}"


def _messages_wait(broker: BrokerView) -> str:
    if not broker.depths and not broker.schedulers:
        return "no scheduler tells how many messages wait"
    count = broker.waiting
    return f"{count_of(count, 'message')} wait{'s' if count == 1 else ''}" if count else "no message waits"


def _told(text: str | None) -> _Told:
    """Read a heartbeat's words; what is not as it should be, from another version perhaps, is as good as unsaid."""
    try:
        words = json.loads(text or "{}")
        depths = words.get("depths")
        return _Told(
            name=str(words.get("name", "")).removesuffix("/"),
            connected=words.get("connected") is True,
            since=datetime.fromisoformat(words["since"]).astimezone(UTC) if words.get("since") else None,
            reason=str(words.get("reason", "")),
            blocked=str(words.get("blocked", "")),
            refused=str(words.get("refused", "")),
            depths=None if depths is None else _counts(depths),
            dead=_counts(words.get("dead") or {}),
        )
    except (ValueError, TypeError, AttributeError):
        return _Told()


def _counts(queues: Mapping[str, int]) -> dict[str, int]:
    return {str(name): int(count) for name, count in queues.items()}
