"""What Alder writes to people: four portals, each with a voice of its own, and the twelve emails they send.

A portal is a brand, a sender and a folder of templates; templates are never shared between portals. Each email has a
dataclass that says what it must be told, so that none is ever sent with a hole in it:

    outbox.enqueue(hub.email(HubForgotPassword(name="Ada", link=link, minutes=30), to=address, language="de"))
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from postroom import Brand, Portal

hub = Portal(
    "hub",
    templates="templates/hub",
    sender="Alder Hub <hello@hub.alder.example>",
    brand=Brand(
        name="Alder Hub",
        logo="logo.png",
        colour="#0b6e4f",
        footer="Alder Hub Ltd, 1 Hill Lane, Bristol BS1 4DJ, United Kingdom",
        website="https://hub.alder.example",
    ),
    languages=("en", "de", "ar"),
)
"""For people who look for work: warm."""

org = Portal(
    "org",
    templates="templates/org",
    sender="Alder Employers <accounts@org.alder.example>",
    brand=Brand(
        name="Alder Employers",
        logo="logo.png",
        colour="#23408e",
        footer="Alder Employers GmbH, Lindenstraße 12, 10969 Berlin, Germany",
        website="https://org.alder.example",
    ),
    languages=("en", "de"),
)
"""For those who employ them: businesslike."""

agency = Portal(
    "agency",
    templates="templates/agency",
    sender="Alder Agency <team@agency.alder.example>",
    brand=Brand(
        name="Alder Agency",
        logo="logo.png",
        colour="#c2410c",
        footer="Alder Agency Inc., 410 Market Street, San Francisco, CA 94104, USA",
        website="https://agency.alder.example",
    ),
    languages=("en", "de"),
)
"""For recruiters: brisk."""

admin = Portal(
    "admin",
    templates="templates/admin",
    sender="Alder Admin <sign-in@admin.alder.example>",
    brand=Brand(
        name="Alder Admin",
        logo="logo.png",
        colour="#52525b",
        footer="Alder Operations, 1 Hill Lane, Bristol BS1 4DJ, United Kingdom",
        website="https://admin.alder.example",
    ),
    languages=("en", "de"),
)
"""For the company's own staff: terse."""


@hub.template(name="welcome")
@dataclass(frozen=True, kw_only=True)
class HubWelcome:
    """Somebody's account is open."""

    name: str
    link: str
    """To their profile."""


@hub.template(name="forgot_password")
@dataclass(frozen=True, kw_only=True)
class HubForgotPassword:
    """Somebody asked for a new password."""

    name: str
    link: str
    """Works once."""
    minutes: int
    """How long the link works."""


@hub.template(name="password_changed")
@dataclass(frozen=True, kw_only=True)
class HubPasswordChanged:
    """Somebody's password is another one now, and they should know even if it was not them."""

    name: str
    at: datetime
    browser: str
    """What the browser calls itself, or nothing."""
    city: str
    """Near which city, or nothing."""
    link: str
    """Locks the account."""


@hub.template(name="email_verification")
@dataclass(frozen=True, kw_only=True)
class HubEmailVerification:
    """Somebody signed up with this address; is it theirs?"""

    name: str
    link: str
    hours: int
    """How long the link works."""


@org.template(name="welcome")
@dataclass(frozen=True, kw_only=True)
class OrgWelcome:
    """An organisation's account is open; this goes to its first administrator."""

    name: str
    organisation: str
    link: str
    """To the employer console."""


@org.template(name="forgot_password")
@dataclass(frozen=True, kw_only=True)
class OrgForgotPassword:
    """Somebody asked for a new password."""

    name: str
    link: str
    """Works once."""
    minutes: int
    """How long the link works."""


@org.template(name="password_changed")
@dataclass(frozen=True, kw_only=True)
class OrgPasswordChanged:
    """Somebody's password is another one now, and they should know even if it was not them."""

    name: str
    organisation: str
    at: datetime
    browser: str
    """What the browser calls itself, or nothing."""
    city: str
    """Near which city, or nothing."""
    link: str
    """Blocks their account."""


@org.template(name="invite")
@dataclass(frozen=True, kw_only=True)
class OrgInvite:
    """Somebody asks a colleague to join their organisation."""

    inviter: str
    organisation: str
    role: str
    """What the colleague would be there, in their language."""
    link: str
    expires: date
    """The last day on which the link works."""


@agency.template(name="welcome")
@dataclass(frozen=True, kw_only=True)
class AgencyWelcome:
    """A recruiter's account is open."""

    name: str
    agency: str
    seats: int
    """How many open seats there are in their field."""
    link: str
    """To the briefs."""


@agency.template(name="forgot_password")
@dataclass(frozen=True, kw_only=True)
class AgencyForgotPassword:
    """Somebody asked for a new password."""

    name: str
    link: str
    """Works once."""
    minutes: int
    """How long the link works."""


@agency.template(name="password_changed")
@dataclass(frozen=True, kw_only=True)
class AgencyPasswordChanged:
    """Somebody's password is another one now, and they should know even if it was not them."""

    name: str
    at: datetime
    browser: str
    """What the browser calls itself, or nothing."""
    city: str
    """Near which city, or nothing."""
    link: str
    """Locks the account."""


@admin.template(name="tfa")
@dataclass(frozen=True, kw_only=True)
class AdminTfa:
    """Somebody gave the right password; this code shows that the mailbox is theirs, too."""

    code: str
    """Six digits."""
    minutes: int
    """How long the code works."""
    address: str
    """From where the password came, or nothing."""


PORTALS = (hub, org, agency, admin)
