"""The keys of sealed content: made of `POSTROOM_SECRET`, and of the secrets before it.

A box begins with a word that says whether it is sealed; a sealed one names its key, so that after a change of the
secret old boxes are opened with the old key and new ones are sealed with the new one. The cipher is AES-256 in GCM,
under a key of each email's own, so that however many there are no nonce is ever used twice with one key. What the box
is bound to, the email's id and the version of its content, goes into that key and is authenticated with it: a box that
is put under another email opens as little as one with a flipped bit.
"""

from __future__ import annotations

import hmac
import os
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from postroom.errors import ConfigurationError, UnreadableEmail
from postroom.vocabulary import EmailId

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PLAIN, SEALED = b"PRB0", b"PRB1"
"""How boxes begin."""
NAME, NONCE, TAG = 8, 12, 16
"""Octets of a key's name, of a nonce, and of what shows that nothing was changed."""
BEGINNING = len(SEALED) + NAME
"""Octets of a box that tell whether it is sealed, and with which key."""
SHORTEST = 32
"""Characters of a secret."""

INSTALL = "pip install 'postroom[encryption]'"


class Key(NamedTuple):
    """What seals, and the name by which a box says so; neither tells the secret."""

    name: bytes
    value: bytes

    @classmethod
    def of(cls, secret: str) -> Key:
        """The same for the same secret, in every process."""
        return cls(_derived(secret, b"postroom: name of a sealing key")[:NAME], _derived(secret, b"postroom: sealing"))

    @classmethod
    def for_purpose(cls, secret: str, purpose: str) -> Key:
        """Another one for what is no box: what was made for one purpose opens nothing of another."""
        name, value = f"postroom: name of a key for {purpose}", f"postroom: {purpose}"
        return cls(_derived(secret, name.encode())[:NAME], _derived(secret, value.encode()))

    def cipher(self, bound_to: bytes) -> AESGCM:
        return aesgcm()(hmac.digest(self.value, bound_to, "sha256"))


class Keyring:
    """Seals with the secret and opens with it or those before it. Without one, boxes are closed and not sealed."""

    def __init__(self, secret: str | None = None, previous: tuple[str, ...] = ()) -> None:
        self._secret = secret or None
        self._secrets = (*([secret] if secret else ()), *previous)
        self._for_purposes: dict[str, tuple[Key, ...]] = {}

    def __repr__(self) -> str:
        return f"<Keyring of {len(self._secrets)}>"

    @property
    def seals(self) -> bool:
        """Whether there is a secret to seal with."""
        return self._secret is not None

    def knows(self, beginning: bytes) -> bool:
        """Whether a box that begins like this could be opened here."""
        return beginning.startswith(PLAIN) or beginning in {SEALED + key.name for key in self._keys}

    def check(self) -> None:
        """Raise `ConfigurationError` if there is a secret and nothing could be sealed with it."""
        if self.seals and self._keys:
            try:
                aesgcm()
            except ModuleNotFoundError as error:
                raise ConfigurationError(
                    "POSTROOM_SECRET is set, so sensitive emails are sealed, and that needs the package cryptography; "
                    f"{INSTALL}"
                ) from error

    def close(self, content: bytes, *, id: EmailId, version: int) -> bytes:
        """The content in a box. Never in a plain one where a secret is known."""
        self.check()
        if not self.seals:
            return PLAIN + content
        key, bound_to, nonce = self._keys[0], _bound_to(id, version), os.urandom(NONCE)
        return SEALED + key.name + nonce + key.cipher(bound_to).encrypt(nonce, content, bound_to)

    def open(self, box: bytes, *, id: EmailId, version: int) -> bytes:
        """What is in a box; `UnreadableEmail`, with the remedy, where it cannot be opened."""
        if box.startswith(PLAIN):
            return box[len(PLAIN) :]
        name, nonce, sealed = _parts(box, id)
        try:
            key = next((each for each in self._keys if each.name == name), None)
        except ConfigurationError as error:
            raise UnreadableEmail(id, f"its content is sealed, and {error}; then retry the email") from error
        if key is None:
            raise UnreadableEmail(id, _UNKNOWN_KEY.format(name=name.hex(), known=len(self._secrets) or "no"))
        return _unsealed(key, nonce, sealed, id=id, version=version)

    def keys_for(self, purpose: str) -> tuple[Key, ...]:
        """One of each secret, the present one's first; `ConfigurationError` for a secret that is too short."""
        if purpose not in self._for_purposes:
            self._for_purposes[purpose] = tuple(Key.for_purpose(each, purpose) for each in self._checked)
        return self._for_purposes[purpose]

    @cached_property
    def _keys(self) -> tuple[Key, ...]:
        return tuple(Key.of(secret) for secret in self._checked)

    @property
    def _checked(self) -> tuple[str, ...]:
        for secret in self._secrets:
            if len(secret) < SHORTEST:
                raise ConfigurationError(
                    f"a secret in POSTROOM_SECRET or POSTROOM_PREVIOUS_SECRETS has {len(secret)} characters; at least "
                    f"{SHORTEST} by chance are needed, such as those of `openssl rand -base64 32`"
                )
        return self._secrets


NO_KEYS = Keyring()

_UNKNOWN_KEY = (
    "its content is sealed with a secret that is not known here (key {name}; {known} known); set POSTROOM_SECRET as it "
    "was, or name the former secret in POSTROOM_PREVIOUS_SECRETS, then retry the email, or dismiss it"
)
_CHANGED = "its sealed content was changed or damaged; restore it from a backup, or dismiss the email"


def _parts(box: bytes, id: EmailId) -> tuple[bytes, bytes, bytes]:
    if not box.startswith(SEALED) or len(box) < len(SEALED) + NAME + NONCE + TAG:
        raise UnreadableEmail(id, _CHANGED)
    start = len(SEALED)
    return box[start : start + NAME], box[start + NAME : start + NAME + NONCE], box[start + NAME + NONCE :]


def _unsealed(key: Key, nonce: bytes, sealed: bytes, *, id: EmailId, version: int) -> bytes:
    bound_to = _bound_to(id, version)
    try:
        cipher = key.cipher(bound_to)
    except ModuleNotFoundError as error:
        raise UnreadableEmail(
            id, f"its content is sealed, and the package cryptography is missing here; {INSTALL}, then retry the email"
        ) from error
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(nonce, sealed, bound_to)
    except InvalidTag as error:
        raise UnreadableEmail(id, _CHANGED) from error


def _bound_to(id: EmailId, version: int) -> bytes:
    return SEALED + f"{id}\0{version}".encode()


def _derived(secret: str, purpose: bytes) -> bytes:
    return hmac.digest(secret.encode(), purpose, "sha256")


def aesgcm() -> type[AESGCM]:
    """Imported when it is needed: few processes have to do with sensitive emails."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM
