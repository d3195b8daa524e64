"""Employers ask colleagues in. An invitation lives in the organisation's region, and so will the new account."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from examples.portals import accounts, tokens
from examples.portals.accounts import NewAccount
from examples.portals.doors import Doors, Refused, Visitor
from examples.portals.letters import OrgLetters
from examples.portals.tables import run
from examples.portals.tokens import LIFETIMES, Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """What somebody is asked to join."""

    email: str
    language: str
    organisation_id: str
    organisation: str


@dataclass(frozen=True, slots=True)
class Invitations:
    """Of the portal org."""

    doors: Doors

    def invite(self, inviter: Visitor, *, email: str, role: str, language: str) -> None:
        """Note the invitation and write it, in one transaction."""
        outbox, id = self.doors.regions[inviter.region], secrets.token_hex(8)
        with outbox.transaction() as connection:
            _add(connection, id, email, language, inviter.account.organisation_id)
            token = tokens.issue(connection, inviter.region, Purpose.INVITATION, id)
            expires = (datetime.now(UTC) + LIFETIMES[Purpose.INVITATION]).date()
            link = self.doors.link("invitation", token)
            email_to_them = OrgLetters().invite(
                inviter.account, to=email, role=role, language=language, link=link, expires=expires
            )
            outbox.enqueue(email_to_them, key=f"org.invite:{id}", sensitive=True, connection=connection)

    def look(self, token: str) -> Invitation:
        """What a link invites to; it stays good."""
        with self.doors.regions[self.doors.region_of(token)].transaction() as connection:
            return _found(connection, tokens.subject_of(connection, token, Purpose.INVITATION))

    def accept(self, token: str, new: NewAccount) -> None:
        """Open an account for whoever has the link, which shows that the address is theirs."""
        region = self.doors.region_of(token)
        if self.doors.directory.find("org", self.look(token).email) not in (None, region):
            raise Refused("has_account")
        with self.doors.regions[region].transaction() as connection:
            invitation = _found(connection, tokens.redeem(connection, token, Purpose.INVITATION))
            theirs = replace(new, email=invitation.email)
            if (
                accounts.add(connection, "org", theirs, verified=True, organisation_id=invitation.organisation_id)
                is None
            ):
                raise Refused("has_account")
            self.doors.directory.note("org", invitation.email, region)


def _add(connection: Any, id: str, email: str, language: str, organisation_id: str) -> None:
    run(
        connection,
        """
        INSERT INTO invitations (id, email, language, organisation_id)
        VALUES (:id, :email, :language, :organisation_id)
        """,
        id=id,
        email=email,
        language=language,
        organisation_id=organisation_id,
    )


def _found(connection: Any, id: str | None) -> Invitation:
    query = """
        SELECT i.email, i.language, o.id, o.name
        FROM invitations i JOIN organisations o ON o.id = i.organisation_id
        WHERE i.id = :id
    """
    rows = run(connection, query, id=id)
    if not rows:
        raise Refused("spent")
    email, language, organisation_id, organisation = rows[0]
    return Invitation(email=email, language=language, organisation_id=organisation_id, organisation=organisation)
