"""The form token as pages show it: another text on every page.

Pages are compressed, and a compressed page is shorter where something in it repeats something else in it. Whoever can
have a browser ask for pages with words of theirs in them, and can see how long the answers are, could so find out a
token that is always the same, letter by letter. What is shown is therefore the token mixed with chance, and the chance.
"""

from __future__ import annotations

import secrets


def covered(token: str, *, chance: bytes | None = None) -> str:
    """A token in hexadecimal digits as it is shown; empty where there is none."""
    if not token:
        return ""
    bare = bytes.fromhex(token)
    cover = chance or secrets.token_bytes(len(bare))
    return (cover + _mixed(cover, bare)).hex()


def uncovered(shown: str) -> str:
    """The token itself; empty for what was never shown."""
    try:
        both = bytes.fromhex(shown) if shown.isascii() else b""
    except ValueError:
        return ""
    half = len(both) // 2
    return _mixed(both[:half], both[half:]).hex() if len(both) == 2 * half else ""


def _mixed(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
