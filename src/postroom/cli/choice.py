"""Which emails a command is about: by id, or by what they have in common."""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Annotated

import typer

from postroom.cli.moments import past_moment
from postroom.errors import ConfigurationError
from postroom.operate import Search, recognise
from postroom.vocabulary import EmailId, Status

_PANEL = "Which emails"

Ids = Annotated[list[str] | None, typer.Argument(help="Emails by their ids.", metavar="ID", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="For programs: one JSON object on standard output.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """What chosen emails have in common. Several options narrow together."""

    status: Annotated[
        Status | None, typer.Option(help="In this status.", rich_help_panel=_PANEL, case_sensitive=False)
    ] = None
    kind: Annotated[str | None, typer.Option(help="Of this kind.", rich_help_panel=_PANEL)] = None
    workspace: Annotated[str | None, typer.Option(help="In this workspace.", rich_help_panel=_PANEL)] = None
    route: Annotated[str | None, typer.Option(help="On this route.", rich_help_panel=_PANEL)] = None
    recipient: Annotated[
        str | None, typer.Option(help="To this address, in to, cc or bcc.", metavar="ADDRESS", rich_help_panel=_PANEL)
    ] = None
    key: Annotated[str | None, typer.Option(help="Under this idempotency key.", rich_help_panel=_PANEL)] = None
    tag: Annotated[str | None, typer.Option(help="With this tag.", rich_help_panel=_PANEL)] = None
    portal: Annotated[str | None, typer.Option(help="From a template of this portal.", rich_help_panel=_PANEL)] = None
    template: Annotated[
        str | None, typer.Option(help="From this template: hub.welcome.", metavar="NAME", rich_help_panel=_PANEL)
    ] = None
    version: Annotated[
        str | None, typer.Option("--version", help="From this version of its template.", rich_help_panel=_PANEL)
    ] = None
    language: Annotated[
        str | None, typer.Option(help="Rendered in this language: de.", metavar="TAG", rich_help_panel=_PANEL)
    ] = None
    subject: Annotated[
        str | None, typer.Option("--subject", help="With this text in the subject.", rich_help_panel=_PANEL)
    ] = None
    since: Annotated[
        str | None,
        typer.Option(help="Enqueued since then: 2h, 7d, 2026-05-17T09:30.", metavar="TIME", rich_help_panel=_PANEL),
    ] = None
    until: Annotated[str | None, typer.Option(help="Enqueued before then.", metavar="TIME", rich_help_panel=_PANEL)] = (
        None
    )
    reply_code: Annotated[
        int | None,
        typer.Option(help="Last answered with this SMTP code, such as 550.", metavar="CODE", rich_help_panel=_PANEL),
    ] = None

    @property
    def narrows(self) -> bool:
        """Whether anything was asked for at all."""
        return any(getattr(self, field.name) is not None for field in fields(self))

    def as_search(self) -> Search:
        """What is looked for, with times worked out."""
        now = datetime.now(UTC)
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        given["since"] = past_moment("--since", self.since, now=now)
        given["until"] = past_moment("--until", self.until, now=now)
        return Search(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActOptions:
    """How an act is carried out."""

    everything: Annotated[bool, typer.Option("--all", help="Every email it applies to.", rich_help_panel=_PANEL)] = (
        False
    )
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most this many, newest first.", rich_help_panel=_PANEL)
    ] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count; change nothing.")] = False
    reason: Annotated[str, typer.Option(help="Why, for the audit log.", metavar="TEXT")] = ""
    by: Annotated[
        str | None, typer.Option(help="Who does it, for the history; else the user of this machine.", metavar="NAME")
    ] = None

    @property
    def actor(self) -> str:
        return self.by or machine_user()


def check_choice(ids: Sequence[str] | None, wanted: FilterOptions, options: ActOptions) -> tuple[EmailId, ...]:
    """The ids that were given; none when a filter was. Refuses neither and both."""
    narrows = wanted.narrows or options.everything
    if ids and (narrows or options.limit is not None):
        raise ConfigurationError("ids and filters were given; give one or the other")
    if not ids and not narrows:
        raise ConfigurationError("no email was named; give ids, a filter such as --status dead, or --all")
    return tuple(dict.fromkeys(email_id(id) for id in ids or ()))


def email_id(text: str) -> EmailId:
    """An id in its canonical spelling."""
    return _id(text, "an email", shown_by="postroom list")


def return_id(text: str) -> str:
    """The id of something that came back, in its canonical spelling."""
    return _id(text, "anything that came back", shown_by="postroom returns --list")


def _id(text: str, what: str, *, shown_by: str) -> EmailId:
    """Ids are spelled alike, whatever they are of."""
    id = recognise.email_id(text.strip())
    if id is None:
        raise ConfigurationError(f"{text!r} is not the id of {what}; `{shown_by}` shows ids")
    return id


def machine_user() -> str:
    """Who is signed in; their number where the machine has no name for them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
