"""Send again, corrected: replay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from postroom.cli.acts import Act, carry_out
from postroom.cli.choice import ActOptions, FilterOptions, Ids, Json
from postroom.cli.send import read_body
from postroom.cli.target import Target

_PANEL = "Corrections"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionOptions:
    """What replaces what the email had; the rest stays."""

    to: Annotated[
        list[str] | None,
        typer.Option(help="The recipients instead; repeat it for more.", metavar="ADDRESS", rich_help_panel=_PANEL),
    ] = None
    cc: Annotated[
        list[str] | None, typer.Option(help="The copies instead.", metavar="ADDRESS", rich_help_panel=_PANEL)
    ] = None
    bcc: Annotated[
        list[str] | None, typer.Option(help="The blind copies instead.", metavar="ADDRESS", rich_help_panel=_PANEL)
    ] = None
    new_subject: Annotated[
        str | None, typer.Option("--subject", help="The subject instead.", rich_help_panel=_PANEL)
    ] = None
    text: Annotated[str | None, typer.Option(help="The text instead.", rich_help_panel=_PANEL)] = None
    html: Annotated[str | None, typer.Option(help="The HTML instead.", rich_help_panel=_PANEL)] = None
    text_file: Annotated[
        Path | None, typer.Option(help="The text from a file, or - for standard input.", rich_help_panel=_PANEL)
    ] = None
    html_file: Annotated[
        Path | None, typer.Option(help="The HTML from a file, or - for standard input.", rich_help_panel=_PANEL)
    ] = None

    def as_corrections(self) -> dict[str, Any]:
        """What `Operations.act` takes."""
        return {
            "to": self.to or None,
            "cc": self.cc or None,
            "bcc": self.bcc or None,
            "subject": self.new_subject,
            "text": read_body("text", self.text, self.text_file),
            "html": read_body("html", self.html, self.html_file),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFilterOptions(FilterOptions):
    """As everywhere, but for the subject: `--subject` is the correction here."""

    subject: Annotated[
        str | None,
        typer.Option("--in-subject", help="With this text in the old subject.", rich_help_panel="Which emails"),
    ] = None


def replay(
    target: Target,
    corrections: CorrectionOptions,
    wanted: ReplayFilterOptions,
    options: ActOptions,
    ids: Ids = None,
    json: Json = False,
) -> None:
    """Send dead, doubtful or cancelled emails again, corrected. Key, Message-ID and history stay."""
    act = Act(name="replay", done="replayed", corrections=corrections.as_corrections())
    carry_out(target, act, ids, wanted, options, json=json)
