"""The key of every keyed hash: `POSTROOM_SECRET`, or one made once and kept in the database."""

from __future__ import annotations

from hashlib import sha256

from postroom.accounts.chance import new_token
from postroom.config import Settings
from postroom.errors import ConfigurationError
from postroom.store.plan import Plan, ask

SHORTEST = 32


def secret_key(settings: Settings) -> Plan[bytes]:
    """The key, 32 bytes. All processes of an outbox come to the same one."""
    given = settings.secret
    if given is not None:
        text = given.get_secret_value()
        if len(text) < SHORTEST:
            raise ConfigurationError(
                f"POSTROOM_SECRET has {len(text)} characters; at least {SHORTEST} by chance are needed, "
                "such as those of `openssl rand -base64 32`"
            )
    else:
        [[text]] = yield ask("people_secret", name="key", value=new_token())
    return sha256(text.encode()).digest()
