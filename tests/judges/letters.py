"""What is judged: every email of the example, in every language, with every sample, as it leaves the outbox."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

from examples.portals.mail import PORTALS
from postroom import Email, Portal
from postroom.compose import Letter
from postroom.vocabulary import EmailId

READER = "Ada Lovelace <ada@example.org>"
SENT = datetime(2026, 11, 18, 9, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One email, with the name that judgements about it are given under."""

    portal: str
    template: str
    language: str
    sample: str
    email: Email

    @property
    def name(self) -> str:
        return f"{self.row}.{self.sample}"

    @property
    def row(self) -> str:
        """Judgements are shown for all samples together."""
        return f"{self.portal}.{self.template}.{self.language}"

    @property
    def html(self) -> str:
        assert self.email.html is not None
        return self.email.html

    @property
    def shown(self) -> str:
        """The page as a browser can show it: pictures that travel inside are written into it."""
        page = self.html
        for picture in self.email.attachments:
            data = base64.b64encode(picture.content).decode()
            page = page.replace(f"cid:{picture.content_id}", f"data:{picture.content_type};base64,{data}")
        return page

    @property
    def message_id(self) -> str:
        return self._letter().message_id

    def mime(self) -> bytes:
        """The octets that a mail server would be given."""
        return self._letter().as_bytes()

    def _letter(self) -> Letter:
        id = EmailId(str(uuid5(NAMESPACE_URL, self.name)))
        [sender] = self.email.sender
        return Letter.compose(self.email, id=id, date=SENT, default_sender=sender)


def letters() -> Iterator[Judged]:
    """All of them."""
    for portal in PORTALS:
        for template in portal.names:
            for language in portal.languages.spoken:
                yield from _of(portal, template, language)


def _of(portal: Portal, template: str, language: str) -> Iterator[Judged]:
    for sample, context in portal.samples(template, language).items():
        email = portal.email(context, to=READER, language=language)
        yield Judged(portal=portal.name, template=template, language=language, sample=sample, email=email)
