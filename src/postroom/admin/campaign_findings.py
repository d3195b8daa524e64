"""What a check finds, as a page tells it: whom it is about by their address, and what to do there, not in a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from postroom.admin.campaign_places import Place
from postroom.campaigns.drafts.checking import Checked, Problem, Severity
from postroom.campaigns.drafts.whole import Draft

_STEP = re.compile(r"steps\[(\d+)\]")
_ABOUT_SENDING = ("settings", "daily_quota", "ramp_up", "sending_days")
_ON_PAGES = {
    "settings": "say when it sends",
    "daily_quota": "raise it",
    "ramp_up": "raise that step",
    "sending_days": "name other days, hours or holidays",
}
"""What is done there, in the place of a command; of a sender without a field, who is paused, something else."""
_PARTS = {
    "prospects": re.compile("prospects"),
    "sequence": _STEP,
    "senders": re.compile("senders"),
    "sending": re.compile("|".join(_ABOUT_SENDING)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong, and where on the pages it is mended."""

    severity: Severity
    field: str
    problem: str
    remedy: str
    link: str
    """Where that is done; empty where no page does it."""
    count: int
    """Of how many prospects; 0 where it is about nobody in particular."""
    people: tuple[tuple[str, str], ...]
    """The first of them: where their page is, and their address."""

    @property
    def more(self) -> bool:
        return self.count > len(self.people)

    @property
    def part(self) -> str:
        """Which part of a draft it is about: `prospects`, `sequence`, `senders` or `sending`; empty where none is."""
        return next((part for part, said in _PARTS.items() if said.match(self.field)), "")


def people_in(checked: Checked) -> tuple[str, ...]:
    """The ids of all who are named by what a check has found."""
    return tuple(dict.fromkeys(id for problem in checked.problems for id in problem.prospects))


def findings(checked: Checked, draft: Draft, place: Place, addresses: Mapping[str, str]) -> tuple[Finding, ...]:
    """What a check has found of a draft, for its page; whoever has no address by now is told by their id."""
    return tuple(_told(checked, draft, place, addresses))


def _told(checked: Checked, draft: Draft, place: Place, addresses: Mapping[str, str]) -> Iterator[Finding]:
    id = draft.campaign.id
    for problem in checked.problems:
        remedy, link = _mended(problem, draft, place)
        yield Finding(
            severity=problem.severity,
            field=problem.field,
            problem=problem.problem,
            remedy=remedy,
            link=link,
            count=problem.count,
            people=tuple((place.prospect(id, each), addresses.get(each, each)) for each in problem.prospects),
        )


def _mended(problem: Problem, draft: Draft, place: Place) -> tuple[str, str]:
    """What is done about it on a page, and on which: the words of the check but where those are a command."""
    id = draft.campaign.id
    remedy = problem.remedy
    if problem.field == "prospects" and "import" in remedy:
        return remedy if draft.prospects else "import a file of prospects", f"{place.campaign(id)}#import"
    if remedy.startswith("postroom "):
        remedy = _ON_PAGES.get(problem.field.rpartition(".")[2], "resume it")
    if problem.field in _ABOUT_SENDING:
        return remedy, place.sending()
    if problem.field.startswith("senders"):
        return remedy, f"{place.sending()}#senders"
    if step := _STEP.match(problem.field):
        whom = problem.prospects[0] if problem.prospects else ""  # for whom it is shown, with what is wrong beside it
        return problem.remedy, f"{place.sequence(draft.sequence.id, campaign=id, prospect=whom)}#step-{step[1]}"
    return problem.remedy, ""
