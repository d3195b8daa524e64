"""Where an email comes back to: an address that names the email, so that a bounce needs no words to be understood.

With the return address `bounces@example.org` the envelope sender of an email is `bounces+TOKEN@example.org`. The token
is the email's id and a short signature, in lower case letters and digits, for some systems fold the case of what they
return. A valid token was made by us: whoever has never had an email cannot make up a bounce of it.
"""

from __future__ import annotations

import hmac
import re
from base64 import b32decode, b32encode
from collections.abc import Sequence
from uuid import UUID

from postroom.errors import ConfigurationError
from postroom.vocabulary import EmailId

ID, SIGNATURE = 16, 9
"""Octets of each; together they fill base32 without padding."""
TOKEN = (ID + SIGNATURE) * 8 // 5
"""Characters of a token."""
LONGEST_LOCAL = 64 - len("+") - TOKEN
"""Characters that are left for the local part of a return address: RFC 5321 allows 64 in all."""

_ADDRESS = re.compile(r"([a-z0-9][a-z0-9._-]*)@((?:[a-z0-9-]+\.)*[a-z0-9-]+)", re.ASCII | re.IGNORECASE)
_TOKEN = re.compile(rf"[a-z2-7]{{{TOKEN}}}", re.ASCII)


class ReturnPath:
    """Makes the envelope senders of emails, and knows them again. The first key signs; each of them is believed."""

    def __init__(self, address: str, keys: Sequence[bytes]) -> None:
        self.local, self.domain = checked_return_address(address)
        self._keys = tuple(keys)

    def __repr__(self) -> str:
        return f"<ReturnPath {self.local}@{self.domain}>"

    def sender(self, id: EmailId) -> str:
        """The envelope sender of an email: the same at every attempt, for as long as the secret is."""
        octets = UUID(id).bytes
        token = b32encode(octets + _signature(self._keys[0], octets)).decode().lower()
        return f"{self.local}+{token}@{self.domain}"

    def email_of(self, address: str) -> EmailId | None:
        """The email whose sender this address was; None where it is none of ours, or was made up."""
        local, _, domain = address.strip().lower().rpartition("@")
        before, _, token = local.rpartition("+")
        if (before, domain) != (self.local.lower(), self.domain.lower()) or not _TOKEN.fullmatch(token):
            return None
        octets = b32decode(token.upper())
        id, signature = octets[:ID], octets[ID:]
        believed = [hmac.compare_digest(signature, _signature(key, id)) for key in self._keys]
        return EmailId(str(UUID(bytes=id))) if any(believed) else None


def checked_return_address(address: str) -> tuple[str, str]:
    """Local part and domain; `ConfigurationError` where a token would not fit in or be recognised."""
    match = _ADDRESS.fullmatch(address.strip())
    if match is None:
        raise ConfigurationError(
            "return_address: expected an address of letters, digits, dots and hyphens without a plus, "
            "such as bounces@example.org"
        )
    if len(match[1]) > LONGEST_LOCAL:
        raise ConfigurationError(
            f"return_address: the part before the @ may have {LONGEST_LOCAL} characters, for a token is put behind it"
        )
    return match[1], match[2]


def _signature(key: bytes, id: bytes) -> bytes:
    return hmac.digest(key, id, "sha256")[:SIGNATURE]
