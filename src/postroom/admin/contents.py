"""A letter made ready to be looked at: its pieces as text, which templates escape, and its HTML behind three walls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime
from email.parser import BytesHeaderParser
from email.policy import compat32
from typing import Any

from icalendar import Calendar

from postroom.admin.viewer import CannotShow, Inline, remote_image_count, safe_document
from postroom.compose import Letter

LONGEST_SOURCE = 200_000
"""Characters of the source shown on a page; the whole can be downloaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InviteView:
    """An invite as a card."""

    method: str
    summary: str
    starts: str
    ends: str
    month: str
    day: str
    location: str
    organizer: str
    attendees: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """An attachment that can be downloaded."""

    number: int
    filename: str
    content_type: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The HTML of an email, for `<iframe sandbox srcdoc>`; or why it is not shown."""

    document: str = ""
    problem: str = ""
    """`too deep to show`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentView:
    """What there is to see of one version of an email."""

    letter: Letter
    views: tuple[str, ...]
    """Those of `html`, `text`, `variables`, `invite`, `attachments`, `headers`, `source` that it has."""
    files: tuple[FileView, ...]
    remote_images: int
    """How many pictures its HTML would fetch from elsewhere."""

    @property
    def text(self) -> str:
        return self.letter.text or ""

    @property
    def variables(self) -> str:
        """What its template is to be filled in with."""
        return json.dumps(json.loads(self.letter.late or "{}"), ensure_ascii=False, indent=2)

    def preview(self, *, remote_images: bool) -> Preview:
        """The HTML as it may be looked at. May take a second."""
        inline = {
            each.content_id: (each.content_type, each.content)
            for each in self.letter.attachments
            if each.content_id is not None
        }
        return preview_of(self.letter.html or "", remote_images=remote_images, inline=inline)

    @property
    def source(self) -> str:
        """As it travels, up to a length that a browser shows with ease."""
        return self.letter.as_bytes().decode("utf-8", "replace")[:LONGEST_SOURCE]

    @property
    def headers(self) -> list[tuple[str, str]]:
        """As they travel, unfolded."""
        parsed = BytesHeaderParser(policy=compat32).parsebytes(self.letter.as_bytes())
        return [(name, " ".join(str(value).split())) for name, value in parsed.items()]

    @property
    def invite(self) -> InviteView | None:
        return _invite(self.letter)


def preview_of(html: str, *, remote_images: bool, inline: Inline) -> Preview:
    """HTML as it may be looked at, or why not."""
    try:
        return Preview(document=safe_document(html, remote_images=remote_images, inline=inline))
    except CannotShow as error:
        return Preview(problem=str(error))


def letter_view(letter: Letter) -> ContentView:
    """Look at a letter. One that is not rendered yet has neither headers nor a source."""
    rendered = letter.late is None
    has = {
        "html": bool(letter.html),
        "text": bool(letter.text),
        "variables": not rendered,
        "invite": letter.calendar is not None,
        "attachments": bool(letter.attachments),
        "headers": bool(letter.senders) and rendered,  # only emails are sent with headers of their own making
        "source": rendered,
    }
    files = tuple(
        FileView(number=number, filename=each.filename, content_type=each.content_type, size=len(each.content))
        for number, each in enumerate(letter.attachments, 1)
    )
    return ContentView(
        letter=letter,
        views=tuple(name for name, present in has.items() if present),
        files=files,
        remote_images=remote_image_count(letter.html or ""),
    )


def _invite(letter: Letter) -> InviteView | None:
    if letter.calendar is None:
        return None
    events = Calendar.from_ical(letter.calendar.ics).walk("VEVENT")
    if not events:
        return None
    event = events[0]
    starts = _moment(event.get("DTSTART"))
    attendees = event.get("ATTENDEE", [])
    return InviteView(
        method=letter.calendar.method,
        summary=str(event.get("SUMMARY", "")),
        starts=_written(starts),
        ends=_written(_moment(event.get("DTEND"))),
        month=starts.strftime("%b") if starts else "",
        day=str(starts.day) if starts else "",
        location=str(event.get("LOCATION", "")),
        organizer=_bare(event.get("ORGANIZER", "")),
        attendees=tuple(map(_bare, attendees if isinstance(attendees, list) else [attendees])),
        description=str(event.get("DESCRIPTION", "")),
    )


def _moment(property: Any) -> date | datetime | None:
    return getattr(property, "dt", None)


def _written(moment: date | datetime | None) -> str:
    """In the event's own zone, which is the one people will meet in."""
    if isinstance(moment, datetime):
        return f"{moment:%a %d %b %Y, %H:%M} {moment.tzname() or ''}".strip()
    return f"{moment:%a %d %b %Y}" if moment else ""


def _bare(address: object) -> str:
    return str(address).removeprefix("mailto:").removeprefix("MAILTO:")
