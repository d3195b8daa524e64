"""PostgreSQL for threads: a pool, opened when first needed."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from postroom.fork import tell_after_fork
from postroom.store.connections.postgres import gives_rows
from postroom.store.failures import raise_plainly
from postroom.store.listening import tell
from postroom.store.plan import Copy, News, Plan, Rows, Step, drive
from postroom.store.postgres.session import UTC, Postgres, abandoned
from postroom.store.queries import ParameterStyle

if TYPE_CHECKING:
    import psycopg
    import psycopg_pool

T = TypeVar("T")


class PostgresDatabase(Postgres):
    """A database and a pool of connections to it."""

    def __init__(self, url: str, **settings: Any) -> None:
        super().__init__(url, **settings)
        self._pool = self._new_pool()
        tell_after_fork(self)
        _everyone.add(self)

    def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own; or, not `atomic`, each statement in its own."""
        plan = self.schema.first(plan)
        try:
            with self.transaction() if atomic else self.connection() as connection:
                return self.run_on(connection, plan)
        except self._psycopg.Error as error:  # at BEGIN or COMMIT
            raise_plainly(error)

    def run_on(self, connection: psycopg.Connection[Any], plan: Plan[T]) -> T:
        """Carry a plan out on one of our connections, within its transaction."""
        try:
            with connection.cursor() as cursor:
                return drive(plan, lambda step: self._execute(cursor, step))
        except self._psycopg.Error as error:
            raise_plainly(error)

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction; commits at the end of the block, rolls back if it raises."""
        with self.connection() as connection:
            pool = self._pool
            # Not `connection.transaction()`, which rolls back when nobody refers to it any more: in a child, too.
            transaction = self._psycopg.Transaction(connection)
            transaction.__enter__()
            try:
                yield connection
            except BaseException as error:
                # In a child that was forked within the block, the transaction is the parent's to end.
                if pool is not self._pool or not transaction.__exit__(type(error), error, error.__traceback__):
                    raise
            else:
                if pool is self._pool:
                    transaction.__exit__(None, None, None)

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection of the pool, in autocommit mode."""
        pool = self._pool
        try:
            connection = self._take(pool)
        except self._psycopg.Error as error:
            raise_plainly(error)
        try:
            yield connection
        except BaseException as error:
            if pool is self._pool and self._spoiled(error):
                connection.close()
            raise
        finally:
            if pool is self._pool:
                pool.putconn(connection)

    def check_free(self) -> None:
        """Every transaction has a connection of its own."""

    def close(self) -> None:
        self._pool.close()

    def rest(self) -> None:
        """Give the connections back; whoever comes later has new ones."""
        self._pool.close()
        self._pool = self._new_pool()

    def forget_parent(self) -> None:
        """A pool of this process's own."""
        self._pool._closed = True  # or it would wait for its threads, which are the parent's, when Python ends
        abandoned.append(self._pool)
        self._part_with_parent()
        self._pool = self._new_pool()

    def _new_pool(self) -> psycopg_pool.ConnectionPool[Any]:
        return self._psycopg_pool.ConnectionPool(**self._pool_settings())  # type: ignore[no-any-return]

    def _take(self, pool: psycopg_pool.ConnectionPool[Any]) -> psycopg.Connection[Any]:
        """A connection that the server has not ended: those it has are replaced, without waiting between them."""
        pool.open()
        while True:
            connection: psycopg.Connection[Any] = pool.getconn()
            if self._is_of_this_era(connection) and (self._is_quiet(connection) or self._answers(connection)):
                return connection
            connection.close()
            pool.putconn(connection)

    def _answers(self, connection: psycopg.Connection[Any]) -> bool:
        try:
            self._psycopg_pool.ConnectionPool.check_connection(connection)
        except self._psycopg.Error:
            return False
        return True

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        connection.postroom_era = self._era  # type: ignore[attr-defined]
        self._made.add(connection)
        if self.pooled:
            connection.execute(UTC)

    def _execute(self, cursor: psycopg.Cursor[Any], step: Step) -> Rows:
        if isinstance(step, Copy):
            with cursor.copy(self._copy_sql(step)) as copy:
                for row in step.rows:
                    copy.write_row(row)
            return []
        if isinstance(step, News):
            return drive(tell(step, self.listeners), lambda heard: self._execute(cursor, heard))
        for sql, values in self.dialect.speak(step, ParameterStyle.PYFORMAT):
            cursor.execute(sql, values, binary=step.binary)
        return cursor.fetchall() if gives_rows(cursor) else []


_everyone: WeakSet[PostgresDatabase] = WeakSet()


@atexit.register
def _rest_before_the_end() -> None:
    """Later, from Python 3.13 on, a pool that nobody has closed waits in vain for each of its threads.

    Registered when this is imported, so that it runs after what an application has registered since.
    """
    for database in list(_everyone):
        database.rest()
