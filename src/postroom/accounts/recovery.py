"""Recovery codes: 50 bits of chance each, written so that they can be read off paper and typed in any way."""

from __future__ import annotations

import secrets

from postroom.accounts.chance import Below, keyed

CODES = 10
LENGTH = 10
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
"""Without those that are taken for one another: 0 and o, 1, i and l."""


def new_codes(below: Below = secrets.randbelow) -> tuple[str, ...]:
    """Ten codes, each `abcde-fghjk`."""
    return tuple(_new_code(below) for _ in range(CODES))


def _new_code(below: Below) -> str:
    text = "".join(ALPHABET[below(len(ALPHABET))] for _ in range(LENGTH))
    return f"{text[: LENGTH // 2]}-{text[LENGTH // 2 :]}"


def looks_like_one(typed: str) -> bool:
    """Whether what was typed, without blanks and dashes, can be a recovery code. A six-digit code never is."""
    return len(typed) == LENGTH and set(typed) <= set(ALPHABET)


def recovery_digest(key: bytes, person_id: str, code: str) -> str:
    """What is kept of one."""
    return keyed(key, "recovery", person_id, code.replace("-", "").lower())
