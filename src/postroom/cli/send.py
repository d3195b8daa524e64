"""One email from the command line: send."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.choice import Json
from postroom.cli.moments import coming_moment
from postroom.cli.screen import print_json, somebody_is_there, standard_output
from postroom.cli.target import Target
from postroom.compose import Attachment, Email
from postroom.errors import ConfigurationError, InvalidEmail
from postroom.outbox.submission import Submission, Wishes, read_priority
from postroom.store.contract import Receipt
from postroom.vocabulary import OnDoubt


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailOptions:
    """What the email says, and to whom."""

    to: Annotated[list[str] | None, typer.Option(help="A recipient; repeat it for more.", metavar="ADDRESS")] = None
    cc: Annotated[list[str] | None, typer.Option(help="A recipient of a copy.", metavar="ADDRESS")] = None
    bcc: Annotated[list[str] | None, typer.Option(help="A recipient nobody sees.", metavar="ADDRESS")] = None
    sender: Annotated[
        str | None, typer.Option("--from", "--sender", help="Who it is from; else the setting.", metavar="ADDRESS")
    ] = None
    reply_to: Annotated[str | None, typer.Option(help="Where answers go.", metavar="ADDRESS")] = None
    subject: Annotated[str, typer.Option("--subject", "-s", help="The subject.")] = ""
    text: Annotated[str | None, typer.Option(help="The text; without any body, standard input is read.")] = None
    html: Annotated[str | None, typer.Option(help="The HTML; a text is derived from it.")] = None
    text_file: Annotated[Path | None, typer.Option(help="The text from a file, or - for standard input.")] = None
    html_file: Annotated[Path | None, typer.Option(help="The HTML from a file, or - for standard input.")] = None
    attach: Annotated[list[Path] | None, typer.Option(help="A file to attach; repeat it for more.")] = None
    header: Annotated[list[str] | None, typer.Option(help="A header of your own.", metavar="'NAME: VALUE'")] = None
    tag: Annotated[list[str] | None, typer.Option(help="A word to find it by.")] = None

    def compose(self) -> Email:
        """The email, checked."""
        text, html = read_body("text", self.text, self.text_file), read_body("html", self.html, self.html_file)
        if text is None and html is None:
            text = _piped_text()
        return Email(
            to=self.to,
            cc=self.cc,
            bcc=self.bcc,
            sender=self.sender,
            reply_to=self.reply_to,
            subject=self.subject,
            text=text,
            html=html,
            attachments=[_attachment(path) for path in self.attach or ()],
            headers=[_header(header) for header in self.header or ()],
            tags=self.tag or (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WishOptions:
    """How it is to be sent."""

    key: Annotated[str | None, typer.Option(help="Idempotency key: a second email under it is not sent.")] = None
    priority: Annotated[str, typer.Option(help="urgent, normal or bulk.", metavar="LANE")] = "normal"
    policy: Annotated[str | None, typer.Option(help="The retry policy; else the setting.", metavar="NAME")] = None
    not_before: Annotated[str | None, typer.Option(help="Not before then: 2h, 2026-05-17T09:30.", metavar="TIME")] = (
        None
    )
    expires_at: Annotated[str | None, typer.Option(help="Not after then.", metavar="TIME")] = None
    kind: Annotated[str, typer.Option(help="What kind of email it is.")] = ""
    workspace: Annotated[str, typer.Option(help="Whose it is; keys are unique within it.")] = ""
    route: Annotated[str | None, typer.Option(help="The way out; else as the rules have it.", metavar="NAME")] = None
    sensitive: Annotated[bool, typer.Option("--sensitive", help="Its content is not for everybody's eyes.")] = False
    unsubscribable: Annotated[
        bool, typer.Option("--unsubscribable", help="Its reader can stop such emails, by one click.")
    ] = False
    on_doubt: Annotated[OnDoubt, typer.Option(help="When nobody can know whether it arrived: send again, or hold.")] = (
        OnDoubt.RESEND
    )

    def submission(self, email: Email) -> Submission:
        """The email with all this, times worked out."""
        now = datetime.now(UTC)
        wishes = Wishes(
            priority=read_priority(self.priority),
            policy=self.policy,
            not_before=coming_moment("--not-before", self.not_before, now=now),
            expires_at=coming_moment("--expires-at", self.expires_at, now=now),
            kind=self.kind,
            workspace=self.workspace,
            route=self.route,
            sensitive=self.sensitive,
            unsubscribable=self.unsubscribable,
            on_doubt=self.on_doubt,
        )
        return Submission(email, self.key, wishes)


def send(
    target: Target,
    letter: EmailOptions,
    wishes: WishOptions,
    queue: Annotated[bool, typer.Option("--queue", hidden=True, help="Leave it to the worker.")] = False,
    json: Json = False,
) -> None:
    """Put one email into the outbox, from where a worker sends it."""
    with target.outbox() as outbox:
        receipt = outbox.submit(wishes.submission(letter.compose()))
    if json:
        print_json({"id": receipt.id, "duplicate": receipt.duplicate, "content_differs": receipt.content_differs})
    else:
        standard_output().print(Text(_said(receipt)), soft_wrap=True)


def read_body(option: str, given: str | None, file: Path | None) -> str | None:
    """A body from its option or its file; None where neither is given."""
    if file is None:
        return given
    if given is not None:
        raise ConfigurationError(f"--{option} and --{option}-file were given; give one or the other")
    octets = sys.stdin.buffer.read() if str(file) == "-" else _contents(file)
    try:
        return octets.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidEmail(option, f"{file} is not UTF-8", "convert it first") from None


def _piped_text() -> str:
    if somebody_is_there():
        raise ConfigurationError(
            "the email says nothing; give --text, --html, --text-file or --html-file, or pipe it in"
        )
    return sys.stdin.read()


def _contents(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from error


def _attachment(path: Path) -> Attachment:
    return Attachment(path.name, _contents(path))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise ConfigurationError(f"--header {text!r} has no colon; write 'Name: value'")
    return name, value.strip()


def _said(receipt: Receipt) -> str:
    if not receipt.duplicate:
        return f"enqueued {receipt.id}"
    differs = ", with other content: that of the first is sent" if receipt.content_differs else ""
    return f"duplicate of {receipt.id} under the same key{differs}; nothing was added"
