"""Our own connections to PostgreSQL: what the shells for threads and for event loops share.

A connection that the server has ended while it lay in the pool is not given out. One on which the server turned out to
be unable to serve is not put back: the next attempt connects anew, perhaps to another server. A forked child begins
with a pool of its own, and an event loop with one of its own.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from postroom.errors import ConfigurationError
from postroom.fork import lead_nowhere
from postroom.store.dialect import Clock, postgres_dialect
from postroom.store.failures import says_read_only, spoils_connection
from postroom.store.listening import Listener
from postroom.store.plan import Copy
from postroom.store.postgres.idle import has_news
from postroom.store.schema import SchemaCheck

PATIENCE = 5
"""Seconds that somebody waits for a connection at most."""

POOL = "postroom"
"""What our pools are called in what psycopg logs of them."""

UTC = "SET timezone TO 'UTC'"
"""Poolers remember the time zone of each of their clients."""

abandoned: list[Any] = []
"""Pools and connections of the parent, in a forked child. Nothing is to be done to them, not even when nobody refers
to them any more: so they are kept, and left alone."""


class Postgres:
    """What the sync and the async shell share."""

    copies = True

    def __init__(
        self,
        url: str,
        *,
        schema: str = "postroom",
        clock: Clock | None = None,
        connections: int = 8,
        pooled: bool = False,
        listeners: tuple[Listener, ...] = (),
    ) -> None:
        self.url = url
        self.listeners = listeners
        self.pooled = pooled
        """A pooler stands between, and gives each transaction to another session."""
        self.session = self._session(pooled)
        """What to say when connecting, beside the URL."""
        self.dialect = postgres_dialect(schema=schema, clock=clock or (lambda: None))
        self.schema = SchemaCheck("postgres", self.dialect.tables)
        self._connections = connections
        self._psycopg, self._psycopg_pool = _import_psycopg()
        self._made: WeakSet[Any] = WeakSet()
        """Every connection there is, in use or not."""
        self._era = 0
        """Connections of an earlier one are not given out again: they may be to a server that may only read."""

    def _pool_settings(self) -> dict[str, Any]:
        return {
            "conninfo": self.url,
            "min_size": 0,
            "max_size": self._connections,
            "open": False,
            "timeout": PATIENCE,
            # Given up soon, because each further try of the pool's own comes later than the one before: whoever asks
            # next has it tried at once.
            "reconnect_timeout": 2,
            "kwargs": {"autocommit": True, **self.session},
            "name": POOL,
            "configure": self._configure,
        }

    def _configure(self, connection: Any) -> Any:
        raise NotImplementedError

    def _part_with_parent(self) -> None:
        """In a forked child: the connections made so far are the parent's, and end when it does, with their locks."""
        for connection in list(self._made):
            with suppress(self._psycopg.Error, OSError):  # closed already
                lead_nowhere(connection.pgconn.socket)
            abandoned.append(connection)
        self._made = WeakSet()

    @staticmethod
    def _session(pooled: bool) -> dict[str, Any]:
        """A pooler knows no start-up options, and what was prepared in one session is not there in the next.

        No statement of ours gains by being compiled first, which takes as long as hundreds of them.
        """
        particular = {"prepare_threshold": None} if pooled else {"options": "-c timezone=UTC -c jit=off"}
        return {"application_name": "postroom", **particular}

    def _copy_sql(self, step: Copy) -> str:
        return f"COPY {self.dialect.tables}{step.table} ({', '.join(step.columns)}) FROM STDIN"

    def _is_of_this_era(self, connection: Any) -> bool:
        return bool(connection.postroom_era == self._era)

    @staticmethod
    def _is_quiet(connection: Any) -> bool:
        """Whether a connection from the pool can be used without a further look."""
        return not connection.closed and not has_news(connection.pgconn.socket)

    def _spoiled(self, error: BaseException) -> bool:
        """Whether to drop the connection on which this was raised; and, with it, all that may be alike."""
        if says_read_only(error):
            self._era += 1
        return spoils_connection(error)


def _import_psycopg() -> tuple[Any, Any]:
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise ConfigurationError(
            "PostgreSQL needs psycopg: install it with `pip install 'postroom[postgres]'`"
        ) from error
    logging.getLogger("psycopg.pool").addFilter(_is_heard)
    return psycopg, psycopg_pool


def _is_heard(record: logging.LogRecord) -> bool:
    """What the pool says of our connections goes where the application has set logging up to go. Where it has not,
    Python would print it: a library does not."""
    return f"'{POOL}" not in record.getMessage() or logging.getLogger(record.name).hasHandlers()
