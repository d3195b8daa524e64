"""An email as the application says it: complete, checked, and not yet given an id or a date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from postroom.compose.address import Address, AddressesLike, parse_addresses
from postroom.compose.attachment import Attachment
from postroom.compose.edition import Edition
from postroom.compose.invite import Invite
from postroom.compose.late import checked_context
from postroom.compose.limits import Limits
from postroom.compose.plaintext import text_from_html
from postroom.compose.safety import check_body, check_header, check_is_text, check_value
from postroom.compose.size import estimated_size
from postroom.errors import InvalidEmail

HeadersLike: TypeAlias = "Mapping[str, str] | Iterable[tuple[str, str]]"

LONGEST_TAG = 100


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Email:
    """One email to one or many recipients. Making it checks it: an `Email` that exists can be stored and sent.

    Addresses may be given as `"ada@example.org"`, `"Ada <ada@example.org>"`, an `Address` or a `(name, address)` pair,
    one or a list of them. A tuple of two texts is always such a pair, and a list is always several. How large it may be
    is for the outbox to say, when it is enqueued; with `limits`, an email that is over them is refused at once.
    """

    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    bcc: tuple[Address, ...]
    """Recipients that appear nowhere in the message."""
    reply_to: tuple[Address, ...]
    sender: tuple[Address, ...]
    """The authors; empty for the outbox's default. Of several, the first is the one who sends."""
    subject: str
    text: str
    """Derived from the HTML when none is given."""
    html: str | None
    attachments: tuple[Attachment, ...]
    """Files, and images that the HTML shows by their content id."""
    invite: Invite | None
    headers: tuple[tuple[str, str], ...]
    """Headers of the caller's own, in order."""
    tags: tuple[str, ...]
    """Words to find the email by; they are not sent."""
    edition: Edition | None
    """The template that the words are from; it is not sent."""
    late: str | None
    """What to fill the template in with, as JSON, where that is done when the email is first attempted: until then it
    has no subject, text or HTML."""

    def __init__(
        self,
        *,
        to: AddressesLike | None = None,
        cc: AddressesLike | None = None,
        bcc: AddressesLike | None = None,
        reply_to: AddressesLike | None = None,
        sender: AddressesLike | None = None,
        subject: str = "",
        text: str | None = None,
        html: str | None = None,
        attachments: Attachment | Iterable[Attachment] = (),
        invite: Invite | None = None,
        headers: HeadersLike = (),
        tags: str | Iterable[str] = (),
        edition: Edition | None = None,
        late: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        keep = object.__setattr__
        keep(self, "to", parse_addresses("to", to))
        keep(self, "cc", parse_addresses("cc", cc))
        keep(self, "bcc", parse_addresses("bcc", bcc))
        keep(self, "sender", parse_addresses("sender", sender))
        keep(self, "subject", _checked_subject(subject))
        keep(self, "html", _checked_html(html))
        keep(self, "text", _checked_text(text, self.html))
        keep(self, "attachments", _checked_attachments(attachments))
        keep(self, "invite", _checked_invite(invite))
        own_headers, reply_to = _checked_headers(headers, reply_to) if headers else ((), reply_to)
        keep(self, "headers", own_headers)
        keep(self, "reply_to", parse_addresses("reply_to", reply_to))
        keep(self, "tags", _checked_tags(tags) if tags else ())
        keep(self, "edition", None if edition is None else _checked_edition(edition))
        keep(self, "late", None if late is None else _checked_late(late, self))
        if not (self.to or self.cc or self.bcc):
            raise InvalidEmail("to", "the email has no recipient", "give at least one address in to, cc or bcc")
        if limits is not None:
            limits.check(self, size=self.size)

    @property
    def size(self) -> int:
        """About how many octets the message will have on the wire, to compare with limits."""
        return estimated_size(self)


def _checked_subject(subject: str) -> str:
    check_is_text("subject", subject)
    check_value("subject", subject)
    return subject


def _checked_html(html: str | None) -> str | None:
    if html is not None:
        check_body("html", html)
    return html or None


def _checked_text(text: str | None, html: str | None) -> str:
    if text:
        check_body("text", text)
        return text
    return text_from_html(html) if html else ""


def _checked_attachments(attachments: Attachment | Iterable[Attachment]) -> tuple[Attachment, ...]:
    if attachments == ():
        return ()
    found = (attachments,) if isinstance(attachments, Attachment) else tuple(attachments)
    seen: set[str] = set()
    for each in found:
        if not isinstance(each, Attachment):
            raise InvalidEmail(
                "attachments", f"expected Attachment, got {type(each).__name__}", "use Attachment(filename, content)"
            )
        if each.content_id is not None:
            if each.content_id in seen:
                raise InvalidEmail("attachments", f"content id {each.content_id!r} is used twice", "give each its own")
            seen.add(each.content_id)
    return found


def _checked_invite(invite: Invite | None) -> Invite | None:
    if invite is not None and not isinstance(invite, Invite):
        raise InvalidEmail("invite", f"expected Invite, got {type(invite).__name__}", "use Invite(uid=…, start=…, …)")
    return invite


def _checked_edition(edition: Edition) -> Edition:
    if not isinstance(edition, Edition):
        problem = f"expected Edition, got {type(edition).__name__}"
        raise InvalidEmail("edition", problem, "make the email with `portal.email(…)`")
    return edition


def _checked_late(late: str, email: Email) -> str:
    """The context of an email that has an edition, and no words yet."""
    if email.edition is None:
        raise InvalidEmail("late", "needs a template to fill in", "make the email with `portal.email(…, late=True)`")
    for field in ("subject", "html", "text"):  # a text may have been derived from the HTML
        if getattr(email, field):
            raise InvalidEmail(field, "is rendered later, from the template", "leave it out, or leave out late")
    return checked_context(late)


def _checked_headers(
    headers: HeadersLike, reply_to: AddressesLike | None
) -> tuple[tuple[tuple[str, str], ...], AddressesLike | None]:
    """The headers to write as they are, and the address to reply to, which is checked like any other address."""
    kept = []
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        check_header(name, value)
        if name.lower() != "reply-to":
            kept.append((name, value.strip(" ")))
        elif reply_to:
            raise InvalidEmail(f"headers[{name!r}]", "is given by reply_to as well", "leave one of the two out")
        else:
            reply_to = value
    return tuple(kept), reply_to


def _checked_tags(tags: str | Iterable[str]) -> tuple[str, ...]:
    found = (tags,) if isinstance(tags, str) else tuple(tags)
    for tag in found:
        check_is_text("tags", tag)
        if not tag or len(tag) > LONGEST_TAG or not tag.isprintable():
            raise InvalidEmail(
                "tags", f"{tag!r} cannot be a tag", f"use 1 to {LONGEST_TAG} printable characters for each"
            )
    return tuple(dict.fromkeys(found))
