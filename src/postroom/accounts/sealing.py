"""Secrets that must be read again, and are therefore not hashed: encrypted under the key of keyed hashes.

That key is `POSTROOM_SECRET` where one is given: then a copy of the database opens nothing. What was sealed for one
person opens for nobody else, and not under another key.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING

from postroom.errors import ConfigurationError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

NONCE_OCTETS = 12


def seal(secret: bytes, *, key: bytes, owner: str) -> str:
    """The secret as it is kept."""
    nonce = secrets.token_bytes(NONCE_OCTETS)
    return urlsafe_b64encode(nonce + _cipher(key).encrypt(nonce, secret, owner.encode())).decode()


def unseal(kept: str, *, key: bytes, owner: str) -> bytes | None:
    """The secret; None where it was sealed under another key, for somebody else, or is damaged."""
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        octets = urlsafe_b64decode(kept.encode())
        return cipher.decrypt(octets[:NONCE_OCTETS], octets[NONCE_OCTETS:], owner.encode())
    except (InvalidTag, ValueError):
        return None


def _cipher(key: bytes) -> ChaCha20Poly1305:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    except ImportError as error:
        raise ConfigurationError(
            "authenticators need cryptography: install it with `pip install 'postroom[web]'`"
        ) from error
    return ChaCha20Poly1305(hmac.digest(key, b"postroom sealing", "sha256"))
