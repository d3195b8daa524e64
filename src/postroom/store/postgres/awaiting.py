"""PostgreSQL for event loops: a pool for each, opened when first needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from postroom.errors import StoreUnavailable
from postroom.fork import tell_after_fork
from postroom.store.connections.postgres import gives_rows
from postroom.store.failures import raise_plainly
from postroom.store.listening import tell
from postroom.store.plan import Copy, News, Plan, Rows, Step, adrive
from postroom.store.postgres.session import UTC, Postgres, abandoned
from postroom.store.queries import ParameterStyle

if TYPE_CHECKING:
    import psycopg
    import psycopg_pool

T = TypeVar("T")

LAST_USES = 5.0
"""Seconds that a pool stays open for tasks which are cancelled together with it."""


class AsyncPostgresDatabase(Postgres):
    """The same for event loops."""

    def __init__(self, url: str, **settings: Any) -> None:
        super().__init__(url, **settings)
        self.outages = 0
        """How often `run` found the database out of reach, or a connection that it had ended."""
        self._pools: dict[asyncio.AbstractEventLoop, psycopg_pool.AsyncConnectionPool[Any]] = {}
        """A pool belongs to the loop it was made in."""
        self._ending: dict[asyncio.AbstractEventLoop, asyncio.Task[None]] = {}
        """What closes it when its loop ends without a word to us."""
        tell_after_fork(self)

    async def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own; or, not `atomic`, each statement in its own."""
        try:
            return await self._run(plan, atomic=atomic)
        except StoreUnavailable:
            self.outages += 1
            raise

    async def _run(self, plan: Plan[T], *, atomic: bool) -> T:
        plan = self.schema.first(plan)
        try:
            async with self.transaction() if atomic else self.connection() as connection:
                return await self.run_on(connection, plan)
        except self._psycopg.Error as error:  # at BEGIN or COMMIT
            raise_plainly(error)

    async def run_on(self, connection: psycopg.AsyncConnection[Any], plan: Plan[T]) -> T:
        """Carry a plan out on one of our connections, within its transaction."""
        try:
            async with connection.cursor() as cursor:
                return await adrive(plan, lambda step: self._execute(cursor, step))
        except self._psycopg.Error as error:
            raise_plainly(error)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A transaction; commits at the end of the block, rolls back if it raises."""
        async with self.connection() as connection:
            pools = self._pools
            transaction = self._psycopg.AsyncTransaction(connection)  # see `PostgresDatabase`
            await transaction.__aenter__()
            try:
                yield connection
            except BaseException as error:
                # In a child that was forked within the block, the transaction is the parent's to end.
                if pools is not self._pools or not await transaction.__aexit__(type(error), error, error.__traceback__):
                    raise
            else:
                if pools is self._pools:
                    await transaction.__aexit__(None, None, None)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A connection of the pool, in autocommit mode."""
        pool, pools = self._pool_of_this_loop(), self._pools
        try:
            connection = await self._take(pool)
        except self._psycopg.Error as error:
            raise_plainly(error)
        try:
            yield connection
        except BaseException as error:
            if pools is self._pools and self._spoiled(error):
                await connection.close()
            raise
        finally:
            if pools is self._pools:
                await pool.putconn(connection)

    async def refresh(self) -> None:
        """Drop the connections that have died, so that the next one works if the server does."""
        if (pool := self._pools.get(asyncio.get_running_loop())) is not None:
            await pool.check()

    async def close(self) -> None:
        """Close the connections that were made in this loop, and those of loops that are no more."""
        self._let_go_of_closed_loops()
        loop = asyncio.get_running_loop()
        if (pool := self._pools.get(loop)) is not None:
            await pool.close()
        if (ending := self._ending.pop(loop, None)) is not None:
            ending.cancel()
            await asyncio.wait({ending})

    def forget_parent(self) -> None:
        """Pools of this process's own."""
        abandoned.append((self._pools, self._ending))  # were they collected, asyncio would complain of the tasks
        self._part_with_parent()
        self._pools, self._ending = {}, {}

    def _pool_of_this_loop(self) -> psycopg_pool.AsyncConnectionPool[Any]:
        loop = asyncio.get_running_loop()
        ending = self._ending.get(loop)
        if loop not in self._pools or (ending is not None and ending.done()):
            self._let_go_of_closed_loops()
            pool = self._pools[loop] = self._new_pool()
            self._ending[loop] = loop.create_task(_close_with_loop(pool), name=f"{pool.name}-ending")
        return self._pools[loop]

    def _new_pool(self) -> psycopg_pool.AsyncConnectionPool[Any]:
        from postroom.store.postgres.reading import ThoroughConnection  # needs psycopg, which not everybody has

        pool: psycopg_pool.AsyncConnectionPool[Any] = self._psycopg_pool.AsyncConnectionPool(
            connection_class=ThoroughConnection, **self._pool_settings()
        )
        return pool

    def _let_go_of_closed_loops(self) -> None:
        """`asyncio.run` may be called again and again; what was opened in a loop that is closed cannot be awaited."""
        for loop in [each for each in self._pools if each.is_closed()]:
            del self._pools[loop]
            self._ending.pop(loop, None)
            for connection in [each for each in self._made if each.postroom_loop is loop]:
                connection.pgconn.finish()

    async def _take(self, pool: psycopg_pool.AsyncConnectionPool[Any]) -> psycopg.AsyncConnection[Any]:
        """A connection that the server has not ended: those it has are replaced, without waiting between them."""
        await pool.open()
        while True:
            connection: psycopg.AsyncConnection[Any] = await pool.getconn()
            if self._is_of_this_era(connection) and (self._is_quiet(connection) or await self._answers(connection)):
                return connection
            self.outages += 1
            await connection.close()
            await pool.putconn(connection)

    async def _answers(self, connection: psycopg.AsyncConnection[Any]) -> bool:
        try:
            await self._psycopg_pool.AsyncConnectionPool.check_connection(connection)
        except self._psycopg.Error:
            return False
        return True

    async def _configure(self, connection: psycopg.AsyncConnection[Any]) -> None:
        connection.postroom_era = self._era  # type: ignore[attr-defined]
        connection.postroom_loop = asyncio.get_running_loop()  # type: ignore[attr-defined]
        self._made.add(connection)
        if self.pooled:
            await connection.execute(UTC)

    async def _execute(self, cursor: psycopg.AsyncCursor[Any], step: Step) -> Rows:
        if isinstance(step, Copy):
            async with cursor.copy(self._copy_sql(step)) as copy:
                for row in step.rows:
                    await copy.write_row(row)
            return []
        if isinstance(step, News):
            return await adrive(tell(step, self.listeners), lambda heard: self._execute(cursor, heard))
        for sql, values in self.dialect.speak(step, ParameterStyle.PYFORMAT):
            await cursor.execute(sql, values, binary=step.binary)
        return await cursor.fetchall() if gives_rows(cursor) else []


async def _close_with_loop(pool: psycopg_pool.AsyncConnectionPool[Any]) -> None:
    """Close a pool when the loop cancels its tasks, as `asyncio.run` does at its end.

    Up to Python 3.11 a task of the pool's that is connecting at that moment may lose its cancellation; unless the pool
    is told, it goes on to wait for work, and the loop for it, for ever.
    """
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        if not pool.closed:
            await _last_uses(pool)
            with suppress(asyncio.CancelledError):  # of the pool's own tasks, which were cancelled too
                await pool.close()
        raise


async def _last_uses(pool: psycopg_pool.AsyncConnectionPool[Any]) -> None:
    """Whoever else is cancelled may have something to store before it ends."""
    own = f"{pool.name}-"  # the tasks of pools, and those that close them
    others = [each for each in asyncio.all_tasks() if each.cancelling() and not each.get_name().startswith(own)]
    if others:
        await asyncio.wait(others, timeout=LAST_USES)
