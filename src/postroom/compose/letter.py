"""The email in its final form: what is stored, and what every attempt sends.

A letter is composed once, from an `Email`, an id and a date. From then on nothing about it is decided again: the
calendar object is written, the text is derived, Message-ID and Date are fixed. Freezing and thawing it, here or on
another machine, gives the same octets each time, so that a second attempt can be recognised as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from postroom.compose.address import Address, AddressesLike
from postroom.compose.attachment import Attachment
from postroom.compose.edition import Edition
from postroom.compose.email import Email
from postroom.compose.frozen import (
    CalendarObject,
    Frozen,
    read_envelope,
    recipients_in,
    write_contents,
    write_envelope,
)
from postroom.compose.invite import with_attendees
from postroom.compose.late import LATE, Words, is_late
from postroom.compose.limits import Limits
from postroom.compose.mime import write_message
from postroom.compose.size import estimated_size
from postroom.compose.transfer import base64_size
from postroom.compose.unsubscribing import filled, headers_for, link_in
from postroom.errors import InvalidEmail, UnreadableEmail
from postroom.vocabulary import EmailId

__all__ = ["CalendarObject", "Frozen", "Letter", "recipients_in"]


@dataclass(slots=True, kw_only=True)  # not frozen: every email has one, and making it would take twice as long
class Letter:
    """An email with its Message-ID and Date. Its parts were checked when the `Email` was made. Nobody changes one."""

    message_id: str
    """With its angle brackets."""
    date: datetime
    """Aware, in UTC."""
    senders: tuple[Address, ...]
    to: tuple[Address, ...]
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    subject: str = ""
    text: str | None = None
    html: str | None = None
    attachments: tuple[Attachment, ...] = ()
    calendar: CalendarObject | None = None
    headers: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    """Kept beside the letter by the store; not part of what is sent, and empty when thawed."""
    edition: Edition | None = None
    """The template that the words are from. It is not sent."""
    late: str | None = None
    """What the template is to be filled in with, as JSON, while there are no words yet."""

    @classmethod
    def compose(cls, email: Email, *, id: EmailId, date: datetime, default_sender: Address) -> Letter:
        """Give the email its final form. The same arguments give the same letter, octet by octet."""
        senders = email.sender or (default_sender,)
        return cls(
            message_id=f"<{id.replace('-', '')}@{senders[0].domain}>",
            date=date if date.tzinfo is UTC else date.astimezone(UTC),
            senders=senders,
            to=email.to,
            cc=email.cc,
            bcc=email.bcc,
            reply_to=email.reply_to,
            subject=email.subject,
            text=email.text if email.late is None else None,
            html=email.html,
            attachments=email.attachments,
            calendar=_calendar_object(email, senders[0], date) if email.invite else None,
            headers=email.headers,
            tags=email.tags,
            edition=email.edition,
            late=email.late,
        )

    def unsubscribable_at(self, link: str) -> Letter:
        """The letter with the link by which its reader unsubscribes: in its headers, and where its words ask for it.

        Where there are no words yet, they get it when they are rendered.
        """
        return replace(
            self,
            headers=(*self.headers, *headers_for(link)),
            text=filled(self.text, link),
            html=filled(self.html, link),
        )

    def freeze(self) -> Frozen:
        """Everything a store needs to give the same letter back."""
        envelope = write_envelope(self.date, write_contents(self))
        return Frozen(
            subject=self.subject,
            message_id=self.message_id,
            envelope=envelope if self.late is None else LATE + envelope,
            text=self.text if self.late is None else self.late,
            html=self.html,
            size=_size(self),
            recipients=self.recipients,
            attachments=tuple({each.digest: each.content for each in self.attachments}.items())
            if self.attachments
            else (),
            tags=self.tags,
            edition=self.edition,
        )

    def freeze_within(self, limits: Limits) -> Frozen:
        """The same for an outbox with these limits; what is over them is refused."""
        frozen = self.freeze()
        limits.check(self, size=frozen.size)
        return frozen

    @classmethod
    def thaw(
        cls,
        *,
        subject: str,
        message_id: str,
        envelope: str,
        text: str | None,
        html: str | None,
        attachments: Mapping[str, bytes],
    ) -> Letter:
        """The letter that was frozen. Nothing is checked again: what was stored was checked before."""
        rest = read_envelope(envelope, attachments)
        if is_late(envelope):
            rest["late"], text = text, None
        return cls(subject=subject, message_id=message_id, text=text, html=html, **rest)

    @property
    def recipients(self) -> tuple[str, ...]:
        """The envelope's recipients: to, cc, bcc, in that order, each address once."""
        if len(self.to) == 1 and not self.cc and not self.bcc:
            return (self.to[0].address,)
        return tuple(dict.fromkeys(each.address for each in (*self.to, *self.cc, *self.bcc)))

    @property
    def sender_address(self) -> str:
        """The reverse path."""
        return self.senders[0].address

    @property
    def needs_smtputf8(self) -> bool:
        """Some address has a local part that is not ASCII, which only RFC 6531 servers can carry."""
        groups = (self.senders, self.to, self.cc, self.bcc, self.reply_to)
        return not all(each.address.isascii() for group in groups for each in group)

    def as_bytes(self) -> bytes:
        """The message for the wire: CRLF lines, dots not stuffed, the same octets every time.

        What is no email, and so has no sender, travels as its text.
        """
        self.insist_on_words()
        if not self.senders:
            return (self.text or "").encode()
        return write_message(self)

    def insist_on_words(self) -> None:
        """Raise `UnreadableEmail` if there are none yet."""
        if self.late is not None:
            problem = "it is not rendered yet; that happens when it is first attempted"
            raise UnreadableEmail(EmailId(self.message_id), problem)

    def corrected(
        self,
        *,
        to: AddressesLike | None = None,
        cc: AddressesLike | None = None,
        bcc: AddressesLike | None = None,
        subject: str | None = None,
        text: str | None = None,
        html: str | None = None,
    ) -> Letter:
        """The letter with what is given in place of what it had, checked as an `Email` is; the rest stays.

        Message-ID and Date stay too. When the HTML is corrected and no text is given, the text is derived anew. The
        edition tells that a person has changed the words. What is not rendered yet stays so, unless all are given.
        """
        reworded = not (subject is None and text is None and html is None)
        if self.late is not None and reworded:
            _insist_on_all_words(subject, text or html)
        email = Email(
            to=self.to if to is None else to,
            cc=self.cc if cc is None else cc,
            bcc=self.bcc if bcc is None else bcc,
            sender=self.senders,
            reply_to=self.reply_to,
            subject=self.subject if subject is None else subject,
            text=text if text is not None or html is not None else self.text,
            html=self.html if html is None else html,
            attachments=self.attachments,
            headers=self.headers,
        )
        if self.headers and (email.to, email.cc, email.bcc) != (self.to, self.cc, self.bcc):
            _insist_on_no_link(self)
        return replace(
            self,
            to=email.to,
            cc=email.cc,
            bcc=email.bcc,
            subject=email.subject,
            text=email.text if reworded or self.late is None else None,
            html=email.html,
            calendar=_readdressed(self.calendar, self.to, email.to) if self.calendar else None,
            edition=self.edition.changed() if self.edition and reworded else self.edition,
            late=None if reworded else self.late,
        )

    def rendered(self, words: Words) -> Letter:
        """The letter with the words of its template in their place, checked as an `Email` is; Message-ID and Date stay.

        The same letter and words give the same octets, whoever renders it.
        """
        email = Email(
            to=self.to,
            cc=self.cc,
            bcc=self.bcc,
            subject=words.subject,
            text=words.text,
            html=words.html,
            attachments=(*self.attachments, *words.attachments),
        )
        link = link_in(self.headers) if self.headers else None
        return replace(
            self,
            subject=email.subject,
            text=email.text if link is None else filled(email.text, link),
            html=email.html if link is None else filled(email.html, link),
            attachments=email.attachments,
            edition=words.edition,
            late=None,
        )


