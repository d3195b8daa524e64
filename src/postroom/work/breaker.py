"""A circuit breaker per transport: an outage, a quota or a wrong password stops the transport, not the emails.

    ok ──▶ throttled   the server wants less: nothing is sent until `next_probe_at`, then sending goes on by itself
    ok ──▶ open        an outage: a few failures in quick succession; probed after 1 s, 2 s, 4 s … 60 s
    ok ──▶ paused      login, certificate, settings, account: probed after 30 s, 1 m, 2 m … 10 m, or resumed by a person

A breaker is a value. What an attempt said about the transport (`TransportVerdict`) gives the next one, so that a store
can keep it in a row and every worker sees the same. Answers still under way when it tripped change nothing: only a
probe, or a person, lifts a pause. Failures far apart are not an outage: a lone email keeps to its own policy, and its
attempts are its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from postroom.settle.verdict import Health, TransportVerdict

JITTER = 0.25
"""The largest share of a backoff that chance may add, so that workers do not knock in step."""


class BreakerState(StrEnum):
    """As `postroom stats` shows it."""

    OK = "ok"
    THROTTLED = "throttled"
    OPEN = "open"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Waits that double from `first` to `longest`."""

    first: timedelta
    longest: timedelta

    def wait(self, step: int, jitter: float) -> timedelta:
        doubled = self.first * float(2 ** min(step, 20))
        return min(doubled, self.longest) * (1 + JITTER * jitter)


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerLimits:
    """When a breaker trips, and how soon it looks again."""

    failures: int = 3
    """So many in succession open it …"""
    window: timedelta = timedelta(seconds=20)
    """… each within this time of the one before."""
    outage: Backoff = Backoff(first=timedelta(seconds=1), longest=timedelta(seconds=60))
    pause: Backoff = Backoff(first=timedelta(seconds=30), longest=timedelta(minutes=10))
    throttle: Backoff = Backoff(first=timedelta(seconds=5), longest=timedelta(minutes=15))
    """Where the reply names no time."""

    def backoff(self, state: BreakerState) -> Backoff:
        known = {BreakerState.PAUSED: self.pause, BreakerState.THROTTLED: self.throttle}
        return known.get(state, self.outage)


DEFAULT_LIMITS = BreakerLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """How one transport is doing."""

    state: BreakerState = BreakerState.OK
    reason: str = ""
    """Why it is not ok; without addresses."""
    since: datetime | None = None
    """When it left `ok`."""
    next_probe_at: datetime | None = None
    """When it is looked at again; None while it is ok, or when a person has paused it."""
    step: int = 0
    """How often in succession it was found unwell."""
    failures: int = 0
    """Failures in succession while it is ok."""
    failed_at: datetime | None = None
    """The last of them."""

    def may_send(self, now: datetime) -> bool:
        """Emails may be claimed for this transport. While it is open or paused, only a probe may go."""
        return self.state is BreakerState.OK or (self.state is BreakerState.THROTTLED and self._over(now))

    @property
    def in_trouble(self) -> bool:
        """Nothing can be sent for now, and no person wanted that: an outage, or a pause that a probe may lift.

        A server that wants less is not in trouble: what it was to get is not given to another one instead.
        """
        return self.state is BreakerState.OPEN or (self.state is BreakerState.PAUSED and not self._held_by_person())

    def should_probe(self, now: datetime) -> bool:
        """It is time to look whether it is well again."""
        return self.state in {BreakerState.OPEN, BreakerState.PAUSED} and self._over(now)

    def probing(self, now: datetime, jitter: float, limits: BreakerLimits = DEFAULT_LIMITS) -> Breaker:
        """One worker has taken the probe upon itself; should it die, another may after the same wait."""
        wait = limits.backoff(self.state).wait(self.step, jitter)
        return replace(self, next_probe_at=now + wait)

    def after(
        self,
        verdict: TransportVerdict | None,
        now: datetime,
        jitter: float,
        *,
        probe: bool = False,
        limits: BreakerLimits = DEFAULT_LIMITS,
    ) -> Breaker:
        """The breaker after an attempt, or after a probe, which always decides."""
        if verdict is None:
            return self
        match verdict.health:
            case Health.OK:
                return self._after_success(now, probe)
            case Health.SUSPECT:
                return self._after_failure(verdict, now, jitter, probe, limits)
            case Health.THROTTLE:
                return self._after_throttle(verdict, now, jitter, probe, limits)
            case Health.PAUSE:
                return self._tripped(BreakerState.PAUSED, verdict, now, jitter, probe, limits)

    def paused_by_person(self, reason: str, now: datetime) -> Breaker:
        """Stopped until a person resumes it: no probe, and no answer under way, lifts it."""
        return Breaker(state=BreakerState.PAUSED, reason=reason, since=now)

    def resumed(self) -> Breaker:
        """A person says that all is well; the next attempt will show."""
        return Breaker()

    def _over(self, now: datetime) -> bool:
        return self.next_probe_at is not None and now >= self.next_probe_at

    def _after_success(self, now: datetime, probe: bool) -> Breaker:
        under_way = {
            BreakerState.OK: False,
            BreakerState.OPEN: False,  # whoever gets through shows that the outage is over
            BreakerState.THROTTLED: not self._over(now),
            BreakerState.PAUSED: True,  # an older connection may still work while nobody can sign in anew
        }[self.state]
        if self == WELL or self._held_by_person() or (under_way and not probe):
            return self
        return WELL

    def _after_failure(
        self, verdict: TransportVerdict, now: datetime, jitter: float, probe: bool, limits: BreakerLimits
    ) -> Breaker:
        if not self.may_send(now):
            return self._tripped(self.state, verdict, now, jitter, probe, limits)
        recent = self.failed_at is not None and now - self.failed_at <= limits.window
        counted = replace(self, failures=self.failures + 1 if recent else 1, failed_at=now)
        if counted.failures < limits.failures:
            return counted
        return self._tripped(BreakerState.OPEN, verdict, now, jitter, probe, limits)

    def _after_throttle(
        self, verdict: TransportVerdict, now: datetime, jitter: float, probe: bool, limits: BreakerLimits
    ) -> Breaker:
        if self.state is BreakerState.PAUSED and not probe:
            return self
        tripped = self._tripped(BreakerState.THROTTLED, verdict, now, jitter, probe, limits)
        if verdict.wait is None or tripped.next_probe_at is None:
            return tripped
        asked = now + verdict.wait * (1 + JITTER * jitter)
        still = self.next_probe_at if self.state is BreakerState.THROTTLED and self.next_probe_at else now
        return replace(tripped, next_probe_at=max(asked, still))

    def _tripped(
        self,
        state: BreakerState,
        verdict: TransportVerdict,
        now: datetime,
        jitter: float,
        probe: bool,
        limits: BreakerLimits,
    ) -> Breaker:
        """Trip, or stay tripped: each time it is found unwell again after its wait, the next wait is longer."""
        if self._held_by_person():
            return self
        again = self.state is state
        if again and not probe and not self._over(now):
            return self
        step = self.step + 1 if again else 0
        return Breaker(
            state=state,
            reason=verdict.reason,
            since=self.since or now,
            next_probe_at=now + limits.backoff(state).wait(step, jitter),
            step=step,
        )

    def _held_by_person(self) -> bool:
        return self.state is BreakerState.PAUSED and self.next_probe_at is None


WELL = Breaker()
