"""What links and cookies carry: a region, and a secret that only its digest is kept of.

Whoever reads the database, or a backup of it, can use none of them. A token begins with its region, so that the link in
an email leads to the right database without anybody being asked where the person lives.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Container
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any

from examples.portals.tables import run


class Purpose(StrEnum):
    """What a token is good for, and nothing else."""

    VERIFY = "verify"
    NEW_PASSWORD = "new_password"  # noqa: S105
    LOCK = "lock"
    INVITATION = "invitation"
    SESSION = "session"


LIFETIMES = {
    Purpose.VERIFY: timedelta(hours=24),
    Purpose.NEW_PASSWORD: timedelta(minutes=30),
    Purpose.LOCK: timedelta(days=7),
    Purpose.INVITATION: timedelta(days=14),
    Purpose.SESSION: timedelta(hours=12),
}


def issue(connection: Any, region: str, purpose: Purpose, subject: str) -> str:
    """A new token about somebody or something; this is the only moment it can be read."""
    token = f"{region}.{secrets.token_urlsafe(24)}"
    run(
        connection,
        """
        INSERT INTO account_tokens (digest, purpose, subject, expires_at)
        VALUES (:digest, :purpose, :subject, :expires_at)
        """,
        digest=_digest(token),
        purpose=purpose.value,
        subject=subject,
        expires_at=int(time.time() + LIFETIMES[purpose].total_seconds()),
    )
    return token


def subject_of(connection: Any, token: str, purpose: Purpose) -> str | None:
    """What a token is about, while it is good; it stays good."""
    query = "SELECT subject FROM account_tokens WHERE digest = :digest AND purpose = :purpose AND expires_at > :now"
    rows = run(connection, query, **_asked(token, purpose))
    return rows[0][0] if rows else None


def redeem(connection: Any, token: str, purpose: Purpose) -> str | None:
    """What a token was about; from here on it is good for nothing. Of two at once, one gets it."""
    query = """
        DELETE FROM account_tokens
        WHERE digest = :digest AND purpose = :purpose AND expires_at > :now
        RETURNING subject
    """
    rows = run(connection, query, **_asked(token, purpose))
    return rows[0][0] if rows else None


def revoke(connection: Any, subject: str) -> None:
    """Every token about somebody: sign-ins end, and links that wait in mailboxes open nothing."""
    run(connection, "DELETE FROM account_tokens WHERE subject = :subject", subject=subject)


def label(token: str) -> str:
    """What to call a token where it may not be told, such as in an idempotency key."""
    return _digest(token)[:16]


def region_of(token: str, known: Container[str]) -> str | None:
    """Where a token can be looked up."""
    region = token.partition(".")[0]
    return region if region in known else None


def _asked(token: str, purpose: Purpose) -> dict[str, Any]:
    return {"digest": _digest(token), "purpose": purpose.value, "now": int(time.time())}


def _digest(token: str) -> str:
    """Plain SHA-256 will do: a token has 192 bits of chance, which nobody guesses, unlike a password."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
