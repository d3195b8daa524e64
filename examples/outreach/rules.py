"""The rules of campaigns, held against what the mail server has taken; each check tells what breaks it.

They know the settings and the log, and nothing of the code that sent: windows are judged here by the wall clock alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise

from examples.outreach.log import Delivery
from postroom.campaigns import SendingSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What held while the log was written."""

    settings: SendingSettings
    delays: tuple[int, ...]
    """Days before each step."""
    stops: Mapping[str, datetime] = field(default_factory=dict)
    """Since when an address is to be left alone …"""
    held: Mapping[str, tuple[datetime, date]] = field(default_factory=dict)
    """… and since when until which day."""
    pauses: Sequence[tuple[datetime, datetime]] = ()
    quiet: bool = False
    """Nothing came between: then it is also known whose turn it was."""


def violations(log: Sequence[Delivery], facts: Facts) -> dict[str, list[str]]:
    """For each promise what breaks it; all of the lists are empty where the log obeys the rules.

    Of what did not happen, nothing is promised.
    """
    found = {
        "every mail left within a window, none at night, on a weekend or on a holiday (P1, P2, P3, P9)": windows,
        "no day took more than its quota and its place in the ramp-up allow (P4, P5)": quota,
        "mails kept their distance (P6)": gaps,
        "no step came before the one it follows, nor sooner than its delay (P7)": delays,
        "nobody got a step twice (P13)": twice,
        "follow-ups go on in their thread, from the same sender, each with a link to unsubscribe (P14)": threads,
    }
    if facts.quiet:
        found["due follow-ups went before new people, the longest wait first (P8)"] = turns
    if facts.pauses:
        found["nothing left while the campaign was paused (P11)"] = pauses
    if facts.stops or facts.held:
        found["nobody was mailed after their stop, nor while they were away (P12)"] = stops
    return {promise: list(check(log, facts)) for promise, check in found.items()}


def windows(log: Sequence[Delivery], facts: Facts) -> Iterator[str]:
    settings = facts.settings
    assert settings.start_hour < settings.end_hour, "a window over midnight belongs to another day than its end"
    for each in log:
        local = each.at.astimezone(settings.zone)
        if local.weekday() not in settings.weekdays or local.date() in settings.closed_dates:
            yield f"{each.to} on {local:%a %-d %b}, which is closed"
        elif not settings.start_hour <= local.hour < settings.end_hour:
            yield f"{each.to} at {local:%H:%M}"


def quota(log: Sequence[Delivery], facts: Facts) -> Iterator[str]:
    schedule = facts.settings.ramp_up.schedule if facts.settings.ramp_up else ()
    for place, (day, count) in enumerate(sorted(Counter(each.day for each in log).items())):
        allowed = min(facts.settings.daily_quota, *schedule[place : place + 1], facts.settings.daily_quota)
        if count > allowed:
            yield f"{count} on {day:%-d %b}, where {allowed} are allowed"


def gaps(log: Sequence[Delivery], facts: Facts) -> Iterator[str]:
    least = timedelta(seconds=facts.settings.gap_seconds[0])
    for earlier, later in pairwise(sorted(log, key=lambda each: each.at)):
        if later.at - earlier.at < least:
            yield f"{later.to} {(later.at - earlier.at).total_seconds():g} s after {earlier.to}"


def delays(log: Sequence[Delivery], facts: Facts) -> Iterator[str]:
    for mails in _threads(log).values():
        for place, each in enumerate(mails):
            if each.step != place + 1:
                yield f"{each.to} got step {each.step} as number {place + 1}"
            elif place and (each.day - mails[place - 1].day).days < facts.delays[place]:
                yield f"{each.to} got step {each.step} on {each.day:%-d %b}, too soon"


def turns(log: Sequence[Delivery], facts: Facts) -> Iterator[str]:
    """On each day those first whose step has been due; with nothing between, that is exact."""
    sent_on = {(each.to, each.step): each.day for each in log}
    for earlier, later in pairwise(sorted(log, key=lambda each: each.at)):
        if earlier.day == later.day and _due(earlier, sent_on, facts) > _due(later, sent_on, facts):
            yield f"{later.to} had to wait for {earlier.to} on {later.day:%-d %b}"


def _due(each: Delivery, sent_on: Mapping[tuple[str, int], date], facts: Facts) -> date:
    before = sent_on.get((each.to, each.step - 1))
    return date.max if before is None else before + timedelta(days=facts.delays[each.step - 1])


def pauses(log: Sequence[Delivery], facts: Facts) -> Iterator[str]:
    for begin, end in facts.pauses:
        yield from (f"{each.to} at {each.at:%-d %b %H:%M} UTC" for each in log if begin <= each.at < end)


def stops(log: Sequence[Delivery], facts: Facts) -> Iterator[str]:
    for each in log:
        if each.to in facts.stops and each.at > facts.stops[each.to]:
            yield f"{each.to} on {each.day:%-d %b}"
        since, until = facts.held.get(each.to, (each.at, each.day))
        if since < each.at and each.day < until:
            yield f"{each.to} on {each.day:%-d %b}, away until {until:%-d %b}"


def twice(log: Sequence[Delivery], facts: Facts) -> Iterator[str]:
    for (to, step), count in Counter((each.to, each.step) for each in log).items():
        if count > 1:
            yield f"{to} got step {step} {count} times"
    for message_id, count in Counter(each.message_id for each in log).items():
        if count > 1:
            yield f"{message_id} arrived {count} times"


def threads(log: Sequence[Delivery], facts: Facts) -> Iterator[str]:
    for mails in _threads(log).values():
        for before, each in pairwise(mails):
            if each.answers != before.message_id or each.subject != f"Re: {mails[0].subject}":
                yield f"step {each.step} to {each.to} has lost its thread"
            if each.sender != mails[0].sender:
                yield f"step {each.step} to {each.to} is from somebody else"
    yield from (f"step {each.step} to {each.to} has no link to unsubscribe" for each in log if not each.unsubscribe)


def _threads(log: Sequence[Delivery]) -> dict[str, list[Delivery]]:
    """What each person got, in order."""
    found: dict[str, list[Delivery]] = defaultdict(list)
    for each in sorted(log, key=lambda each: each.at):
        found[each.to].append(each)
    return found
