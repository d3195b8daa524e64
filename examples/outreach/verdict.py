"""Whether a campaign that was played did as promised: the rules, the forecast, and the books."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from examples.outreach.rules import violations
from examples.outreach.team import CAMPAIGN, WORKSPACE
from examples.outreach.weeks import Play
from postroom.campaigns.looking.totals import Totals
from postroom.vocabulary import MailState


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One promise, and what breaks it; nothing, if it was kept."""

    promise: str
    broken_by: Sequence[str] = ()


def findings(play: Play, *, quiet: bool) -> list[Finding]:
    """All that is to be said of a campaign that has come to its end."""
    broken = violations(play.log.deliveries, play.facts(quiet=quiet))
    found = [Finding(promise=promise, broken_by=by) for promise, by in broken.items()]
    if quiet:
        found.append(same_as_forecast(play.planned_by_day(), play.sent_by_day()))
    totals = play.campaigns.totals(WORKSPACE, CAMPAIGN)
    discrepancies = map(str, play.campaigns.discrepancies(WORKSPACE, CAMPAIGN))
    books = (*added_up(play.launched.scheduled, len(play.log.deliveries), totals), *discrepancies)
    return [*found, Finding(promise="the totals add up, and are those of the server's log", broken_by=books)]


def same_as_forecast(planned: Mapping[date, int], sent: Mapping[date, int]) -> Finding:
    """Day by day, neither more nor less."""
    promise = f"the forecast equals what was really sent: {sum(sent.values())} mails on {len(sent)} days"
    days = sorted(planned.keys() | sent.keys())
    differences = (f"{day:%-d %b}: {planned.get(day, 0)} forecast, {sent.get(day, 0)} sent" for day in days
                   if planned.get(day, 0) != sent.get(day, 0))  # fmt: skip
    return Finding(promise=promise, broken_by=tuple(differences))


def added_up(launched: int, arrived: int, totals: Totals) -> Iterator[str]:
    """Launched = sent + stopped + dead, for all is over; and what counts as sent has arrived."""
    sent, stopped, dead = (totals.states.get(each, 0) for each in (MailState.SENT, MailState.STOPPED, MailState.DEAD))
    if launched != sent + stopped + dead:
        yield f"{launched} were launched, and there are {sent} sent + {stopped} stopped + {dead} dead"
    if sent != arrived:
        yield f"{sent} count as sent, and {arrived} have arrived"
    if totals.waiting:
        yield f"{totals.waiting} are still waiting"
