"""What `postroom doctor` says of sensitive emails: whether they are sealed, and whether they can be opened."""

from __future__ import annotations

from postroom.cli.checks import Finding, Level
from postroom.config import Settings
from postroom.errors import ConfigurationError
from postroom.operate.wording import count_of
from postroom.sealing.keyring import BEGINNING
from postroom.store.open import Database
from postroom.store.plan import Plan, ask

LOOKED_AT = 10_000
"""Boxes that are looked at, at most."""

_NAME = "sensitive"


def check_sealing(settings: Settings, database: Database) -> Finding:
    """Whether what sensitive emails say can be read by whoever reads the database, and by whoever is to send it."""
    keyring = settings.keyring()
    try:
        keyring.check()
        locked = sum(count for beginning, count in database.run(_boxes(), writes=False) if not keyring.knows(beginning))
    except ConfigurationError as error:
        return Finding(name=_NAME, level=Level.FAIL, detail=str(error), remedy="until then none can be enqueued")
    if locked:
        return Finding(
            name=_NAME,
            level=Level.FAIL,
            detail=f"{count_of(locked, 'sensitive email')} sealed with a secret that is not known here",
            remedy="set POSTROOM_SECRET as it was, or name the former one in POSTROOM_PREVIOUS_SECRETS",
        )
    if keyring.seals:
        return Finding(name=_NAME, level=Level.OK, detail="what sensitive emails say is sealed in the database")
    return Finding(
        name=_NAME,
        level=Level.WARN,
        detail="what sensitive emails say is not encrypted: whoever reads the database can read it",
        remedy="set POSTROOM_SECRET, the same for all processes, such as `openssl rand -base64 32`",
    )


def _boxes() -> Plan[list[tuple[bytes, int]]]:
    rows = yield ask("boxes", length=BEGINNING, limit=LOOKED_AT)
    return [(bytes.fromhex(beginning), int(count)) for beginning, count in rows]
