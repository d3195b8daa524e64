"""Signatures by Standard Webhooks, one for each secret, so that secrets can be changed while both sides run.

`whsec_` secrets are shared with the receiver and sign by HMAC-SHA256 (`v1`); `whsk_` secrets are ours alone and sign by
ed25519 (`v1a`), and the receiver has the public key.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable

from postroom.errors import ConfigurationError

Sign = Callable[[bytes], str]
"""The signature of what is signed, with its version."""

SHORTEST_SECRET = 16
"""Octets; Standard Webhooks recommends 24 to 64."""

_MAKE_ONE = "make one with: echo whsec_$(openssl rand -base64 32)"


def read_secrets(secrets: Iterable[str]) -> tuple[Sign, ...]:
    """What signs, for each secret. An error never shows the secret."""
    return tuple(_signer(secret, place) for place, secret in enumerate(secrets, 1))


def signed_headers(signers: tuple[Sign, ...], *, id: str, timestamp: int, body: bytes) -> tuple[tuple[str, str], ...]:
    """The three headers; without the signature where there is no secret."""
    headers = (("webhook-id", id), ("webhook-timestamp", str(timestamp)))
    if not signers:
        return headers
    content = f"{id}.{timestamp}.".encode() + body
    return (*headers, ("webhook-signature", " ".join(sign(content) for sign in signers)))


def _signer(secret: str, place: int) -> Sign:
    if secret.startswith("whsec_"):
        return _shared(_decoded(secret.removeprefix("whsec_"), place))
    if secret.startswith("whsk_"):
        return _private(_decoded(secret.removeprefix("whsk_"), place), place)
    raise ConfigurationError(f"webhooks: secret {place} begins neither with whsec_ nor with whsk_; {_MAKE_ONE}")


def _decoded(text: str, place: int) -> bytes:
    try:
        key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (NotBase64, ValueError):
        raise ConfigurationError(f"webhooks: secret {place} is not base64 behind its prefix; {_MAKE_ONE}") from None
    if len(key) < SHORTEST_SECRET:
        raise ConfigurationError(f"webhooks: secret {place} is shorter than {SHORTEST_SECRET} octets; {_MAKE_ONE}")
    return key


def _shared(key: bytes) -> Sign:
    def sign(content: bytes) -> str:
        return f"v1,{b64encode(hmac.digest(key, content, 'sha256')).decode()}"

    return sign


def _private(key: bytes, place: int) -> Sign:
    if len(key) not in (32, 64):  # the seed, or the seed with the public key behind it
        raise ConfigurationError(f"webhooks: secret {place} is no ed25519 key: it has {len(key)} octets, not 32 or 64")
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        raise ConfigurationError(
            "webhooks: whsk_ secrets need the package cryptography; pip install 'postroom[webhooks]'"
        ) from None
    private = Ed25519PrivateKey.from_private_bytes(key[:32])

    def sign(content: bytes) -> str:
        return f"v1a,{b64encode(private.sign(content)).decode()}"

    return sign
