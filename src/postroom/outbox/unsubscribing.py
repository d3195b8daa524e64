"""Emails whose reader can stop them: what they have to be, and the link that they bear.

Decided before anything is written, so that no such email is ever stored without its link. The link is a part of the
email from then on: every attempt sends the same octets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postroom.compose import Letter
from postroom.compose.safety import LONGEST_WORD
from postroom.compose.unsubscribing import LIST_UNSUBSCRIBE, LIST_UNSUBSCRIBE_POST, PLACE
from postroom.errors import InvalidEmail
from postroom.sealing import NO_KEYS, Keyring, Ticket, sealed
from postroom.sealing.keyring import INSTALL, aesgcm
from postroom.store.suppressions import Stop
from postroom.vocabulary import EmailId, SuppressionReason, SuppressionScope

WISH = "unsubscribable"

_WRITTEN_BY_US = frozenset((LIST_UNSUBSCRIBE.lower(), LIST_UNSUBSCRIBE_POST.lower()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """How this house makes links by which somebody unsubscribes."""

    public_url: str = ""
    """Where the web app is reached."""
    region: str = ""
    """Whose database has to hear of it."""
    keyring: Keyring = NO_KEYS
    language: str = ""
    """Of readers whose email does not name the language of its words."""

    def for_letter(self, letter: Letter, *, id: EmailId, workspace: str, kind: str) -> str:
        """The link of a letter; `InvalidEmail`, with the remedy, where it can have none."""
        self._check()
        _check_headers(letter)
        ticket = Ticket(
            email_id=id,
            address=_only_recipient(letter),
            workspace=workspace,
            kind=kind,
            language=letter.edition.language if letter.edition else self.language,
            region=self.region,
        )
        # What will be recorded when it is pressed: what could not be is told now.
        Stop(
            address=ticket.address,
            reason=SuppressionReason.UNSUBSCRIBE,
            scope=SuppressionScope.WORKSPACE,
            workspace=workspace,
        )
        link = f"{self.public_url}{PLACE}{sealed(ticket, self.keyring)}"
        if len(link) + len("<>") > LONGEST_WORD:
            problem = f"with the workspace and the kind its link has {len(link)} characters, too many for one line"
            raise InvalidEmail(WISH, problem, "give them shorter names")
        return link

    def _check(self) -> None:
        if not self.public_url:
            problem = "it is not known where people reach the web app, which the link has to lead to"
            raise InvalidEmail(WISH, problem, "set POSTROOM_PUBLIC_URL, such as https://mail.example.org")
        if not self.keyring.seals:
            problem = "there is no secret to seal the link with"
            raise InvalidEmail(
                WISH, problem, "set POSTROOM_SECRET here and for the web app, such as to `openssl rand -base64 32`"
            )
        try:
            aesgcm()
        except ModuleNotFoundError as error:
            raise InvalidEmail(WISH, "sealing its link needs the package cryptography", INSTALL) from error


NO_LINKS = Links()


def refuse(payload: Any) -> None:
    """For what is no email, and has no headers for a link."""
    problem = f"is for emails, and this is a {type(payload).__name__}"
    raise InvalidEmail(WISH, problem, "leave it out, and say in the message itself how it can be stopped")


def _check_headers(letter: Letter) -> None:
    for name, _ in letter.headers:
        if name.lower() in _WRITTEN_BY_US:
            raise InvalidEmail(
                f"headers[{name!r}]", "is written by Postroom, as unsubscribable=True asks", "leave one of the two out"
            )


def _only_recipient(letter: Letter) -> str:
    """Whoever presses the link stops the mail of one address, so nobody else may have it."""
    if len(letter.to) + len(letter.cc) + len(letter.bcc) != 1:
        problem = f"an email that can be unsubscribed from goes to one person, and this one to {len(letter.recipients)}"
        if len(letter.recipients) == 1:
            problem = "an email that can be unsubscribed from names its recipient once, and this one does so repeatedly"
        raise InvalidEmail("to", problem, "send one to each")
    return letter.recipients[0]
