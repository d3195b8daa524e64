"""Campaigns: campaign new, settings, sender(s), sequence, import, check, forecast, status, list; acts stand beside."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from postroom.campaigns.arithmetic.impasse import Impasse
from postroom.campaigns.commands import command as command_of
from postroom.campaigns.drafts.describing import EXAMPLE, read_description, read_steps
from postroom.campaigns.drafts.overwriting import Shared, overwritten
from postroom.campaigns.records import sender_record, settings_record
from postroom.cli.campaign_acts import cancel, launch, pause, resume, waiting
from postroom.cli.campaign_importing import import_prospects
from postroom.cli.campaign_options import CampaignId, SenderOptions, SettingsOptions, Workspace
from postroom.cli.campaign_progress import stages
from postroom.cli.campaign_tables import (
    campaigns_table,
    facts_of_campaign,
    facts_of_settings,
    facts_of_totals,
    forecast_picture,
    problems_text,
    senders_table,
    sequence_text,
    sequences_table,
    sums_in_words,
)
from postroom.cli.choice import Json, machine_user
from postroom.cli.command import command
from postroom.cli.problems import ExitCode
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.target import Target
from postroom.errors import InvalidCampaign
from postroom.operate.campaign_records import (
    campaign_record,
    checked_record,
    forecast_record,
    headcount_record,
    impasse_records,
    outline_record,
    sequence_record,
    totals_record,
    whole_record,
)
from postroom.operate.campaigns import CampaignOperations, CampaignView
from postroom.operate.wording import count_of
from postroom.templates.found import find_portals
from postroom.vocabulary import LaunchStage


def new(
    target: Target,
    file: Annotated[
        Path | None, typer.Argument(help="A TOML file that describes the campaign.", metavar="FILE", show_default=False)
    ] = None,
    workspace: Workspace = "",
    example: Annotated[bool, typer.Option("--example", help="Print such a file, with comments, and leave.")] = False,
    json: Json = False,
) -> None:
    """Make a draft of a file: sequence, senders and settings, all of it or nothing. Nothing is sent from a draft."""
    if example:
        typer.echo(EXAMPLE, nl=False)
        return
    if file is None:
        raise InvalidCampaign("file", "none was given", "`postroom campaign new --example` prints one to begin with")
    description = read_description(_text_of(file))
    with _campaigns(target) as campaigns:
        before = _shared(campaigns, workspace)
        campaign = campaigns.new(workspace, description, by=machine_user())
        made = campaigns.status(workspace, campaign.id)
        changed = overwritten(before, _shared(campaigns, workspace))
        held = campaigns.impasses(workspace, made.draft.senders)
    if json:
        print_json(whole_record(made) | {"changed": list(changed), "impasses": impasse_records(held, workspace)})
        return
    steps, senders = count_of(len(made.draft.sequence.steps), "step"), count_of(len(made.draft.senders), "sender")
    _say(f"The draft {campaign.id} is there, with {steps} and {senders}.")
    if changed:
        _say(f"Changed for the whole workspace: {'; '.join(changed)}")
    _tell_impasses(held, workspace)
    _say(f"Next: {command_of(f'import FILE --campaign {shlex.quote(campaign.id)}', workspace)}")


def settings(target: Target, options: SettingsOptions, workspace: Workspace = "", json: Json = False) -> None:
    """Show when and how much a workspace sends, or change what the options name; the rest stays."""
    changes = options.as_record()
    with _campaigns(target) as campaigns:
        if changes:
            found = campaigns.change_settings(workspace, changes, by=machine_user())
        else:
            found = campaigns.settings_of(workspace)
        held = campaigns.impasses(workspace)
    if json:
        print_json(settings_record(found) | {"impasses": impasse_records(held, workspace)})
    else:
        standard_output().print(facts_of_settings(found))
        _tell_impasses(held, workspace)


def sender(
    target: Target,
    options: SenderOptions,
    id: Annotated[
        str | None,
        typer.Argument(help="Which one; without it all are listed.", metavar="ID", show_default=False),
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Let nothing leave from them; their mail is kept.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Let mail leave from them again.")] = False,
    reason: Annotated[str | None, typer.Option(help="Why they are paused.", show_default=False)] = None,
    workspace: Workspace = "",
    json: Json = False,
) -> None:
    """List who sends campaigns, show one, add or change one with what the options name, pause or resume one."""
    changes = options.as_record()
    if (changes or pause or resume) and id is None:
        remedy = f"say which sender: {command_of('sender ID --address …', workspace)}"
        raise InvalidCampaign("id", "is missing", remedy)
    if (pause and resume) or (reason is not None and not pause):
        raise InvalidCampaign("--pause", "says something else than the other options", "pause, or resume; not both")
    with _campaigns(target) as campaigns:
        if changes:
            assert id is not None
            campaigns.change_sender(workspace, id, changes, by=machine_user())
        if pause:
            campaigns.pause_sender(workspace, str(id), by=machine_user(), reason=reason)
        if resume:
            campaigns.resume_sender(workspace, str(id), by=machine_user())
        found = campaigns.senders(workspace) if id is None else (campaigns.sender(workspace, id),)
        held = campaigns.impasses(workspace, found)
    if json:
        print_json({"senders": [sender_record(each) for each in found]})
    elif found:
        standard_output().print(senders_table(found))
        _tell_impasses([each for each in held if each.sender], workspace)
    else:
        _hint(f"Nobody sends campaigns here yet; `{command_of('sender ID --address …', workspace)}` changes that.")


def senders(
    target: Target,
    id: CampaignId,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="This sender and no other that is not named too.", metavar="ID")
    ] = None,
    add: Annotated[list[str] | None, typer.Option("--add", help="This sender as well.", metavar="ID")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="Not this sender.", metavar="ID")] = None,
    workspace: Workspace = "",
    json: Json = False,
) -> None:
    """Show who sends a campaign, in turn; or change that, while it is a draft."""
    with _campaigns(target) as campaigns:
        if only or add or remove:
            campaigns.choose_senders(
                workspace, id, by=machine_user(), only=only or (), add=add or (), remove=remove or ()
            )
        found = campaigns.status(workspace, id).draft.senders
    if json:
        print_json({"senders": [sender_record(each) for each in found]})
    else:
        standard_output().print(senders_table(found))


def sequence(
    target: Target,
    id: Annotated[
        str | None,
        typer.Argument(help="Which one; without it all are listed.", metavar="ID", show_default=False),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Give it the [[steps]] of this TOML file, as its next version.", metavar="FILE"),
    ] = None,
    workspace: Workspace = "",
    json: Json = False,
) -> None:
    """List sequences, show the newest version of one, or give it other steps as its next version."""
    if id is None:
        if file is not None:
            remedy = f"say which sequence: {command_of('sequence ID --file FILE', workspace)}"
            raise InvalidCampaign("id", "is missing", remedy)
        _list_sequences(target, workspace, json=json)
        return
    with _campaigns(target) as campaigns:
        if file is not None:
            campaigns.edit_sequence(workspace, read_steps(_text_of(file), id=id), by=machine_user())
        found = campaigns.sequence(workspace, id)
    if json:
        print_json(sequence_record(found))
    else:
        standard_output().print(sequence_text(found), soft_wrap=True)


def check(
    target: Target,
    id: CampaignId,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Render for the first so many prospects; else for all.")
    ] = None,
    workspace: Workspace = "",
    json: Json = False,
) -> None:
    """Tell what keeps a campaign from being launched: settings, senders, words, prospects. Nothing is changed."""
    portals = find_portals(target.settings().portals)
    with _campaigns(target) as campaigns:
        prospects = campaigns.status(workspace, id).prospects
        with stages(prospects if sample is None else min(sample, prospects)) as tell:
            looked_at = partial(tell, LaunchStage.CHECKING)
            checked = campaigns.check(workspace, id, portals=portals, sample=sample, progress=looked_at)
    if json:
        print_json(checked_record(checked))
    else:
        standard_output().print(problems_text(checked), soft_wrap=True)
    if not checked.ok:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def forecast(target: Target, id: CampaignId, workspace: Workspace = "", json: Json = False) -> None:
    """Tell when a campaign would begin and end if it were launched now, day by day. Nothing is changed.

    One that is paused is counted as if it were resumed, one that was cancelled as if it were launched again.
    """
    with _campaigns(target) as campaigns:
        found = campaigns.forecast(workspace, id)
    if json:
        print_json(forecast_record(found))
    else:
        again = command_of(f"launch {shlex.quote(id)} --again", workspace)
        standard_output().print(forecast_picture(found, again=again))


def status(
    target: Target,
    id: CampaignId,
    books: Annotated[bool, typer.Option("--check", help="Also whether its books add up; exit code 1 if not.")] = False,
    workspace: Workspace = "",
    json: Json = False,
) -> None:
    """Show one campaign: where it stands, what it is made of, who is in it, what became of prospects and mails."""
    with _campaigns(target) as campaigns:
        found = campaigns.status(workspace, id)
        people, totals = campaigns.headcount(workspace, id), campaigns.totals(workspace, id)
        held = campaigns.impasses_of_campaign(workspace, found)
        wrong = campaigns.discrepancies(workspace, id) if books else ()
    if json:
        told = {"impasses": impasse_records(held, workspace)}
        became = headcount_record(people) | totals_record(totals, wrong if books else None)
        print_json(whole_record(found) | became | told)
    else:
        standard_output().print(facts_of_campaign(found))
        _tell_impasses(held, workspace)
        if not found.campaign.unlaunched:
            standard_output().print(facts_of_totals(people, totals))
        if books and not wrong:
            sums = sums_in_words(people, totals)
            standard_output().print(Text(f"The books add up: {sums}.", style="green"), soft_wrap=True)
        for each in wrong:
            _say(f"Does not add up: {each}.")
    if wrong:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def list_campaigns(target: Target, workspace: Workspace = "", json: Json = False) -> None:
    """The campaigns of a workspace."""
    with _campaigns(target) as campaigns:
        found = list(_all(campaigns, workspace))
    if json:
        print_json({"campaigns": [campaign_record(each) for each in found]})
    elif found:
        standard_output().print(campaigns_table(found))
    else:
        _hint("There is no campaign yet; `postroom campaign new --example` shows how to begin one.")


COMMANDS: dict[str, Callable[..., None]] = {
    "new": new,
    "settings": settings,
    "sender": sender,
    "senders": senders,
    "sequence": sequence,
    "import": import_prospects,
    "check": check,
    "forecast": forecast,
    "launch": launch,
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "status": status,
    "waiting": waiting,
    "list": list_campaigns,
}

app = typer.Typer(help="Campaigns: sequences of emails to many people.", no_args_is_help=True)

for command_name, function in COMMANDS.items():
    app.command(command_name)(command(function))


@contextmanager
def _campaigns(target: Target) -> Iterator[CampaignOperations]:
    with target.outbox() as outbox:
        yield CampaignOperations(outbox)


def _shared(campaigns: CampaignOperations, workspace: str) -> Shared:
    return Shared(settings=campaigns.settings_of(workspace), senders=campaigns.senders(workspace))


def _all(campaigns: CampaignOperations, workspace: str) -> Iterator[CampaignView]:
    """Page by page."""
    page = campaigns.list(workspace)
    while page:
        yield from page
        page = campaigns.list(workspace, after=page[-1].campaign.id)


def _tell_impasses(held: Iterable[Impasse], workspace: str) -> None:
    for each in held:
        remedy = f"{each.remedy[:1].upper()}{each.remedy[1:]}: {command_of(each.words, workspace)}"
        standard_error().print(Text(f"{each.told} {remedy}", style="yellow"), soft_wrap=True)


def _list_sequences(target: Target, workspace: str, *, json: bool) -> None:
    with _campaigns(target) as campaigns:
        found = campaigns.sequences(workspace)
    if json:
        print_json({"sequences": [outline_record(each) for each in found]})
    elif found:
        standard_output().print(sequences_table(found))
    else:
        _hint("There is no sequence yet; `postroom campaign new` makes one with its campaign.")


def _text_of(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidCampaign("file", f"{file} is not UTF-8", "save it as UTF-8") from error


def _say(text: str) -> None:
    standard_output().print(Text(text), soft_wrap=True)


def _hint(text: str) -> None:
    standard_error().print(Text(text), soft_wrap=True)
