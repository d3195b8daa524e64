"""What the campaign pages ask beside what every surface asks: numbers by step and by day, and people that are found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from postroom.campaigns.drafts.campaigns import read_enrolment
from postroom.campaigns.drafts.sequences import steps_of
from postroom.campaigns.values import Enrolment, Step
from postroom.errors import NotInWorkspace
from postroom.store.plan import Plan, ask

LOOKED_AT = 20_000
"""Enrolments that one search goes through, so that one which finds nobody comes to an end."""
LONGEST_PAGE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a campaign has come, in mails and in people."""

    mails: Mapping[str, int] = field(default_factory=dict)
    """By state."""
    people: Mapping[str, int] = field(default_factory=dict)
    """Prospects by the status of their enrolment."""

    @property
    def sent(self) -> int:
        return self.mails.get("sent", 0)

    @property
    def waiting(self) -> int:
        """On their way one day: those of whom a worker has one in hand, too."""
        return sum(self.mails.get(state, 0) for state in ("waiting", "ready", "leaving"))

    @property
    def stopped(self) -> int:
        return self.mails.get("stopped", 0)

    @property
    def dead(self) -> int:
        return self.mails.get("dead", 0)

    @property
    def total(self) -> int:
        """All mails there are: the sum of the four."""
        return sum(self.mails.values())

    @property
    def enrolled(self) -> int:
        """All prospects."""
        return sum(self.people.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ByStep:
    """How far the steps of a launched campaign have come."""

    progress: Mapping[int, Progress] = field(default_factory=dict)
    """In mails, by the number of the step."""
    versions: Mapping[int, tuple[Step, ...]] = field(default_factory=dict)
    """The versions of the sequence that its mails are of, and their steps: one, unless it was launched again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEnrolments:
    """A page of people in a campaign."""

    enrolments: tuple[Enrolment, ...]
    after: int | None
    """Behind which number to look further; None where the end is reached."""


def campaign_workspaces() -> Plan[tuple[str, ...]]:
    """Those that have a campaign, or have said when they send."""
    rows = yield ask("campaign_workspaces")
    return tuple(name for (name,) in rows)


def progress_of(workspace: str, campaigns: Sequence[str]) -> Plan[dict[str, Progress]]:
    """How far some campaigns have come, by id; each is there."""
    ids = list(campaigns)
    mails: dict[str, dict[str, int]] = defaultdict(dict)
    people: dict[str, dict[str, int]] = defaultdict(dict)
    for id, state, count in (yield ask("mails_of_campaigns", workspace=workspace, campaigns=ids)):
        mails[id][state] = int(count)
    for id, status, count in (yield ask("enrolments_of_campaigns", workspace=workspace, campaigns=ids)):
        people[id][status] = int(count)
    return {id: Progress(mails=mails[id], people=people[id]) for id in ids}


def progress_by_step(workspace: str, campaign: str) -> Plan[ByStep]:
    """How far each step has come, in mails, and the words that those who get them were pinned to."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    pinned: dict[int, str] = {}
    for sequence, version, step, state, count in (yield ask("mails_by_step", workspace=workspace, campaign=campaign)):
        found[step][state] += int(count)
        pinned[version] = sequence
    versions: dict[int, tuple[Step, ...]] = {}
    for version, sequence in sorted(pinned.items()):
        versions[version] = yield from steps_of(workspace, sequence, version)
    return ByStep(progress={step: Progress(mails=mails) for step, mails in sorted(found.items())}, versions=versions)


def sent_by_day(workspace: str, campaign: str) -> Plan[dict[date, int]]:
    """Mails of a campaign that were sent, by window day."""
    rows = yield ask("sent_by_day", workspace=workspace, campaign=campaign)
    return {date.fromisoformat(day): int(count) for day, count in rows}


def find_enrolments(
    workspace: str,
    campaign: str,
    *,
    part: str = "",
    status: str = "",
    mail: str = "",
    after: int = 0,
    limit: int = LONGEST_PAGE,
    looked: int = LOOKED_AT,
) -> Plan[FoundEnrolments]:
    """The next people of a campaign whose address or name has `part` in it, in the order of enrolment; those alone
    who have a mail that stands at `mail`, where that is named: `sent`, `stopped` or `dead`, `waiting` before that, or
    `in_doubt` until a person decides.

    One look goes through `looked` of them at most; `after` says where to go on.
    """
    rows = yield ask(
        "enrolments_found",
        workspace=workspace,
        campaign=campaign,
        part=_escaped(part.lower()) if part else None,
        status=status or None,
        mail=mail or None,
        after=after,
        looked=looked,
        limit=limit + 1,
    )
    found = tuple(map(read_enrolment, rows))
    if len(found) > limit:
        return FoundEnrolments(enrolments=found[:limit], after=found[limit - 1].number)
    more = yield ask("enrolments_after", workspace=workspace, campaign=campaign, after=after + looked, limit=1)
    return FoundEnrolments(enrolments=found, after=after + looked if more else None)


def enrolment_of(workspace: str, campaign: str, prospect: str) -> Plan[Enrolment]:
    """One prospect in a campaign; `NotInWorkspace` if it has none of this id."""
    rows = yield ask("enrolment_of", workspace=workspace, campaign=campaign, prospect=prospect)
    if not rows:
        raise NotInWorkspace("prospect", prospect, workspace, "look at who is in the campaign")
    return read_enrolment(rows[0])


def _escaped(part: str) -> str:
    r"""Taken literally by LIKE, with `\` as its escape."""
    return part.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
