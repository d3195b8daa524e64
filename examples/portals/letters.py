"""Which email says what: from an account to an `Email`, without a database or a mail server in sight.

Each portal has its own words for the same event, and its own class here: what hub tells people is nothing that org
would say to an employer.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Protocol

from examples.portals.accounts import Account
from examples.portals.mail import (
    AgencyForgotPassword,
    AgencyPasswordChanged,
    AgencyWelcome,
    HubEmailVerification,
    HubForgotPassword,
    HubPasswordChanged,
    HubWelcome,
    OrgForgotPassword,
    OrgInvite,
    OrgPasswordChanged,
    OrgWelcome,
    agency,
    hub,
    org,
)
from examples.portals.tokens import LIFETIMES, Purpose
from postroom import Email, Portal

HOURS = int(LIFETIMES[Purpose.VERIFY].total_seconds() // 3600)
MINUTES = int(LIFETIMES[Purpose.NEW_PASSWORD].total_seconds() // 60)

OPEN_SEATS = 1_284
"""In a real application, counted."""


class Letters(Protocol):
    """What every portal can say."""

    @property
    def portal(self) -> Portal: ...
    def welcome(self, account: Account, *, link: str) -> Email: ...
    def forgot_password(self, account: Account, *, link: str) -> Email: ...
    def password_changed(self, account: Account, *, at: datetime, browser: str, link: str) -> Email: ...


class HubLetters:
    """To people who look for work."""

    portal = hub

    def welcome(self, account: Account, *, link: str) -> Email:
        return _to(account, hub, HubWelcome(name=account.name, link=link))

    def email_verification(self, account: Account, *, link: str) -> Email:
        return _to(account, hub, HubEmailVerification(name=account.name, link=link, hours=HOURS))

    def forgot_password(self, account: Account, *, link: str) -> Email:
        return _to(account, hub, HubForgotPassword(name=account.name, link=link, minutes=MINUTES))

    def password_changed(self, account: Account, *, at: datetime, browser: str, link: str) -> Email:
        changed = HubPasswordChanged(name=account.name, at=at, browser=browser, city="", link=link)
        return _to(account, hub, changed)


class OrgLetters:
    """To employers."""

    portal = org

    def welcome(self, account: Account, *, link: str) -> Email:
        return _to(account, org, OrgWelcome(name=account.name, organisation=account.organisation, link=link))

    def forgot_password(self, account: Account, *, link: str) -> Email:
        return _to(account, org, OrgForgotPassword(name=account.name, link=link, minutes=MINUTES))

    def password_changed(self, account: Account, *, at: datetime, browser: str, link: str) -> Email:
        organisation = account.organisation
        changed = OrgPasswordChanged(
            name=account.name, organisation=organisation, at=at, browser=browser, city="", link=link
        )
        return _to(account, org, changed)

    def invite(self, inviter: Account, *, to: str, role: str, language: str, link: str, expires: date) -> Email:
        """To somebody who has no account yet."""
        words = OrgInvite(
            inviter=inviter.name, organisation=inviter.organisation, role=role, link=link, expires=expires
        )
        return org.email(words, to=to, language=language)


class AgencyLetters:
    """To recruiters."""

    portal = agency

    def welcome(self, account: Account, *, link: str) -> Email:
        words = AgencyWelcome(name=account.name, agency=account.organisation, seats=OPEN_SEATS, link=link)
        return _to(account, agency, words)

    def forgot_password(self, account: Account, *, link: str) -> Email:
        return _to(account, agency, AgencyForgotPassword(name=account.name, link=link, minutes=MINUTES))

    def password_changed(self, account: Account, *, at: datetime, browser: str, link: str) -> Email:
        changed = AgencyPasswordChanged(name=account.name, at=at, browser=browser, city="", link=link)
        return _to(account, agency, changed)


def _to(account: Account, portal: Portal, words: object) -> Email:
    return portal.email(words, to=(account.name, account.email), language=account.language)
