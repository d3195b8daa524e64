"""How all regions stand, looked at together: one that does not answer keeps nobody waiting for the others."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from postroom.errors import PostroomError, SchemaError
from postroom.operate.service import AsyncOperations
from postroom.operate.values import House
from postroom.outbox import AsyncOutbox
from postroom.regions import AsyncRegions
from postroom.store.sqlite.awaiting import AsyncSqliteDatabase

PATIENCE = 2.0
"""Seconds that a region has to answer."""


class Reach(StrEnum):
    """Whether a region could be looked at."""

    REACHED = "reached"
    AWAY = "away"
    """Its database does not answer."""
    UNREADY = "unready"
    """Its tables are not there, or of another version."""
    UNKNOWN = "unknown"
    """Its database is not known on this machine, or its settings are wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionView:
    """How one region stands."""

    name: str
    reach: Reach
    house: House | None = None
    """None where it could not be looked at."""
    reason: str = ""
    """Why it could not be, for those who look after machines."""


async def look_around(regions: AsyncRegions, names: Iterable[str]) -> tuple[RegionView, ...]:
    """These regions, at the same time, within moments."""
    return tuple(await asyncio.gather(*(look_at(name, regions[name]) for name in names)))


async def look_at(name: str, outbox: AsyncOutbox, *, patience: float = PATIENCE) -> RegionView:
    """One region, within so many seconds; whatever is wrong with it is what is told of it."""
    database = outbox.database
    if isinstance(database, AsyncSqliteDatabase) and not database.path.exists():
        return RegionView(name=name, reach=Reach.UNREADY, reason=f"there is no outbox at {database.path}")
    try:
        async with asyncio.timeout(patience):
            house = await AsyncOperations(outbox).house()
    except TimeoutError:
        return RegionView(name=name, reach=Reach.AWAY, reason=f"its database has not answered within {patience:g} s")
    except SchemaError as error:
        return RegionView(name=name, reach=Reach.UNREADY, reason=str(error))
    except (PostroomError, sqlite3.Error, OSError) as error:
        return RegionView(name=name, reach=Reach.AWAY, reason=str(error))
    return RegionView(name=name, reach=Reach.REACHED, house=house)
