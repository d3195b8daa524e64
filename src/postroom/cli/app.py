"""All commands, in the order in which `postroom --help` lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from postroom import __version__
from postroom.cli.catalogue import Outline, catalogue
from postroom.cli.command import command
from postroom.cli.target import Target

COMMANDS: dict[str, Outline] = {
    "demo": Outline(
        "demonstration.demo", "Watch emails survive an outage: SQLite, worker, admin app and dev inbox in one process."
    ),
    "migrate": Outline(
        "schema.migrate",
        "Create or upgrade the tables. Any number of processes may try at once; a second time does nothing.",
    ),
    "doctor": Outline(
        "doctor.doctor",
        "Check settings, database, clock, journals, mail server, broker, and that no email was lost. Changes nothing.",
    ),
    "worker": Outline(
        "working.worker",
        "Claim, send and settle emails until stopped. SIGTERM lets what is under way finish and gives the rest back.",
    ),
    "scheduler": Outline(
        "dispatching.scheduler",
        "Name due emails in messages to RabbitMQ until stopped. Run as many as you like; senders do the sending.",
    ),
    "sender": Outline(
        "dispatching.sender",
        "Send what messages from RabbitMQ name, and campaigns, until stopped. SIGTERM lets what is under way finish.",
    ),
    "web": Outline("web.web", "Serve the admin app: the dashboard, the email queue and the JSON API."),
    "inbox": Outline("inbox.inbox", "Take every email, send none on, and show them on a page. For development only."),
    "send": Outline("send.send", "Put one email into the outbox, from where a worker sends it."),
    "list": Outline("reading.list_emails", "List emails, newest first."),
    "show": Outline("reading.show", "Show one email: where it stands, its recipients and its history."),
    "stats": Outline("reading.stats", "Count emails by status; tell how the ways out are."),
    "events": Outline("events.events", "Tell what happened to emails, oldest first, in order and without gaps."),
    "retry": Outline("acting.retry", "Start dead or doubtful emails over: due now, with all their attempts."),
    "dismiss": Outline(
        "acting.dismiss", "Delete dead or doubtful emails. Their keys stay taken; `reinstate` undoes it for a while."
    ),
    "reinstate": Outline(
        "reinstating.reinstate",
        "Take a dismissal back for as long as the setting `undo` says. Without ids: list what can be reinstated.",
    ),
    "cancel": Outline("acting.cancel", "Stop emails that have not left yet."),
    "replay": Outline(
        "replaying.replay",
        "Send dead, doubtful or cancelled emails again, corrected. Key, Message-ID and history stay.",
    ),
    "prune": Outline(
        "pruning.prune",
        "Remove finished emails past retention. On a terminal it asks first; a scheduled job is not asked.",
    ),
    "returns": Outline(
        "returning.returns",
        "Take in messages that come back: bounces, complaints, answers. Each is recorded once, on its email.",
    ),
    "route": Outline("routes.app", "Ways out: how they are doing, and whether they may send."),
    # What it was called before.
    "transport": Outline("routes.app", "Ways out: how they are doing, and whether they may send.", hidden=True),
    "suppress": Outline("suppressing.app", "Suppressions: who is not to be mailed, and why."),
    "template": Outline("templates.app", "Templates: which there are, and what is wrong with them."),
    "campaign": Outline("campaigns.app", "Campaigns: sequences of emails to many people."),
    "region": Outline("regions.app", "Regions: how each of them is doing."),
    "deployment": Outline("deployment.app", "Whose database this is, and what becomes of a copy."),
    "user": Outline("people.app", "People: who may sign in to the admin app, and what they did."),
}
"""Every command with what the list says of it; one is imported when it is called."""

app = typer.Typer(
    cls=catalogue(COMMANDS),
    help="The reliable email outbox: every email your application commits is sent, or you can see why not.",
    epilog="Exit codes: 0 done · 1 not found, not applicable, or a problem found · 2 usage or configuration · "
    "3 database unreachable · 4 stopped although emails are due.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"postroom {__version__}")
        raise typer.Exit


@app.callback()
@command
def postroom(
    target: Target,
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help="Tell the version and leave.")
    ] = False,
) -> None:
    """Keeps what was said before the name of a command, for the command."""
    context.obj = target
