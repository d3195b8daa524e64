"""Which email a return is about, and which of its recipients. Pure.

A mention of an email is believed if it is signed, which only we can do, or if the Message-ID is that of the email. An
email that is gone believes nothing any more: the return is kept and says so. Of a campaign's, the mail stays when its
email goes: then it is known whose the return is, and it is not unclear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from postroom.store.ids import new_id
from postroom.store.notes import RETURNS, UNREADABLE, Mention, Note
from postroom.store.suppressions import normal_address
from postroom.vocabulary import EmailId, Return

GONE = "the email it is about is not in the outbox any more"
UNKNOWN = "it speaks of an email that is not in the outbox"
UNMENTIONED = "it does not say which email it is about"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentioned:
    """An email that something may be about, as far as it matters here."""

    id: EmailId
    workspace: str
    attempts: int
    sensitive: bool
    message_ids: frozenset[str]
    """As they are compared."""
    recipients: tuple[str, ...]
    """Everybody it was ever for, once, by `normal_address`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The mail of a campaign that something may be about, where its email need not be there any more."""

    workspace: str
    message_id: str
    """As it is compared; empty before it has left."""


@dataclass(slots=True, kw_only=True)
class Arrival:
    """A note on its way into the database."""

    note: Note
    id: str = field(default_factory=new_id)
    email_id: EmailId | None = None
    email: Mentioned | None = None
    """None also where the email is known and gone."""
    mail: Remembered | None = None
    """Of an email that is gone and was mail of a campaign."""
    recipient: str = ""
    """Of the email; empty where none of several is named."""
    certain: bool = False
    at: datetime | None = None
    """When it was written down; None while it is not, or was before."""
    suppressed: bool = False

    @property
    def new(self) -> bool:
        return self.at is not None

    @property
    def quotes_a_secret(self) -> bool:
        """Whether the message may hold what a sensitive email said, and must not be kept."""
        if self.email is not None:
            return self.email.sensitive
        # Of one that is gone, nobody can say any more, unless it was mail of a campaign: that is never sensitive.
        return self.email_id is not None and self.mail is None

    @property
    def workspace(self) -> str | None:
        """Of the email; None where nobody knows it."""
        known = self.email or self.mail
        return known.workspace if known else None

    @property
    def unclear(self) -> bool:
        """A person should look: nobody knows which email it is about, or what it says."""
        return self.note.what == UNREADABLE or (self.said is not None and self.email_id is None)

    @property
    def said(self) -> Return | None:
        return Return(self.note.what) if self.note.what in RETURNS else None


def matched(note: Note, emails: Mapping[EmailId, Mentioned], mails: Mapping[EmailId, Remembered]) -> Arrival:
    """The note with the email and the recipient it is about, or with why that cannot be told.

    `mails` are those of campaigns whose email may be gone.
    """
    for mention in note.mentions:
        email, mail = emails.get(mention.id), mails.get(mention.id)
        if email is not None and _is_believed(mention, email):
            recipient, certain = _recipient(note, email, signed=mention.signed)
            said = recipient if certain else note.address or recipient
            note = replace(note, address=said)
            return Arrival(note=note, email_id=email.id, email=email, recipient=recipient, certain=certain)
        if mention.signed or (mail is not None and email is None and _is_its(mention, mail.message_id)):
            # ours without a doubt, and pruned or dismissed meanwhile
            return Arrival(note=_explained(note, GONE), email_id=mention.id, mail=mail)
    return Arrival(note=_explained(note, UNKNOWN if note.mentions else UNMENTIONED))


def same_message_id(message_id: str) -> str:
    """A Message-ID as it is compared: programs on the way have changed the case of domains."""
    return message_id.strip().lower()


def _is_believed(mention: Mention, email: Mentioned) -> bool:
    return mention.signed or any(_is_its(mention, each) for each in email.message_ids)


def _is_its(mention: Mention, message_id: str) -> bool:
    named = same_message_id(mention.message_id)
    return bool(named) and named == message_id


def _explained(note: Note, problem: str) -> Note:
    """Of what is a return at all: why nobody knows whose."""
    return replace(note, problem=problem) if note.what in RETURNS and not note.problem else note


def _recipient(note: Note, email: Mentioned, *, signed: bool) -> tuple[str, bool]:
    """Whom of the email's recipients a return is about, and whether that is certain.

    Where it names none of them, an email to one person is about that person all the same: mail is forwarded, and people
    answer from other addresses. That is enough to tell of it, and not enough for anything to follow.
    """
    named = [normal_address(each) for each in (note.address, *note.aliases) if each]
    for address in named:
        if address in email.recipients:
            return address, True
    if len(email.recipients) != 1:
        return "", False
    return email.recipients[0], signed and not named
