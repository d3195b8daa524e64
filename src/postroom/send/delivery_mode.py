"""Who gets what is sent from here: everybody, nobody, one address, or some domains. Pure.

Said by the setting `delivery` for a whole environment, so that a copy of production, a staging or a laptop mails no
real people. Only emails can be redirected or told apart by domain; whatever leaves by another channel is captured
under every mode but `deliver`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from postroom.compose.address import parse_address
from postroom.errors import ConfigurationError, InvalidEmail


class Mode(StrEnum):
    """What is done with what is due."""

    DELIVER = "deliver"
    """It goes to its recipients."""
    CAPTURE = "capture"
    """It goes nowhere, and counts as sent."""
    REDIRECT = "redirect"
    """It goes to one address in place of its recipients."""
    ONLY = "only"
    """It goes to recipients at some domains, and nowhere for the others."""


_SENTENCES = {
    Mode.DELIVER: "Emails go to their recipients.",
    Mode.CAPTURE: "Nothing leaves: what is due counts as sent, is marked as captured, and is kept here.",
    Mode.REDIRECT: "Every email goes to one address instead of its recipients; anything else is captured.",
    Mode.ONLY: "Emails leave for some domains only; all other recipients, and anything else, are captured.",
}
_REMEDY = "write deliver, capture, redirect:dev@example.org or only:example.org,example.com"

UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryMode:
    """The mode of an environment."""

    mode: Mode = Mode.DELIVER
    to: str = ""
    """Where redirected emails go."""
    domains: tuple[str, ...] = ()
    """Whose recipients get their emails, in lower case; an international one in its ASCII form."""

    @classmethod
    def parse(cls, text: str) -> DeliveryMode:
        """As the setting is written. What cannot be read is an error: nobody guesses who is to be mailed."""
        name, colon, argument = text.strip().partition(":")
        if name in (Mode.DELIVER, Mode.CAPTURE) and not colon:
            return cls(mode=Mode(name))
        if name == Mode.REDIRECT:
            return cls(mode=Mode.REDIRECT, to=_address(argument))
        if name == Mode.ONLY:
            return cls(mode=Mode.ONLY, domains=tuple(dict.fromkeys(map(_domain, argument.split(",")))))
        raise ConfigurationError(f"POSTROOM_DELIVERY cannot be read, so nothing is delivered; {_REMEDY}")

    @property
    def sentence(self) -> str:
        """What it means, for people; without an address."""
        return _SENTENCES[self.mode]

    def may_reach(self, recipients: Iterable[str]) -> tuple[str, ...]:
        """Those of the recipients of an email who get it."""
        match self.mode:
            case Mode.CAPTURE:
                return ()
            case Mode.ONLY:
                return tuple([each for each in recipients if self._is_at_one_of_them(each)])
            case _:
                return tuple(recipients)

    def _is_at_one_of_them(self, address: str) -> bool:
        """Where mail for it would really go: behind the last at-sign, whatever stands before."""
        _, at, domain = address.rpartition("@")
        return bool(at) and domain.lower() in self.domains


def mode_in(written: str) -> str:
    """The name of the mode, for logs and badges; `unreadable` where it cannot be read."""
    try:
        return DeliveryMode.parse(written).mode.value
    except ConfigurationError:
        return UNREADABLE


def sentence_in(written: str) -> str:
    """What the setting means, for people; without an address."""
    try:
        return DeliveryMode.parse(written).sentence
    except ConfigurationError:
        return "POSTROOM_DELIVERY cannot be read: nothing is delivered until it is corrected."


def _address(written: str) -> str:
    try:
        return parse_address("delivery", written.strip()).address
    except InvalidEmail:
        raise ConfigurationError(
            f"POSTROOM_DELIVERY redirects to what is no address, so nothing is delivered; {_REMEDY}"
        ) from None


def _domain(written: str) -> str:
    try:
        if "@" in written:
            raise InvalidEmail("delivery", "an address", "a domain")
        return parse_address("delivery", f"somebody@{written.strip()}").domain
    except InvalidEmail:
        raise ConfigurationError(
            f"POSTROOM_DELIVERY names what is no domain, so nothing is delivered; {_REMEDY}"
        ) from None
