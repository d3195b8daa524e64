"""What travels over the broker: an email's id with the attempt it is meant for, and the news that one has died.

`messageKey` is the same for every message about one attempt, so that whoever reads along can tell copies apart. It is
also the message's AMQP `message-id`.
"""

from __future__ import annotations

import json
import re

from postroom.store.dispatch import Died, Named
from postroom.vocabulary import EmailId

LARGEST = 4_096
"""Bytes; ours have about a hundred and twenty."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ATTEMPT = re.compile(r"[1-9][0-9]{0,8}")
# Whoever it is for: atoms (an apostrophe is one) or a quoted string; and where: a name, or a literal in brackets.
_ADDRESS = re.compile(r"""(?:"[^"\n]*"|[^\s<>()\[\],;:"]+)@(?:\[[^\]\s]*\]|[^\s<>()\[\],;:"']+)""")


class Poison(Exception):
    """A message that no sender can make sense of; the text says why, without repeating it."""


def message_key(id: EmailId, attempt: int) -> str:
    """Names one attempt of one email."""
    return f"{id}:{attempt}"


def encode(named: Named, *, deployment: str = "") -> bytes:
    """The body of a message; `deployment` is the id of the one that the email belongs to, if there is any."""
    return b'{"emailId":"%b","messageKey":"%b"%b}' % (
        named.id.encode(),
        message_key(named.id, named.attempt).encode(),
        b',"deployment":"%b"' % deployment.encode() if deployment else b"",
    )


def decode(body: bytes, *, deployment: str = "") -> Named:
    """Read a message back, or refuse it as `Poison`. Members that we do not know are left alone.

    One that says to be of another deployment than ours is refused: a copy of the database has emails of the same ids.
    """
    if len(body) > LARGEST:
        raise Poison(f"larger than {LARGEST:,} bytes")
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise Poison("not JSON") from None
    if not isinstance(content, dict):
        raise Poison("not an object")
    id, key = content.get("emailId"), content.get("messageKey")
    if not isinstance(id, str) or not _UUID.fullmatch(id):
        raise Poison("emailId is not an email's id")
    if not isinstance(key, str) or not key.startswith(f"{id}:") or not _ATTEMPT.fullmatch(key[len(id) + 1 :]):
        raise Poison("messageKey does not name an attempt of that email")
    if content.get("deployment", deployment) != deployment:
        raise Poison("of another deployment; the broker, or its queues, are shared with a copy")
    return Named(EmailId(id), int(key[len(id) + 1 :]))


def obituary(died: Died) -> bytes:
    """The event that tells operators of a dead email."""
    return json.dumps(
        {
            "emailId": died.claim.id,
            "reason": died.reason.value,
            "attempts": died.attempts,
            "lastError": without_addresses(died.last_error) if died.last_error is not None else None,
            "at": died.at.isoformat(),
        },
        ensure_ascii=False,
    ).encode()


def without_addresses(text: str) -> str:
    """Servers like to quote addresses in their replies; whoever listens on a queue need not learn them."""
    return _ADDRESS.sub("[address]", text)
