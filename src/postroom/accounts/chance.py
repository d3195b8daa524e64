"""Secrets made by chance, and what is kept of them.

A token of a session or of a machine is 256 bits of chance: its plain hash tells nothing. A code has six digits, which
anybody can try out; what is kept of it is a keyed hash that also says which sign-in it belongs to, so that a copy of
the table is worth nothing without the key, and a code nothing in another sign-in.
"""

from __future__ import annotations

import hmac
import secrets
import unicodedata
from collections.abc import Callable
from hashlib import sha256

CODE_DIGITS = 6
LONGEST_TYPED = 100
"""Characters of what is typed as a code that are looked at."""
TOKEN_PREFIX = "postroom_"  # noqa: S105  (so that a token in a log or a repository is recognised as one)

Below = Callable[[int], int]
"""An unforeseeable number from 0 up to, and without, this one."""


def new_code(below: Below = secrets.randbelow) -> str:
    """Six digits, each sequence as likely as the others."""
    return f"{below(10**CODE_DIGITS):0{CODE_DIGITS}d}"


def new_token(prefix: str = "") -> str:
    """256 bits of chance."""
    return prefix + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What is kept of a token."""
    return sha256(token.encode()).hexdigest()


def keyed(key: bytes, purpose: str, *parts: str) -> str:
    """A keyed hash for one purpose. No two lists of parts give the same text to be hashed."""
    text = "".join(f"{len(part)}:{part}" for part in (purpose, *parts))
    return hmac.new(key, text.encode(), sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two digests are equal, in a time that does not tell where they differ. Whatever was sent is compared."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


def typed_code(text: str) -> str:
    """A code as people type or paste it: `123 456`, `123-456`, `ABCDE fghjk`, in letters and digits of any width.

    What no code holds is left out, so that nothing else gets further than this.
    """
    plain = unicodedata.normalize("NFKC", text[:LONGEST_TYPED]).lower()
    return "".join(each for each in plain if each.isascii() and each.isalnum())
