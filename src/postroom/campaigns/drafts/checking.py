"""What is wrong with a draft, found before it is launched: with its settings, its senders, its words, its prospects.

Everything is rendered for everybody, or for the first so many, page by page with constant memory. The same problem of
many prospects is told once, with how many they are and who some of them are.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from postroom.campaigns.arithmetic.impasse import impasse
from postroom.campaigns.arithmetic.settings import SendingSettings, known_zone
from postroom.campaigns.arithmetic.window import next_open
from postroom.campaigns.books.counting import impasse_of_sender
from postroom.campaigns.checks import mailbox
from postroom.campaigns.commands import command
from postroom.campaigns.drafts.campaigns import enrolments_after
from postroom.campaigns.drafts.passing import ALREADY, passed_in_words, passed_over
from postroom.campaigns.drafts.rendering import Wording
from postroom.campaigns.drafts.whole import Draft, whole_draft
from postroom.campaigns.values import Campaign, Prospect, Sender, Sequence
from postroom.errors import InvalidCampaign
from postroom.spelling import suggestion
from postroom.store.plan import Course

if TYPE_CHECKING:
    from postroom.templates.portal import Portal

AT_A_TIME = 200
"""Prospects that are rendered between two visits to the database."""
SHOWN = 5
"""Prospects that are named with a problem."""
MOST = 100
"""Problems of prospects that are told apart; a million might each have its own."""
SOON = timedelta(days=30)


class Severity(StrEnum):
    """Whether a campaign can be launched with a problem."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that is wrong, where, and what to do about it."""

    severity: Severity
    field: str
    """`daily_quota`, `senders`, `steps[2].text`, …"""
    problem: str
    remedy: str
    count: int = 0
    """Of how many prospects; 0 where it is about nobody in particular."""
    prospects: tuple[str, ...] = ()
    """The ids of the first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check has found."""

    campaign: Campaign
    prospects: int
    checked: int
    """For so many of them the steps were rendered."""
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing keeps it from being launched."""
        return all(each.severity is not Severity.ERROR for each in self.problems)


def check_draft(
    workspace: str,
    id: str,
    *,
    now: datetime,
    routes: Collection[str],
    portals: Mapping[str, Portal],
    sample: int | None = None,
    progress: Callable[[int], None] = lambda prospects: None,
) -> Course[Checked]:
    """Check a campaign; of its prospects the first `sample`, or all. Nothing is changed.

    `progress` is told of prospects as they are looked at.
    """
    draft = yield whole_draft(workspace, id)
    wording = Wording(draft.sequence.steps, portals)
    settings = draft.settings.sending
    fixed = [
        *_of_campaign(workspace, draft),
        *_of_settings(workspace, settings, now),
        *_of_senders(workspace, draft.senders, routes, settings, now),
    ]
    # Of a campaign that was launched already nobody is passed over any more.
    passed = (yield passed_over(workspace, draft.campaign)) if draft.campaign.unlaunched else {}
    skipped = _of_passed_over(passed, draft.prospects)
    broken = [_error(each.field, each.problem, each.remedy) for each in wording.check()]
    found = _Found()
    checked, after = 0, 0
    wanted = draft.prospects if sample is None else min(sample, draft.prospects)
    while checked < wanted:
        page = yield enrolments_after(workspace, id, after, limit=min(AT_A_TIME, wanted - checked))
        if not page:
            break
        for each in page:
            found.look_at(each.prospect, draft.sequence, None if broken else wording)
        checked, after = checked + len(page), page[-1].number
        progress(len(page))
    problems = (*fixed, *skipped, *broken, *found.problems())
    return Checked(campaign=draft.campaign, prospects=draft.prospects, checked=checked, problems=problems)


@dataclass(slots=True)
class _Found:
    """Problems of prospects, those that are alike together."""

    alike: dict[tuple[str, str], tuple[str, list[str], int]] = field(default_factory=dict)
    more: int = 0
    """Problems beyond those that are told apart."""

    def look_at(self, prospect: Prospect, sequence: Sequence, wording: Wording | None) -> None:
        for problem in _of_prospect(prospect):
            self._note(problem, prospect)
        for step in sequence.steps if wording else ():
            assert wording is not None
            try:
                wording.render(step.number, prospect)
            except InvalidCampaign as problem:
                self._note(problem, prospect)

    def _note(self, problem: InvalidCampaign, prospect: Prospect) -> None:
        if len(self.alike) >= MOST and (problem.field, problem.problem) not in self.alike:
            self.more += 1
            return
        remedy, shown, count = self.alike.get((problem.field, problem.problem), (problem.remedy, [], 0))
        if len(shown) < SHOWN:
            shown.append(prospect.id)
        self.alike[problem.field, problem.problem] = (remedy, shown, count + 1)

    def problems(self) -> Iterator[Problem]:
        for (where, problem), (remedy, shown, count) in self.alike.items():
            yield _error(where, problem, remedy, count=count, prospects=tuple(shown))
        if self.more:
            yield _error("prospects", f"there are {self.more:,} more problems of other kinds", "mend these first")


def _of_prospect(prospect: Prospect) -> Iterator[InvalidCampaign]:
    """What was right when it was stored, and may not be any more."""
    try:
        mailbox("address", prospect.address)
        if prospect.timezone is not None:
            known_zone(prospect.timezone)
    except InvalidCampaign as error:
        yield error


def _of_campaign(workspace: str, draft: Draft) -> Iterator[Problem]:
    if not draft.campaign.unlaunched:
        yield _error("status", f"is {draft.campaign.status}", "only a draft is launched")
    if not draft.prospects:
        remedy = command(f"import FILE --campaign {shlex.quote(draft.campaign.id)}", workspace)
        yield _error("prospects", "there is none", remedy)
    if not draft.settings.version:
        remedy = f"{command('settings --timezone Europe/Berlin', workspace)}, for instance"
        yield _warning("settings", "nobody has said when this workspace sends: the defaults hold", remedy)


def _of_settings(workspace: str, settings: SendingSettings, now: datetime) -> Iterator[Problem]:
    if (held := impasse(settings, now=now, sent_days=0)) is not None:
        yield _error(held.field, f"{held.cause}, and so nothing would leave", command(held.words, workspace))
    opening = next_open(settings, now)
    if opening is not None and opening - now > SOON:
        remedy = "look at the days, hours and holidays"
        yield _warning("sending_days", f"the first window opens on {opening:%-d %b %Y}", remedy)


def _of_senders(
    workspace: str, senders: tuple[Sender, ...], routes: Collection[str], settings: SendingSettings, now: datetime
) -> Iterator[Problem]:
    if not senders:
        yield _error("senders", "there is none", "name at least one sender in the file of the campaign")
    for sender in senders:
        where = f"senders[{sender.id}]"
        if sender.route not in routes:
            yield _error(f"{where}.route", f"there is no route {sender.route!r}", suggestion(sender.route, routes))
        if (held := impasse_of_sender(settings, sender, now=now)) is not None:
            told = f"{held.cause}, and so nothing would leave"
            yield _error(f"{where}.{held.field}", told, command(held.words, workspace))
        if sender.paused_at is not None:
            remedy = command(f"sender {shlex.quote(sender.id)} --resume", workspace)
            yield _warning(where, f"is paused: {sender.pause_reason or 'no reason given'}", remedy)


def _of_passed_over(passed: Mapping[str, int], prospects: int) -> Iterator[Problem]:
    """Some are passed over as a matter of course; where nobody is left, a launch would only use up the draft.

    That is said, and is no error: whoever schedules twice is told so in the result, in whichever campaign.
    """
    if passed and sum(passed.values()) == prospects:
        reasons = ", ".join(f"{passed_in_words(reason)} ({count:,})" for reason, count in passed.items())
        told = f"nobody would get anything; a launch would pass over all of them: {reasons}"
        other = "; who has this sequence already gets another one, in a draft of its own" if ALREADY in passed else ""
        yield _warning("prospects", told, f"import others{other}")
        return
    for reason, count in passed.items():
        told = f"a launch would pass over some of them: {passed_in_words(reason)}"
        yield replace(_warning("prospects", told, "nothing need be done about it"), count=count)


def _error(field: str, problem: str, remedy: str, *, count: int = 0, prospects: tuple[str, ...] = ()) -> Problem:
    return Problem(
        severity=Severity.ERROR, field=field, problem=problem, remedy=remedy, count=count, prospects=prospects
    )


def _warning(field: str, problem: str, remedy: str) -> Problem:
    return Problem(severity=Severity.WARNING, field=field, problem=problem, remedy=remedy)
