"""The way into a portal: sign up, verify, sign in, and back in after the password is forgotten.

Each act is one transaction of the person's own region: the row, the token and the email are committed together, or none
of them is. No mail server is spoken to here; the region's worker does that, milliseconds later, or after an outage.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from examples.portals import accounts, passwords, tokens
from examples.portals.accounts import LOCKED, Account, NewAccount
from examples.portals.directory import Directory
from examples.portals.letters import HubLetters, Letters
from examples.portals.tokens import Purpose
from postroom import Portal, Regions


class Refused(Exception):
    """What was asked for is not done; `why` is one of the words of `words/`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who is signed in, and where they are at home."""

    region: str
    account: Account


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """The doors of one portal, in all regions."""

    letters: Letters
    regions: Regions
    directory: Directory
    site: str
    """Where the application is, for links in emails: `https://alder.example`."""

    @property
    def portal(self) -> Portal:
        return self.letters.portal

    @property
    def name(self) -> str:
        return self.portal.name

    def sign_up(self, new: NewAccount, *, region: str) -> None:
        """Open an account in a region, and write to its owner.

        Who has one already is sent the way back in instead: whoever fills in the form cannot tell the difference, so
        nobody learns here who has an account.
        """
        if self.forgot_password(new.email):
            return
        self.directory.note(self.name, new.email, region)
        outbox, letters = self.regions[region], self.letters
        with outbox.transaction() as connection:  # in the region's own database: all of this, or nothing
            account = accounts.add(connection, self.name, new, verified=not isinstance(letters, HubLetters))
            if account is None:
                return  # a double click: the other one has done it
            outbox.enqueue(
                letters.welcome(account, link=f"{self.site}/{self.name}"),
                key=f"{self.name}.welcome:{account.id}",
                connection=connection,
            )
            if isinstance(letters, HubLetters):
                token = tokens.issue(connection, region, Purpose.VERIFY, account.id)
                outbox.enqueue(
                    letters.email_verification(account, link=self.link("verify", token)),
                    key=f"{self.name}.email_verification:{tokens.label(token)}",
                    sensitive=True,  # the link is nobody else's business: it is sealed, and the desk does not show it
                    connection=connection,
                )

    def verify(self, token: str) -> None:
        """The address is theirs: they have read what was sent to it."""
        with self.regions[self.region_of(token)].transaction() as connection:
            accounts.verify(connection, self._redeem(connection, token, Purpose.VERIFY))

    def forgot_password(self, email: str) -> bool:
        """Send a link to a new password; whether there is such an account, which is not for the page to say."""
        region = self.directory.find(self.name, email)
        if region is None:
            return False
        outbox = self.regions[region]
        with outbox.transaction() as connection:
            account = accounts.find(connection, self.name, email)
            if account is None:
                return False
            token = tokens.issue(connection, region, Purpose.NEW_PASSWORD, account.id)
            outbox.enqueue(
                self.letters.forgot_password(account, link=self.link("new-password", token)),
                key=f"{self.name}.forgot_password:{tokens.label(token)}",
                sensitive=True,
                connection=connection,
            )
        return True

    def choose_password(self, token: str, password: str, *, browser: str = "") -> None:
        """Change the password for whoever has the link, end every sign-in, and tell the owner."""
        region = self.region_of(token)
        outbox, hashed = self.regions[region], self._hashed(password)
        with outbox.transaction() as connection:
            id = self._redeem(connection, token, Purpose.NEW_PASSWORD)
            accounts.change_password(connection, id, hashed)
            accounts.verify(connection, id)
            tokens.revoke(connection, id)
            account = accounts.get(connection, id)
            lock = tokens.issue(connection, region, Purpose.LOCK, id)
            changed = self.letters.password_changed(
                account, at=datetime.now(UTC), browser=browser, link=self.link("lock", lock)
            )
            key = f"{self.name}.password_changed:{tokens.label(lock)}"
            outbox.enqueue(changed, key=key, sensitive=True, connection=connection)

    def lock(self, token: str) -> None:
        """«That was not me»: no password is right and nobody is signed in until a new one is chosen by email."""
        with self.regions[self.region_of(token)].transaction() as connection:
            id = self._redeem(connection, token, Purpose.LOCK)
            accounts.change_password(connection, id, LOCKED)
            tokens.revoke(connection, id)

    def sign_in(self, email: str, password: str) -> str:
        """A session, for a cookie."""
        region = self.directory.find(self.name, email)
        account = self._find(region, email) if region else None
        # Hashing takes its time on purpose, so no transaction is open meanwhile.
        if not passwords.is_right(password, account.password if account else None) or region is None or account is None:
            raise Refused("wrong_password")
        if not account.verified:
            raise Refused("not_verified")
        with self.regions[region].transaction() as connection:
            return tokens.issue(connection, region, Purpose.SESSION, account.id)

    def visitor(self, session: str) -> Visitor | None:
        """Who a cookie belongs to."""
        region = tokens.region_of(session, self.regions)
        if region is None:
            return None
        with self.regions[region].transaction() as connection:
            id = tokens.subject_of(connection, session, Purpose.SESSION)
            account = accounts.get(connection, id) if id else None
        return Visitor(region=region, account=account) if account and account.portal == self.name else None

    def colleagues(self, visitor: Visitor) -> list[str]:
        """Who is in the same organisation."""
        with self.regions[visitor.region].transaction() as connection:
            return accounts.colleagues(connection, visitor.account)

    def sign_out(self, session: str) -> None:
        """The cookie is good for nothing from here on."""
        region = tokens.region_of(session, self.regions)
        if region is not None:
            with self.regions[region].transaction() as connection:
                tokens.redeem(connection, session, Purpose.SESSION)

    def link(self, page: str, token: str) -> str:
        """To a page of this portal, for an email."""
        return f"{self.site}/{self.name}/{page}?token={token}"

    def region_of(self, token: str) -> str:
        """Where a token leads; `Refused` for what is none."""
        region = tokens.region_of(token, self.regions)
        if region is None:
            raise Refused("spent")
        return region

    def _redeem(self, connection: object, token: str, purpose: Purpose) -> str:
        """The id of the account that a link is about; a token of one portal opens nothing at another."""
        id = tokens.redeem(connection, token, purpose)
        if id is None or accounts.get(connection, id).portal != self.name:
            raise Refused("spent")
        return id

    def _find(self, region: str, email: str) -> Account | None:
        with self.regions[region].transaction() as connection:
            return accounts.find(connection, self.name, email)

    @staticmethod
    def _hashed(password: str) -> str:
        if not passwords.is_good(password):
            raise Refused("short_password")
        return passwords.hashed(password)
