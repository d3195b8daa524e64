"""What the JSON API says, in its own words: camelCase, times in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from postroom.inbox.chaos import Trouble
from postroom.inbox.invitation import Invitation
from postroom.inbox.received import Enclosure, ReadMessage
from postroom.inbox.shelf import KeptMessage


class Shape(BaseModel):
    """A JSON object."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class MessageLine(Shape):
    """A message in the list."""

    id: int
    received_at: datetime
    sender: str
    recipients: list[str]
    author: str = Field(serialization_alias="from")
    subject: str
    message_id: str
    snippet: str
    attachments: int
    size: int

    @classmethod
    def of(cls, message: KeptMessage) -> Self:
        return cls(
            id=message.id,
            received_at=message.received_at,
            sender=message.sender,
            recipients=list(message.recipients),
            author=message.author,
            subject=message.subject,
            message_id=message.message_id,
            snippet=message.snippet,
            attachments=message.enclosures,
            size=message.size,
        )


class MessageList(Shape):
    """A page of the list, newest first."""

    messages: list[MessageLine]
    total: int
    """How many match, on all pages."""
    next: int | None
    """For `before`, to see older ones."""


class HeaderLine(Shape):
    """One header."""

    name: str
    value: str


class AttachmentLine(Shape):
    """A file of a message, and where it is."""

    number: int
    name: str
    media_type: str
    content_id: str
    size: int
    url: str

    @classmethod
    def of(cls, id: int, enclosure: Enclosure) -> Self:
        return cls(
            number=enclosure.number,
            name=enclosure.name,
            media_type=enclosure.media_type,
            content_id=enclosure.content_id,
            size=len(enclosure.content),
            url=f"/messages/{id}/attachments/{enclosure.number}",
        )


class InviteCard(Shape):
    """The appointment in an invite."""

    method: str
    summary: str
    start: str
    end: str
    location: str
    description: str
    organizer: str
    attendees: list[str]
    uid: str
    sequence: str

    @classmethod
    def of(cls, invitation: Invitation | None) -> Self | None:
        return None if invitation is None else cls.model_validate(invitation)


class WholeMessage(Shape):
    """A message opened."""

    message: MessageLine
    headers: list[HeaderLine]
    text: str | None
    html: str | None
    attachments: list[AttachmentLine]
    invite: InviteCard | None
    raw_url: str

    @classmethod
    def of(cls, message: KeptMessage, letter: ReadMessage) -> Self:
        return cls(
            message=MessageLine.of(message),
            headers=[HeaderLine(name=name, value=value) for name, value in letter.headers],
            text=letter.text,
            html=letter.html,
            attachments=[AttachmentLine.of(message.id, each) for each in letter.enclosures],
            invite=InviteCard.of(letter.invitation),
            raw_url=f"/messages/{message.id}/raw",
        )


class Deleted(Shape):
    """How many messages were deleted."""

    deleted: int


class State(Shape):
    """What the page asks every second: is there anything new?"""

    changes: int


class Switch(Shape):
    """A trouble that is on."""

    trouble: Trouble
    times: int | None = Field(default=None, ge=1, le=1_000_000)
    """For so many messages more; null for all."""


class ChaosState(Shape):
    """The troubles that are on; given to `PUT`, those that are to be on."""

    on: list[Switch] = Field(max_length=len(Trouble))
