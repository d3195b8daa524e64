"""The rules of campaigns, held against the log of a mail server; each tells what breaks it.

They share no code with what sends: a window is what the clock on the wall shows, an allowance is counted from the log.
What a rule is held against is what was in force at that moment, however often people have changed their minds. The
example of an outreach team judges its log too, of one campaign under settings that stay, so that its readers can follow
each rule at a glance; here histories are judged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise

from postroom.campaigns import SendingSettings
from tests.campaigns.sending.weeks.log import Arrival, Present, Turn

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A log, and what has to be known of the campaigns."""

    arrivals: Sequence[Arrival]
    """In the order of their dots."""
    turns: Sequence[Turn]
    """In their order."""
    enrolled: Mapping[str, Sequence[str]]
    """The addresses of each campaign in the order of their enrolment; campaigns in the order of their launch."""
    delays: tuple[int, ...]
    """Days before each step."""
    calm: SendingSettings
    """What holds in the end …"""
    calm_from: datetime
    """… since when nothing disturbs anybody."""
    unheard: frozenset[str] = field(default_factory=frozenset)
    """Message-IDs that the server took, and may have been kept from saying so."""
    unreached: Sequence[tuple[datetime, datetime]] = ()
    """From when until when the server may not have seen who spoke to it."""


def violations(seen: Seen) -> list[str]:
    """All that breaks a rule."""
    rules: tuple[tuple[str, Callable[[Seen], Iterator[str]]], ...] = (
        ("P1, P2, P3, P9: outside its window", windows),
        ("P4: over the quota", quotas),
        ("P5: over the ramp-up", ramps),
        ("P6: too close", gaps),
        ("P7: too soon", delays),
        ("P8: out of turn", turns),
        ("P8: an allowance was left unused", unused),
        ("P11: although the campaign was paused", pauses),
        ("P12: although somebody had stopped it", stops),
        ("P13: twice", twice),
        ("P14: without its thread", threads),
    )
    return [f"{rule}: {broken}" for rule, judge in rules for broken in judge(seen)]


def window_day(settings: SendingSettings, at: datetime) -> date | None:
    """The day to whose window an instant belongs, by the clock on the wall alone; None where it is closed."""
    local = at.astimezone(settings.zone)
    start, end = settings.start_hour, settings.end_hour or 24
    over_midnight = end < start
    day = local.date() - ONE_DAY if over_midnight and local.hour < end else local.date()
    shut = not start <= local.hour < end if not over_midnight else end <= local.hour < start
    closed = {local.date(), day} & set(settings.holidays)
    return None if shut or closed or day.weekday() not in settings.weekdays else day


def day_of(arrival: Arrival) -> date:
    """The window day of a mail, by the settings under which it left."""
    return window_day(arrival.present.settings, arrival.at) or arrival.at.date()


def windows(seen: Seen) -> Iterator[str]:
    """Every mail within a window that the settings in force then open, and on no holiday of theirs."""
    return (str(each) for each in seen.arrivals if window_day(each.present.settings, each.at) is None)


def quotas(seen: Seen) -> Iterator[str]:
    """The day has never taken more than the quotas, of the workspace and of the sender, that are in force at each dot.

    What was taken under a quota that was lowered afterwards stays: it is only that nothing more leaves on that day.
    """
    used: Counter[tuple[date, str]] = Counter()
    for each in seen.arrivals:
        day, own = day_of(each), each.present.quotas[each.sender]
        used.update([(day, ""), (day, each.sender)])
        if used[day, ""] > each.present.settings.daily_quota:
            yield f"{each}, number {used[day, '']} of {day}"
        if own is not None and used[day, each.sender] > own:
            yield f"{each}, number {used[day, each.sender]} of {day} from {each.sender}"


def ramps(seen: Seen) -> Iterator[str]:
    """The same of the ramp-up, of which an earlier day with mail is one step."""
    used: Counter[date] = Counter()
    for each in seen.arrivals:
        day = day_of(each)
        used[day] += 1
        allowed = _ramp(each.present.settings, sum(earlier < day for earlier in used))
        if allowed is not None and used[day] > allowed:
            yield f"{each}, number {used[day]} of {day}, where {allowed} are allowed"


def _ramp(settings: SendingSettings, days_before: int) -> int | None:
    schedule = settings.ramp_up.schedule if settings.ramp_up else ()
    return schedule[days_before] if days_before < len(schedule) else None


def gaps(seen: Seen) -> Iterator[str]:
    """Turns keep the gap, and no mail leaves so soon after the turn of a later one.

    The gap is drawn when a mail has its turn, and counts from there. So a server that is slow about one mail does not
    hold up the next; nor can anybody keep two from leaving at once that two slow conversations have kept until then.
    What is asked once more before the dot is that no later mail has had its turn within the gap.
    """
    for earlier, later in pairwise(seen.turns):
        least = min(_least_gap(earlier.present), _least_gap(later.present))
        if later.at - earlier.at < least:
            between = _seconds(earlier.at, later.at)
            yield f"{later.to} had its turn {between} after {earlier.to}, at {later.at:%a %-d %b %H:%M:%S}"
    for each in seen.arrivals:
        for turn in seen.turns:
            overtook = each.turn.place < turn.place < each.place
            if overtook and each.at - turn.at < _least_gap(each.present):
                yield f"{each}, {_seconds(turn.at, each.at)} after {turn.to} had its turn"


def _least_gap(present: Present) -> timedelta:
    return timedelta(seconds=present.settings.gap_seconds[0])


