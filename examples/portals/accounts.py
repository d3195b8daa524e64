"""Who has an account. Each function works in the caller's transaction, in the database of the caller's region."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from examples.portals.tables import run

_FIELDS = """
    SELECT a.id, a.portal, a.email, a.name, a.language, a.verified, a.password,
           coalesce(o.id, ''), coalesce(o.name, '')
    FROM accounts a LEFT JOIN organisations o ON o.id = a.organisation_id
"""

LOCKED = ""
"""Instead of a password: none is right until a new one is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Somebody at one of the portals."""

    id: str
    portal: str
    email: str
    name: str
    language: str
    verified: bool
    """Whether the address is known to be theirs."""
    password: str
    """Hashed; `LOCKED` while nobody may come in."""
    organisation_id: str = ""
    organisation: str = ""
    """For which employer or agency they are here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAccount:
    """What somebody fills in to get one."""

    email: str
    name: str
    language: str
    password: str
    """Hashed."""
    organisation: str = ""
    """What they open for others too, at org and agency."""


def normal(address: str) -> str:
    """One spelling of an address, so that nobody has two accounts by a capital letter."""
    return address.strip().lower()


def add(
    connection: Any, portal: str, new: NewAccount, *, verified: bool, organisation_id: str | None = None
) -> Account | None:
    """The new account; None where the address has one already."""
    if find(connection, portal, new.email):
        return None
    if new.organisation:
        organisation_id = secrets.token_hex(8)
        run(connection, "INSERT INTO organisations (id, name) VALUES (:id, :name)",
            id=organisation_id, name=new.organisation)  # fmt: skip
    rows = run(
        connection,
        """
        INSERT INTO accounts (id, portal, email, name, language, password, verified, organisation_id)
        VALUES (:id, :portal, :email, :name, :language, :password, :verified, :organisation_id)
        ON CONFLICT (portal, email) DO NOTHING
        RETURNING id
        """,
        id=secrets.token_hex(8),
        portal=portal,
        email=new.email,
        name=new.name,
        language=new.language,
        password=new.password,
        verified=verified,
        organisation_id=organisation_id,
    )
    return get(connection, rows[0][0]) if rows else None


def get(connection: Any, id: str) -> Account:
    """An account that is known to be there."""
    return _account(run(connection, f"{_FIELDS} WHERE a.id = :id", id=id)[0])


def find(connection: Any, portal: str, email: str) -> Account | None:
    """The account of an address at a portal."""
    rows = run(connection, f"{_FIELDS} WHERE a.portal = :portal AND a.email = :email", portal=portal, email=email)
    return _account(rows[0]) if rows else None


def colleagues(connection: Any, account: Account) -> list[str]:
    """The names of all in the same organisation."""
    query = "SELECT name FROM accounts WHERE organisation_id = :id ORDER BY name"
    return [name for (name,) in run(connection, query, id=account.organisation_id)]


def verify(connection: Any, id: str) -> None:
    """The address is theirs."""
    run(connection, "UPDATE accounts SET verified = :yes WHERE id = :id", yes=True, id=id)


def change_password(connection: Any, id: str, password: str) -> None:
    """Another password; or `LOCKED`."""
    run(connection, "UPDATE accounts SET password = :password WHERE id = :id", password=password, id=id)


def _account(row: Any) -> Account:
    id, portal, email, name, language, verified, password, organisation_id, organisation = row
    return Account(
        id=id,
        portal=portal,
        email=email,
        name=name,
        language=language,
        verified=bool(verified),
        password=password,
        organisation_id=organisation_id,
        organisation=organisation,
    )
