"""What is told of the campaign: planned and sent day by day, how far each step came, who was stopped and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from examples.outreach.team import CAMPAIGN, WORKSPACE
from examples.outreach.verdict import Finding
from examples.outreach.weeks import Play
from postroom.campaigns.drafts.campaigns import enrolments_after
from postroom.cli.campaign_tables import facts_of_settings, forecast_picture, problems_text
from postroom.vocabulary import EnrolmentStatus, MailState

BAR = 40
"""Characters of the longest day."""


def tell_draft(output: Console, play: Play) -> None:
    """What the team sees before it launches."""
    heading(output, "The draft")
    output.print(facts_of_settings(play.campaigns.settings_of(WORKSPACE)))
    output.print(problems_text(play.checked))
    heading(output, "The forecast")
    output.print(forecast_picture(play.forecast))


def tell_weeks(output: Console, play: Play) -> None:
    """What became of the campaign, with what happened meanwhile."""
    for line in play.happened:
        output.print(Text(f"• {line}"), soft_wrap=True)
    heading(output, "Planned and sent")
    output.print(_days(play))
    heading(output, "Steps")
    output.print(_funnel(play))
    heading(output, "Stopped")
    output.print(_stopped(play))
    output.print(Text(f"\n{_sum(play)}"), soft_wrap=True)


def tell_findings(output: Console, found: Sequence[Finding]) -> bool:
    """Each promise with what breaks it; whether all of them were kept."""
    for each in found:
        kept = not each.broken_by
        output.print(
            Text("✓ " if kept else "✗ ", style="green" if kept else "bold red") + Text(each.promise), soft_wrap=True
        )
        for what in each.broken_by:
            output.print(Text(f"    {what}", style="red"), soft_wrap=True)
    return not any(each.broken_by for each in found)


def heading(output: Console, words: str) -> None:
    output.print(Text(f"\n{words}\n", style="bold"))


def _days(play: Play) -> Table:
    planned, sent = play.planned_by_day(), play.sent_by_day()
    most = max((*planned.values(), *sent.values()), default=1)
    table = _table("day", "planned", "sent", "")
    for day in sorted(planned.keys() | sent.keys()):
        bar = "█" * round(BAR * sent.get(day, 0) / most)
        table.add_row(f"{day:%a %-d %b}", str(planned.get(day, 0)), str(sent.get(day, 0)), Text(bar, style="green"))
    return table


def _funnel(play: Play) -> Table:
    people = play.forecast.prospects
    sent = Counter(each.step for each in play.log.deliveries)
    table = _table("step", "sent", "of", "")
    for step in range(1, play.forecast.steps + 1):
        bar = "█" * round(BAR * sent[step] / max(people, 1))
        table.add_row(str(step), str(sent[step]), str(people), Text(bar, style="cyan"))
    return table


def _stopped(play: Play) -> Table:
    table = _table("who", "is", "why")
    for each in play.outbox.database.run(enrolments_after(WORKSPACE, CAMPAIGN), writes=False):
        if each.status is not EnrolmentStatus.COMPLETED:
            table.add_row(each.prospect.address, each.status.value, each.reason or "")
    return table


def _sum(play: Play) -> str:
    totals = play.campaigns.totals(WORKSPACE, CAMPAIGN)
    stopped = ", ".join(f"{count} {reason}" for reason, count in totals.stopped.items())
    return (
        f"{totals.mails} launched = {totals.states.get(MailState.SENT, 0)} sent + {totals.waiting} waiting + "
        f"{totals.states.get(MailState.STOPPED, 0)} stopped ({stopped or 'nobody'}) + "
        f"{totals.states.get(MailState.DEAD, 0)} dead"
    )


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for each in headings:
        table.add_column(each, header_style="dim", justify="right" if each in ("planned", "sent", "of") else "left")
    return table
