"""Codes of an authenticator: RFC 6238 over RFC 4226, six digits, thirty seconds and SHA-1, as every app has them."""

from __future__ import annotations

import hmac
import secrets
from base64 import b32encode
from datetime import datetime
from urllib.parse import quote, urlencode

DIGITS = 6
STEP = 30
"""Seconds that one code is shown."""
WINDOW = 1
"""Steps that a clock may be off, either way."""
SECRET_OCTETS = 20
"""As long as the hash, as RFC 4226 recommends."""


def new_secret() -> bytes:
    return secrets.token_bytes(SECRET_OCTETS)


def code_at(secret: bytes, step: int, *, digits: int = DIGITS, hash: str = "sha1") -> str:
    """The code of one step."""
    mac = hmac.digest(secret, step.to_bytes(8, "big"), hash)
    offset = mac[-1] & 0x0F
    number = int.from_bytes(mac[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**digits:0{digits}d}"


def step_of(now: datetime) -> int:
    return int(now.timestamp()) // STEP


def fitting_step(secret: bytes, code: str, now: datetime, *, after: int) -> int | None:
    """The step whose code this is, if it is near enough and later than those that were used; else None.

    All steps of the window are worked out whatever the code, so that the time it takes does not tell which one fits.
    """
    present = step_of(now)
    steps = range(present - WINDOW, present + WINDOW + 1)
    fitting = [step for step in steps if hmac.compare_digest(code_at(secret, step).encode(), code.encode())]
    return next((step for step in fitting if step > after), None)


def as_typed(secret: bytes) -> str:
    """For people who type it into their authenticator: `JBSW Y3DP …`."""
    text = b32encode(secret).decode().rstrip("=")
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def enrolment_uri(secret: bytes, *, name: str, issuer: str = "Postroom") -> str:
    """What the picture says, as authenticators read it."""
    query = {"secret": b32encode(secret).decode().rstrip("="), "issuer": issuer, "digits": DIGITS, "period": STEP}
    return f"otpauth://totp/{quote(issuer)}:{quote(name)}?{urlencode(query, quote_via=quote)}"
