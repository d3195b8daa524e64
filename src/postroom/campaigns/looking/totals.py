"""What became of a campaign, in numbers that add up.

    people  enrolled = launched + passed over, by reason, + not reached yet
    mails   of those who were launched = sent + waiting + stopped, by reason, + dead

And people and mails agree: nothing waits for anybody who has ended, and nobody waits for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from postroom.campaigns.books.mails import store_clock
from postroom.campaigns.drafts.campaigns import enrolments_after
from postroom.campaigns.stopping.suppressing import covering
from postroom.campaigns.values import Enrolment
from postroom.store.plan import Course, Plan, ask
from postroom.store.suppressions import suppressions_of
from postroom.vocabulary import EnrolmentStatus, MailState

GOING_ON = (EnrolmentStatus.ACTIVE, EnrolmentStatus.PAUSED)
"""Enrolments that are still to get something, once a launch has reached them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The mails of a launched campaign, by where they stand."""

    states: Mapping[str, int] = field(default_factory=dict)
    stopped: Mapping[str, int] = field(default_factory=dict)
    """Those that were stopped, by reason …"""
    dead: Mapping[str, int] = field(default_factory=dict)
    """… and those that were given up."""

    @property
    def mails(self) -> int:
        return sum(self.states.values())

    @property
    def waiting(self) -> int:
        """Still to leave, or leaving."""
        return sum(self.states.get(each, 0) for each in (MailState.WAITING, MailState.READY, MailState.LEAVING))


@dataclass(frozen=True, slots=True, kw_only=True)
class Headcount:
    """The people of a campaign, by what its launch has come to for them."""

    enrolled: int = 0
    """All of them."""
    launched: int = 0
    """Who have mail."""
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """Who have none, by reason."""
    not_reached: int = 0
    """To whom the launch has not come; of a draft, everybody."""

    @property
    def accounted_for(self) -> int:
        """Of whom it is known."""
        return self.launched + sum(self.passed_over.values()) + self.not_reached


@dataclass(frozen=True, slots=True, kw_only=True)
class Discrepancy:
    """Two numbers that ought to be the same, and are not."""

    what: str
    expected: int
    found: int

    def __str__(self) -> str:
        return f"{self.what}: {self.expected} expected, {self.found} found"


def totals_of(workspace: str, campaign_id: str) -> Plan[Totals]:
    """How many mails of a campaign stand where, and why; nothing where it was not launched."""
    rows = yield ask("campaign_totals", workspace=workspace, campaign=campaign_id)
    states: dict[str, int] = {}
    reasons: dict[str, dict[str, int]] = {MailState.STOPPED: {}, MailState.DEAD: {}}
    for state, reason, count in rows:
        states[state] = states.get(state, 0) + int(count)
        if state in reasons:
            word = (reason or state).partition(":")[0]
            reasons[state][word] = reasons[state].get(word, 0) + int(count)
    return Totals(states=states, stopped=reasons[MailState.STOPPED], dead=reasons[MailState.DEAD])


def headcount(workspace: str, campaign_id: str) -> Plan[Headcount]:
    """How many people of a campaign were launched, passed over and why, or not reached yet."""
    rows = yield ask("headcount", workspace=workspace, campaign=campaign_id)
    counts = {became: int(count) for became, count in rows}
    enrolled = sum(counts.values())
    launched, not_reached = counts.pop("launched", 0), counts.pop("not_reached", 0)
    counts.pop(None, 0)
    return Headcount(enrolled=enrolled, launched=launched, passed_over=counts, not_reached=not_reached)


def discrepancies(workspace: str, campaign_id: str, *, page: int = 500) -> Course[tuple[Discrepancy, ...]]:
    """Where the books of a campaign, and the days of its workspace, do not add up; nothing, if all is well.

    Each question is a transaction of its own: where workers are sending meanwhile, ask again.
    """
    steps = yield _steps_by_version(workspace, campaign_id)
    expected, covered, after = 0, 0, 0
    while enrolments := (yield enrolments_after(workspace, campaign_id, after, limit=page)):
        expected += sum(steps.get(each.sequence_version or 0, 0) for each in enrolments)
        covered += yield _covered(workspace, enrolments)
        after = enrolments[-1].number
    totals = yield totals_of(workspace, campaign_id)
    found = [] if totals.mails == expected else [_different("mails", expected, totals.mails)]
    people = yield headcount(workspace, campaign_id)
    if people.enrolled != people.accounted_for:
        told = "people launched, passed over or not reached yet"
        found.append(_different(told, people.enrolled, people.accounted_for))
    if covered:  # for a second or two; longer where no worker looks
        found.append(_different("people on the list who are not stopped yet", 0, covered))
    found += yield _miscounted_returns(workspace, campaign_id)
    found += yield _miscounted(workspace)
    if to_carry := (yield _to_carry(workspace, campaign_id)):
        found.append(_different("people to whom what was done to the campaign has not come yet", 0, to_carry))
    if stranded := (yield _stranded(workspace, campaign_id)):
        found.append(_different("people who wait for mail of which nothing can leave", 0, stranded))
    if left_over := (yield _left_over(workspace, campaign_id)):
        found.append(_different("mails that wait for people who have ended", 0, left_over))
    found += yield _open_after_end(workspace, campaign_id)
    return tuple(found)


def _covered(workspace: str, enrolments: Sequence[Enrolment]) -> Plan[int]:
    """How many of these are still to get something although an entry covers them."""
    going_on = [each.prospect for each in enrolments if each.status in GOING_ON and each.sequence_version is not None]
    known = yield from suppressions_of(each.address for each in going_on)
    if not known:
        return 0
    now = yield from store_clock()
    entries = (known.get(each.normal_address, ()) for each in going_on)
    return sum(covering(workspace, each, now=now) is not None for each in entries)


def _to_carry(workspace: str, campaign_id: str) -> Plan[int]:
    """Of how many its being cancelled, or launched again, says nothing yet."""
    [[count]] = yield ask("count_to_carry", workspace=workspace, campaign=campaign_id)
    return int(count)


def _stranded(workspace: str, campaign_id: str) -> Plan[int]:
    """Of how many nobody would ever hear that they have ended, so that neither would the campaign."""
    [[count]] = yield ask("count_stranded", workspace=workspace, campaign=campaign_id)
    return int(count)


def _left_over(workspace: str, campaign_id: str) -> Plan[int]:
    """Of how many mails nobody would ever hear that they will not leave."""
    [[count]] = yield ask("count_left_over", workspace=workspace, campaign=campaign_id)
    return int(count)


def _open_after_end(workspace: str, campaign_id: str) -> Plan[list[Discrepancy]]:
    """Who is still to get something of a campaign of which nothing leaves any more."""
    rows = yield ask("count_open_after_end", workspace=workspace, campaign=campaign_id)
    return [
        _different(f"people of the campaign, which is {status}, who have not ended", 0, int(count))
        for status, count in rows
    ]


def _steps_by_version(workspace: str, campaign_id: str) -> Plan[dict[int, int]]:
    """How many steps each version has that somebody of the campaign was pinned to."""
    rows = yield ask("steps_by_version", workspace=workspace, campaign=campaign_id)
    return {version: int(count) for version, count in rows}


def _miscounted(workspace: str) -> Plan[list[Discrepancy]]:
    rows = yield ask("miscounted_days", workspace=workspace)
    found = []
    for sender, day, noted_used, used, noted_accepted, accepted in rows:
        whose = f"of {sender} " if sender else ""
        if noted_used != used:
            found.append(_different(f"used {whose}on {day}", int(used), int(noted_used)))
        if noted_accepted != accepted:
            found.append(_different(f"accepted {whose}on {day}", int(accepted), int(noted_accepted)))
    return found


def _miscounted_returns(workspace: str, campaign_id: str) -> Plan[list[Discrepancy]]:
    """What the limits are judged by, beside what the mails say."""
    rows = yield ask("miscounted_campaign", workspace=workspace, campaign=campaign_id)
    return [
        _different(f"{what} of the campaign", int(found), int(noted))
        for row in rows
        for what, noted, found in zip(("sent", "bounced", "complained"), row[:3], row[3:], strict=True)
        if noted != found
    ]


def _different(what: str, expected: int, found: int) -> Discrepancy:
    return Discrepancy(what=what, expected=expected, found=found)
