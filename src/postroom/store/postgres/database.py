"""Our own connections to PostgreSQL: a pool, opened when first needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from postroom.errors import ConfigurationError
from postroom.store.dialect import Clock, postgres_dialect
from postroom.store.failures import raise_plainly
from postroom.store.plan import Copy, Plan, Rows, Step, arun, run
from postroom.store.queries import ParameterStyle

if TYPE_CHECKING:
    import psycopg
    import psycopg_pool

T = TypeVar("T")


def _import_psycopg() -> tuple[Any, Any]:
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise ConfigurationError(
            "PostgreSQL needs psycopg: install it with `pip install 'postroom[postgres]'`"
        ) from error
    return psycopg, psycopg_pool


_UTC = "SET timezone TO 'UTC'"


class _Postgres:
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
    ) -> None:
        self.url = url
        self.pooled = pooled
        """A pooler stands between, and gives each transaction to another session."""
        self.session = self._session(pooled)
        """What to say when connecting, beside the URL."""
        self.dialect = postgres_dialect(schema=schema, clock=clock or (lambda: None))
        self._connections = connections
        self._psycopg, self._psycopg_pool = _import_psycopg()

    def _pool_settings(self) -> dict[str, Any]:
        return {
            "conninfo": self.url,
            "min_size": 0,
            "max_size": self._connections,
            "open": False,
            "timeout": 5,
            "kwargs": {"autocommit": True, **self.session},
            "name": "postroom",
        }

    @staticmethod
    def _session(pooled: bool) -> dict[str, Any]:
        """A pooler knows no start-up options, and what was prepared in one session is not there in the next."""
        particular = {"prepare_threshold": None} if pooled else {"options": "-c timezone=UTC"}
        return {"application_name": "postroom", **particular}

    def _copy_sql(self, step: Copy) -> str:
        return f"COPY {self.dialect.tables}{step.table} ({', '.join(step.columns)}) FROM STDIN"


class PostgresDatabase(_Postgres):
    """A database and a pool of connections to it."""

    def __init__(self, url: str, **settings: Any) -> None:
        super().__init__(url, **settings)
        self._pool: psycopg_pool.ConnectionPool[Any] = self._psycopg_pool.ConnectionPool(
            **self._pool_settings(), configure=self._configure if self.pooled else None
        )

    def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own; or, not `atomic`, each statement in its own."""
        try:
            with self.transaction() if atomic else self.connection() as connection:
                return self.run_on(connection, plan)
        except self._psycopg.Error as error:  # at BEGIN or COMMIT
            raise_plainly(error)

    def run_on(self, connection: psycopg.Connection[Any], plan: Plan[T]) -> T:
        """Carry a plan out on one of our connections, within its transaction."""
        try:
            with connection.cursor() as cursor:
                return run(plan, lambda step: self._execute(cursor, step))
        except self._psycopg.Error as error:
            raise_plainly(error)

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction; commits at the end of the block, rolls back if it raises."""
        with self.connection() as connection, connection.transaction():
            yield connection

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection of the pool, in autocommit mode."""
        self._pool.open()
        try:
            connection = self._pool.getconn()
        except self._psycopg.Error as error:
            raise_plainly(error)
        try:
            yield connection
        finally:
            self._pool.putconn(connection)

    def close(self) -> None:
        self._pool.close()

    @staticmethod
    def _configure(connection: psycopg.Connection[Any]) -> None:
        """Poolers remember the time zone of each of their clients."""
        connection.execute(_UTC)

    def _execute(self, cursor: psycopg.Cursor[Any], step: Step) -> Rows:
        if isinstance(step, Copy):
            with cursor.copy(self._copy_sql(step)) as copy:
                for row in step.rows:
                    copy.write_row(row)
            return []
        for sql, values in self.dialect.speak(step, ParameterStyle.PYFORMAT):
            cursor.execute(sql, values, binary=step.octets)
        return cursor.fetchall() if cursor.description else []


class AsyncPostgresDatabase(_Postgres):
    """The same for event loops."""

    def __init__(self, url: str, **settings: Any) -> None:
        super().__init__(url, **settings)
        self._pool: psycopg_pool.AsyncConnectionPool[Any] | None = None

    async def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own; or, not `atomic`, each statement in its own."""
        try:
            async with self.transaction() if atomic else self.connection() as connection:
                return await self.run_on(connection, plan)
        except self._psycopg.Error as error:  # at BEGIN or COMMIT
            raise_plainly(error)

    async def run_on(self, connection: psycopg.AsyncConnection[Any], plan: Plan[T]) -> T:
        """Carry a plan out on one of our connections, within its transaction."""
        try:
            async with connection.cursor() as cursor:
                return await arun(plan, lambda step: self._execute(cursor, step))
        except self._psycopg.Error as error:
            raise_plainly(error)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A transaction; commits at the end of the block, rolls back if it raises."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A connection of the pool, in autocommit mode."""
        if self._pool is None:  # made here because a pool belongs to the loop it is made in
            self._pool = self._psycopg_pool.AsyncConnectionPool(
                **self._pool_settings(), configure=self._configure if self.pooled else None
            )
        await self._pool.open()
        try:
            connection = await self._pool.getconn()
        except self._psycopg.Error as error:
            raise_plainly(error)
        try:
            yield connection
        finally:
            await self._pool.putconn(connection)

    async def refresh(self) -> None:
        """Drop the connections that have died, so that the next one works if the server does."""
        if self._pool is not None:
            await self._pool.check()

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()

    @staticmethod
    async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute(_UTC)

    async def _execute(self, cursor: psycopg.AsyncCursor[Any], step: Step) -> Rows:
        if isinstance(step, Copy):
            async with cursor.copy(self._copy_sql(step)) as copy:
                for row in step.rows:
                    await copy.write_row(row)
            return []
        for sql, values in self.dialect.speak(step, ParameterStyle.PYFORMAT):
            await cursor.execute(sql, values, binary=step.octets)
        return await cursor.fetchall() if cursor.description else []
