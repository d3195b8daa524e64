"""Campaigns as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from zoneinfo import ZoneInfo

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from postroom.campaigns.arithmetic.settings import RampUp, SendingSettings
from postroom.campaigns.drafts.checking import Checked, Problem, Severity
from postroom.campaigns.drafts.forecasting import Forecast, ForecastDay
from postroom.campaigns.drafts.passing import passed_in_words
from postroom.campaigns.drafts.sequences import SequenceOutline
from postroom.campaigns.looking.explaining import Explained
from postroom.campaigns.looking.totals import Headcount, Totals
from postroom.campaigns.values import Sender, WorkspaceSettings
from postroom.campaigns.values import Sequence as Steps
from postroom.cli.moments import exact
from postroom.cli.tables import bare_table
from postroom.operate.campaigns import CampaignView, WholeCampaign
from postroom.operate.wording import count_of
from postroom.vocabulary import CampaignStatus, MailState

BAR = 40
"""Characters of the longest bar."""
MOST_DAYS = 40
"""Lines for days; a forecast may have thousands."""


def campaigns_table(campaigns: Iterable[CampaignView]) -> Table:
    table = bare_table("id", "name", "status", "prospects", "made")
    table.columns[3].justify = "right"
    for each in campaigns:
        made = exact(each.campaign.created_at) if each.campaign.created_at else ""
        cells = (each.campaign.id, each.campaign.name, each.campaign.status.value, f"{each.prospects:,}", made)
        table.add_row(*map(Text, cells))
    return table


def senders_table(senders: Iterable[Sender]) -> Table:
    table = bare_table("id", "name", "address", "reply to", "route", "a day", "ramp-up", "paused")
    for each in senders:
        quota = "" if each.daily_quota is None else f"{each.daily_quota:,}"
        paused = f"{exact(each.paused_at)} {each.pause_reason or ''}".strip() if each.paused_at else ""
        ramp_up = _ramp(each.ramp_up) if each.ramp_up else ""
        cells = (each.id, each.name, each.address, each.reply_to or "", each.route, quota, ramp_up, paused)
        table.add_row(*map(Text, cells))
    return table


def waiting_table(mails: Iterable[Explained], settings: SendingSettings, addresses: Mapping[str, str]) -> Table:
    table = bare_table("prospect", "step", "from", "planned", "why it waits")
    for each in mails:
        mail, at = each.mail, each.planned(settings)
        planned = f"{at.astimezone(settings.zone):%a %d %b %Y %H:%M}" if at else ""
        whom = addresses.get(mail.prospect_id, mail.prospect_id)
        cells = (whom, str(mail.step), mail.sender_id, planned, each.told(settings))
        table.add_row(*map(Text, cells))
    return table


def facts_of_totals(people: Headcount, totals: Totals) -> Table:
    """What became of the prospects and the mails of a launched campaign."""
    named = {"passed over": people.passed_over, "stopped": totals.stopped, "dead": totals.dead}
    counts = (
        *((f"prospects {what}", what, count) for what, count in _people(people)),
        *((f"mails {state}", state, count) for state, count in _mails(totals)),
    )
    return _facts([(told, f"{count:,}{_because(named.get(what, {}))}") for told, what, count in counts if count])


def sums_in_words(people: Headcount, totals: Totals) -> str:
    """All prospects and mails of a campaign as one line: `8 prospects = 8 launched; 16 mails = 11 waiting + 5 sent`."""
    prospects = _sum(count_of(people.enrolled, "prospect"), _people(people))
    return f"{prospects}; {_sum(count_of(totals.mails, 'mail'), _mails(totals))}"


def _sum(whole: str, counts: Iterable[tuple[str, int]]) -> str:
    parts = " + ".join(f"{count:,} {what}" for what, count in counts if count)
    return f"{whole} = {parts or '0'}"


def _people(people: Headcount) -> tuple[tuple[str, int], ...]:
    passed_over = sum(people.passed_over.values())
    return ("launched", people.launched), ("passed over", passed_over), ("not reached yet", people.not_reached)


def _mails(totals: Totals) -> Iterator[tuple[str, int]]:
    return ((state.value, totals.states.get(state.value, 0)) for state in MailState)


def _because(reasons: Mapping[str, int]) -> str:
    told = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
    return f" ({told})" if told else ""


def sequences_table(sequences: Iterable[SequenceOutline]) -> Table:
    table = bare_table("id", "name", "version", "steps")
    for each in sequences:
        table.add_row(Text(each.id), Text(each.name), str(each.version), str(each.steps))
    return table


def sequence_text(sequence: Steps) -> Text:
    """Every step as it is written."""
    said = Text.assemble((sequence.id, "bold"), f"  {sequence.name}, version {sequence.version}\n")
    for step in sequence.steps:
        when = "at once" if step.number == 1 else f"{count_of(step.delay_days, 'day')} after step {step.number - 1}"
        said.append(f"\nStep {step.number}, {when}\n", style="bold")
        if step.template is not None:
            said.append(f"the template {step.template}\n")
            continue
        said.append(f"{step.subject or 'Re: (the same thread)'}\n", style="" if step.subject else "dim")
        said.append(f"{(step.text or '').strip()}\n", style="dim")
        if step.html is not None:
            said.append("and the same as HTML\n", style="dim")
    return said


def facts_of_campaign(whole: WholeCampaign) -> Table:
    campaign, draft = whole.campaign, whole.draft
    stands = ", ".join(f"{count:,} {status}" for status, count in whole.enrolments.items())
    return _facts(
        [
            ("id", campaign.id),
            ("name", campaign.name),
            ("status", campaign.status.value),
            ("paused", campaign.pause_reason or ""),
            ("sequence", f"{draft.sequence.id}, version {draft.sequence.version}, {_steps(draft.sequence)}"),
            ("senders", ", ".join(sender.id for sender in draft.senders) or "none"),
            ("prospects", f"{whole.prospects:,}" + (f" ({stands})" if stands else "")),
            ("windows", _windows(draft.settings.sending)),
            ("made", exact(campaign.created_at) if campaign.created_at else ""),
            ("launched", exact(campaign.launched_at) if campaign.launched_at else ""),
        ]
    )


def facts_of_settings(settings: WorkspaceSettings) -> Table:
    sending = settings.sending
    return _facts(
        [
            ("windows", _windows(sending)),
            ("quota", f"{sending.daily_quota:,} a day"),
            ("ramp-up", _ramp(sending.ramp_up) if sending.ramp_up else "none"),
            ("holidays", ", ".join(each.isoformat() for each in sending.holidays) or "none"),
            ("gap", f"{sending.gap_seconds[0]} to {sending.gap_seconds[1]} seconds"),
            ("a person", f"one mail within {settings.person_hours} hours" if settings.person_hours else "no bound"),
            ("pauses at", _limits(settings)),
            ("changed", exact(settings.updated_at) if settings.updated_at else "never: these are the defaults"),
        ]
    )


def problems_text(checked: Checked) -> Text:
    """What a check has found, the worst first."""
    said = Text()
    for each in sorted(checked.problems, key=lambda problem: problem.severity is not Severity.ERROR):
        _append(said, each)
    looked_at = f"{checked.checked:,} of {count_of(checked.prospects, 'prospect')} looked at"
    errors = sum(each.severity is Severity.ERROR for each in checked.problems)
    if errors:
        return said.append(f"{count_of(errors, 'problem')} to mend before a launch; {looked_at}.", style="bold red")
    return said.append(f"Nothing keeps {checked.campaign.id} from being launched; {looked_at}.", style="green")


def forecast_picture(forecast: Forecast, *, again: str = "") -> RenderableType:
    """The days as bars, with the end in words. `again` is the command that launches it after it was cancelled."""
    said = Text(in_one_sentence(forecast), style="bold")
    above = (*_supposing(forecast, again), said, *_skipped(forecast), *_left(forecast))
    return Group(*above, _bars(forecast), *_more(forecast))


def in_one_sentence(forecast: Forecast) -> str:
    """`3,000 mails to 1,000 prospects: ends on 4 Aug 2026, up to 200 a day.`"""
    mails = f"{count_of(forecast.mails, 'mail')} to {count_of(forecast.prospects, 'prospect')}"
    if forecast.ends_on is None or forecast.first is None:
        return f"{mails}: it does not end." if forecast.left else f"{mails}: nothing to send."
    begins = forecast.first.astimezone(ZoneInfo(forecast.timezone))
    return (
        f"{mails}: begins on {_day(begins.date())} at {begins:%H:%M}, ends on {_day(forecast.ends_on)}, "
        f"up to {forecast.busiest:,} a day ({forecast.timezone})."
    )


def _supposing(forecast: Forecast, again: str) -> Iterator[Text]:
    match forecast.status:
        case CampaignStatus.PAUSED:
            yield Text(f"{forecast.campaign} is paused, and nothing of it leaves. Resumed now:", style="yellow")
        case CampaignStatus.CANCELLED:
            how = f" ({again})" if again else ""
            told = f"{forecast.campaign} was cancelled, and nothing of it leaves. Launched again now{how}:"
            yield Text(told, style="yellow")
        case _:
            pass


def _skipped(forecast: Forecast) -> Iterator[Text]:
    for reason, count in forecast.skipped.items():
        yield Text(f"{count_of(count, 'prospect')} would be skipped: {passed_in_words(reason)}.", style="yellow")


def _left(forecast: Forecast) -> Iterator[Text]:
    if forecast.left:
        yield Text(f"{count_of(forecast.left, 'mail')} would never leave: {forecast.reason}.", style="bold red")


def _bars(forecast: Forecast) -> Table:
    table = bare_table("day", "mails", "of", "")
    table.columns[1].justify = table.columns[2].justify = "right"
    most = max((day.allowance for day in forecast.days), default=1)
    for day in forecast.days[:MOST_DAYS]:
        table.add_row(Text(f"{day.day:%a} {_day(day.day)}"), f"{day.planned:,}", f"{day.allowance:,}", _bar(day, most))
    return table


def _bar(day: ForecastDay, most: int) -> Text:
    """What is planned, then what other campaigns send, then what is left of the allowance."""
    planned, others, allowed = (
        round(BAR * count / max(most, 1)) for count in (day.planned, day.planned + day.others, day.allowance)
    )
    planned = max(planned, 1)
    return Text.assemble(
        ("█" * planned, "green"),
        ("▒" * max(0, others - planned), "yellow"),
        ("·" * max(0, allowed - max(others, planned)), "dim"),
    )


def _more(forecast: Forecast) -> Iterator[Text]:
    left = forecast.days[MOST_DAYS:]
    if left:
        mails = count_of(sum(day.planned for day in left), "mail")
        yield Text(f"… and {count_of(len(left), 'day')} more, until {_day(left[-1].day)}, with {mails}.", style="dim")


def _append(said: Text, problem: Problem) -> None:
    style = "bold red" if problem.severity is Severity.ERROR else "yellow"
    said.append(f"{problem.severity.value}  ", style=style).append(f"{problem.field}: {problem.problem}")
    if problem.count:
        some = ", ".join(problem.prospects) + (", …" if problem.count > len(problem.prospects) else "")
        named = f": {some}" if problem.prospects else ""
        said.append(f" ({count_of(problem.count, 'prospect')}{named})")
    said.append(f"\n       {problem.remedy}\n", style="dim")


def _facts(facts: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        if value:
            table.add_row(name, Text(value))
    return table


def _windows(sending: SendingSettings) -> str:
    days = ", ".join(sending.sending_days)
    return f"{days}, {sending.start_hour}:00 to {sending.end_hour}:00, {sending.timezone}"


def _ramp(ramp_up: RampUp) -> str:
    shown = ", ".join(map(str, ramp_up.schedule[:10]))
    return f"{shown}, …" if len(ramp_up.schedule) > 10 else shown


def _limits(settings: WorkspaceSettings) -> str:
    limits = [("bounces", settings.bounce_limit), ("complaints", settings.complaint_limit)]
    told = [f"{share:.1%} {what}" for what, share in limits if share is not None]
    return f"{' or '.join(told)}, once {count_of(settings.limit_after, 'mail')} were sent" if told else "never"


def _steps(sequence: Steps) -> str:
    return count_of(len(sequence.steps), "step")


def _day(day: date | datetime) -> str:
    return f"{day:%-d %b %Y}"
