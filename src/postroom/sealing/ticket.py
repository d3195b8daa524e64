"""The token in a link by which somebody unsubscribes: everything about it, and nothing that anybody could read.

Emails are pruned after some weeks and links are pressed after years, so a token does not name something that is kept:
it holds what has to be known. It is made of

    a version, the name of a key, a seed, and, in AES-256-GCM: email, address, workspace, kind, language, region

in Base64 for URLs. Key and nonce are made of the secret and of the seed, which is another one each time: however many
tokens there are, no nonce is used twice with one key. What stands in front is authenticated too. The name of the key
tells which secret it was, so that links outlive a change of it for as long as the former one is known.
"""

from __future__ import annotations

import hmac
import os
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from postroom.sealing.keyring import NAME, NONCE, TAG, Key, Keyring, aesgcm
from postroom.vocabulary import EmailId

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PURPOSE = "unsubscribing"

_VERSION = b"\x01"
_SEED = 16
_ID = 16
_HEAD = len(_VERSION) + NAME + _SEED
_WRITTEN = re.compile(r"[A-Za-z0-9_-]{60,4000}")
_KEY = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What a link is about: whose mail, and which."""

    email_id: EmailId
    address: str
    workspace: str = ""
    kind: str = ""
    language: str = ""
    """Of the email's words, if that is known."""
    region: str = ""
    """Where it is to be recorded."""


def sealed(ticket: Ticket, keyring: Keyring) -> str:
    """The ticket as a token. `keyring` has a secret, and what it needs to seal with it."""
    key = keyring.keys_for(PURPOSE)[0]
    head = _VERSION + key.name + os.urandom(_SEED)
    cipher, nonce = _cipher(key, head)
    return urlsafe_b64encode(head + cipher.encrypt(nonce, _packed(ticket), head)).rstrip(b"=").decode()


def unsealed(token: str, keyring: Keyring) -> Ticket | None:
    """The ticket of a token; None for whatever was not sealed as it stands with one of these secrets."""
    octets = _octets(token)
    if octets[:1] != _VERSION or len(octets) < _HEAD + _ID + TAG:
        return None
    from cryptography.exceptions import InvalidTag

    head, box = octets[:_HEAD], octets[_HEAD:]
    for key in keyring.keys_for(PURPOSE):
        if key.name == head[1 : 1 + NAME]:
            cipher, nonce = _cipher(key, head)
            try:
                return _unpacked(cipher.decrypt(nonce, box, head))
            except InvalidTag:
                continue
    return None


def _octets(token: str) -> bytes:
    """Nothing for a text that is not exactly as we would write it."""
    if not _WRITTEN.fullmatch(token) or len(token) % 4 == 1:
        return b""
    octets = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    return octets if urlsafe_b64encode(octets).rstrip(b"=") == token.encode() else b""


def _cipher(key: Key, head: bytes) -> tuple[AESGCM, bytes]:
    made = hmac.digest(key.value, head[1 + NAME :], "sha512")
    return aesgcm()(made[:_KEY]), made[_KEY : _KEY + NONCE]


def _packed(ticket: Ticket) -> bytes:
    """NUL is in none of them."""
    words = (ticket.address, ticket.workspace, ticket.kind, ticket.language, ticket.region)
    return UUID(ticket.email_id).bytes + "\0".join(words).encode()


def _unpacked(content: bytes) -> Ticket:
    address, workspace, kind, language, region = content[_ID:].decode().split("\0")
    return Ticket(
        email_id=EmailId(str(UUID(bytes=content[:_ID]))),
        address=address,
        workspace=workspace,
        kind=kind,
        language=language,
        region=region,
    )