def _seconds(earlier: datetime, later: datetime) -> str:
    return f"{(later - earlier).total_seconds():g} s"


def delays(seen: Seen) -> Iterator[str]:
    """No step before the one it follows, nor sooner than its days after the day on which that one really left."""
    for mails in _of_each(seen).values():
        for place, each in enumerate(mails):
            if each.step != place + 1:
                yield f"{each}, as number {place + 1}"
            elif place and (day_of(each) - day_of(mails[place - 1])).days < seen.delays[place]:
                yield f"{each}, after {mails[place - 1]}"


def turns(seen: Seen) -> Iterator[str]:
    """Nobody new before a follow-up that is due, nor before whom was enrolled earlier, where one sender has both.

    Only what has not been tried yet is sure to be able to leave: who was refused for now waits for another attempt.
    """
    for each in seen.arrivals:
        if each.step == 1 and not _named_before(seen, each.to, each.turn.place):
            yield from (f"{waiting} had to wait for {each}" for waiting in _could_have_gone(seen, each))


def _could_have_gone(seen: Seen, new: Arrival) -> Iterator[str]:
    turn, present = new.turn, new.turn.present
    day = window_day(present.settings, turn.at) or turn.at.date()
    for campaign, addresses in seen.enrolled.items():
        if campaign in present.paused:
            continue
        for to in set(addresses) - present.stopped:
            last = _last_mail(seen, campaign, to, turn)
            if last is None or last.sender != new.sender or last.step == len(seen.delays):
                continue
            due = day_of(last) + ONE_DAY * seen.delays[last.step]
            tried = _named_before(seen, to, turn.place, since=last.turn.place) or any(
                since <= turn.at and until >= last.at for since, until in seen.unreached
            )
            if due <= day and last.message_id not in seen.unheard and not tried:
                yield f"step {last.step + 1} of {campaign} to {to}"


def _last_mail(seen: Seen, campaign: str, to: str, turn: Turn) -> Arrival | None:
    mails = _of_each(seen)[to, campaign]
    return next((each for each in reversed(mails) if each.place < turn.place and each.at < turn.at), None)


def _named_before(seen: Seen, to: str, place: int, *, since: int = 0) -> bool:
    return any(each.to in ("", to) and since < each.place < place for each in seen.turns)


def unused(seen: Seen) -> Iterator[str]:
    """While nothing disturbs, no window closes with an allowance left for a mail that could have left in it."""
    calm = [each for each in seen.arrivals if each.at >= seen.calm_from]
    for day in _calm_days(seen, calm):
        on_day = [each for each in calm if day_of(each) == day]
        for late in calm:
            if day_of(late) > day and _was_ready(seen, late, day) and _had_room(seen, late, day, on_day):
                yield f"{late} could have left on {day}"


def _calm_days(seen: Seen, calm: Sequence[Arrival]) -> Iterator[date]:
    """Those whose windows opened and closed while nothing disturbed, and behind which mail has left."""
    last = max(map(day_of, calm), default=date.min)
    settings = seen.calm
    day = seen.calm_from.date()
    while (day := day + ONE_DAY) < last:
        opened = datetime(day.year, day.month, day.day, settings.start_hour, tzinfo=settings.zone)
        if opened >= seen.calm_from and window_day(settings, opened) == day:
            yield day


def _was_ready(seen: Seen, late: Arrival, day: date) -> bool:
    """It waited for nothing when the window of this day opened."""
    before = [each for each in _of_each(seen)[late.to, late.campaign] if each.step == late.step - 1]
    return all(day_of(each) < day and day_of(each) + ONE_DAY * seen.delays[each.step] <= day for each in before)


def _had_room(seen: Seen, late: Arrival, day: date, on_day: Sequence[Arrival]) -> bool:
    ramp = _ramp(seen.calm, len({day_of(each) for each in seen.arrivals if day_of(each) < day}))
    allowed = seen.calm.daily_quota if ramp is None else min(ramp, seen.calm.daily_quota)
    own = late.present.quotas[late.sender]
    return len(on_day) < allowed and (own is None or sum(each.sender == late.sender for each in on_day) < own)


def pauses(seen: Seen) -> Iterator[str]:
    """Nothing of a campaign that is paused when its dot comes."""
    return (str(each) for each in seen.arrivals if each.campaign in each.present.paused)


def stops(seen: Seen) -> Iterator[str]:
    """Nobody whose stop is on record when the dot comes."""
    return (str(each) for each in seen.arrivals if each.to in each.present.stopped)


def twice(seen: Seen) -> Iterator[str]:
    """No step to anybody twice, whether or not the server could say that it had taken it."""
    for (to, campaign, step), count in Counter(each.key for each in seen.arrivals).items():
        if count > 1:
            yield f"{to} got step {step} of {campaign} {count} times"


def threads(seen: Seen) -> Iterator[str]:
    """Follow-ups go on from what has really arrived, from the same sender; each has a link to unsubscribe."""
    for mails in _of_each(seen).values():
        for before, each in pairwise(mails):
            if each.answers != before.message_id or each.sender != before.sender:
                yield f"{each}, after {before}"
    yield from (f"{each} has no link" for each in seen.arrivals if not each.unsubscribe)


def _of_each(seen: Seen) -> Mapping[tuple[str, str], list[Arrival]]:
    """What each address got of each campaign, in order."""
    found: dict[tuple[str, str], list[Arrival]] = defaultdict(list)
    for each in seen.arrivals:
        found[each.to, each.campaign].append(each)
    return found