def _insist_on_no_link(letter: Letter) -> None:
    """Whoever else got it would unsubscribe the one whom it was for."""
    if link_in(letter.headers) is not None:
        problem = "its link unsubscribes the one recipient whom it was enqueued for"
        raise InvalidEmail("to", problem, "leave the recipients as they are, or enqueue an email to somebody else")


def _insist_on_all_words(subject: str | None, body: str | None) -> None:
    for field, given in (("subject", subject), ("text", body)):
        if not given:
            problem = "the email is not rendered yet, and some of its words would be missing"
            raise InvalidEmail(field, problem, "correct subject and text or HTML, or mend the template and retry it")


def _calendar_object(email: Email, sender: Address, date: datetime) -> CalendarObject:
    assert email.invite is not None
    invite = email.invite.addressed(organizer=sender, attendees=email.to)
    return CalendarObject(method=invite.method, ics=invite.ics(date).decode())


def _readdressed(calendar: CalendarObject, old: tuple[Address, ...], new: tuple[Address, ...]) -> CalendarObject:
    if old == new:
        return calendar
    return replace(calendar, ics=with_attendees(calendar.ics, old=old, new=new))


def _size(letter: Letter) -> int:
    # The calendar object travels twice, once for calendars and once as a file.
    size = estimated_size(letter) + (2 * base64_size(len(letter.calendar.ics)) if letter.calendar else 0)
    return size if letter.late is None else size + len(letter.late)
