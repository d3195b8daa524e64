"""campaign launch, pause, resume, cancel, waiting: what is done to campaigns beyond their drafts."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from postroom.campaigns.drafts.passing import passed_in_words
from postroom.campaigns.sending.launching import Launched
from postroom.cli.campaign_options import CampaignId, Workspace
from postroom.cli.campaign_progress import stages
from postroom.cli.campaign_tables import waiting_table
from postroom.cli.choice import Json, machine_user
from postroom.cli.problems import ExitCode
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.target import Target
from postroom.operate.campaign_looks import CampaignLooks
from postroom.operate.campaign_records import explained_record, launched_record
from postroom.operate.campaigns import CampaignOperations
from postroom.operate.wording import count_of
from postroom.templates.found import find_portals
from postroom.vocabulary import CampaignStatus


def launch(
    target: Target,
    id: CampaignId,
    again: Annotated[bool, typer.Option("--again", help="Also where it was cancelled.")] = False,
    workspace: Workspace = "",
    json: Json = False,
) -> None:
    """Check a campaign, and launch it: from then on workers send it. The same again goes on where it was cut short."""
    portals = find_portals(target.settings().portals)
    with target.outbox() as outbox:
        campaigns = CampaignOperations(outbox)
        with stages(campaigns.status(workspace, id).prospects) as tell:
            launched = campaigns.launch(workspace, id, by=machine_user(), portals=portals, again=again, progress=tell)
    _tell_launched(launched, json=json)


def pause(
    target: Target,
    id: CampaignId,
    reason: Annotated[str | None, typer.Option(help="Why, for those who wonder.", show_default=False)] = None,
    workspace: Workspace = "",
) -> None:
    """Let nothing of a campaign leave until it is resumed; at most the mail that is being handed over goes out."""
    with target.outbox() as outbox:
        paused = CampaignOperations(outbox).pause(workspace, id, by=machine_user(), reason=reason)
    if (paused.pause_reason or None) == (reason or None):
        _say(f"{id} is paused.")
    else:
        _say(f"{id} was paused before, and stays so: {paused.pause_reason or 'nobody said why'}.")


def resume(target: Target, id: CampaignId, workspace: Workspace = "", json: Json = False) -> None:
    """Let a paused campaign run again. What became due leaves within windows, quota and gap."""
    with target.outbox() as outbox:
        campaigns = CampaignOperations(outbox)
        before = campaigns.status(workspace, id).campaign.status
        launched = campaigns.resume(workspace, id, by=machine_user())
    if json or launched.scheduled or launched.status is not CampaignStatus.RUNNING:
        _tell_launched(launched, json=json)
    else:
        _say(f"{id} is running {'already' if before is CampaignStatus.RUNNING else 'again'}.")


def cancel(target: Target, id: CampaignId, workspace: Workspace = "") -> None:
    """Let nothing of a campaign leave ever again, unless it is launched again on purpose."""
    with target.outbox() as outbox:
        stopped = CampaignOperations(outbox).cancel(workspace, id, by=machine_user())
    mails = stopped.mails + len(stopped.cancelled)
    _say(f"{id} is cancelled; {count_of(mails, 'mail')} will not leave.")


def waiting(
    target: Target,
    id: CampaignId,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="At most so many.")] = 50,
    workspace: Workspace = "",
    json: Json = False,
) -> None:
    """The mails of a campaign that have not left, each with when it is to leave and the one reason why it waits."""
    with target.outbox() as outbox:
        campaigns = CampaignOperations(outbox)
        settings = campaigns.settings_of(workspace).sending
        found = campaigns.waiting(workspace, id, limit=limit)
        people = {each.mail.prospect_id for each in found}
        addresses = CampaignLooks(outbox).addresses(workspace, sorted(people))
    if json:
        mails = [explained_record(each, settings, address=addresses.get(each.mail.prospect_id, "")) for each in found]
        print_json({"timezone": settings.timezone, "mails": mails})
    elif found:
        standard_output().print(waiting_table(found, settings, addresses))
        _say(f"Times by the clock of the workspace, {settings.timezone}.")
    else:
        standard_error().print("No mail of this campaign waits.")


def _tell_launched(launched: Launched, *, json: bool) -> None:
    if json:
        print_json(launched_record(launched))
    else:
        _say(f"{_mails_that_leave(launched)}; the campaign is {launched.status}.")
        for reason, count in launched.skipped.items():
            _say(f"{count_of(count, 'prospect')} skipped: {passed_in_words(reason)}.")
        for error in launched.errors:
            standard_error().print(Text(error), soft_wrap=True)
    if launched.status not in (CampaignStatus.RUNNING, CampaignStatus.COMPLETED):
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _mails_that_leave(launched: Launched) -> str:
    """`16 mails will leave after all`, where a cancelled campaign was launched again."""
    scheduled = f"{count_of(launched.scheduled, 'mail')} scheduled"
    if not launched.revived:
        return scheduled
    revived = f"{count_of(launched.revived, 'mail')} will leave after all"
    return f"{scheduled}, {revived}" if launched.scheduled else revived


def _say(text: str) -> None:
    standard_output().print(Text(text), soft_wrap=True)
