"""Applications that use SQLAlchemy or Django."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy
from sqlalchemy import event, orm
from sqlalchemy.ext import asyncio as sqlalchemy_asyncio
from sqlalchemy.pool import NullPool

from tests.store.connections.database import Database
from tests.store.connections.session import Session


class Base(orm.DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    name: orm.Mapped[str] = orm.mapped_column(primary_key=True)


INSERT = sqlalchemy.insert(Order.__table__)


def explicit_begin(engine: sqlalchemy.Engine) -> None:
    """What SQLAlchemy's manual advises for SQLite: the driver begins nothing, SQLAlchemy's `begin` says BEGIN."""

    @event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begun(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")


class _Sqlalchemy(Session):
    def __init__(self, database: Database, *, driver: str, advised: bool = False, **settings: Any) -> None:
        super().__init__(database)
        self._url = database.url_for(driver)
        self._advised = advised
        self._settings = settings

    def engine(self) -> sqlalchemy.Engine:
        engine = sqlalchemy.create_engine(self._url, poolclass=NullPool, **self._settings)
        if self._advised:
            explicit_begin(engine)
        return engine

    def async_engine(self) -> sqlalchemy_asyncio.AsyncEngine:
        return sqlalchemy_asyncio.create_async_engine(self._url, poolclass=NullPool, **self._settings)


class CoreSession(_Sqlalchemy):
    """`Connection`."""

    async def open(self) -> None:
        self.connection = self.engine().connect()

    async def close(self) -> None:
        self.connection.close()

    async def begin(self) -> None:
        self.connection.begin()

    async def insert(self, name: str) -> None:
        self.connection.execute(INSERT, {"name": self.token + name})

    async def commit(self) -> None:
        self.connection.commit()

    async def rollback(self) -> None:
        self.connection.rollback()

    async def savepoint(self) -> None:
        self._nested = self.connection.begin_nested()

    async def release_savepoint(self) -> None:
        self._nested.commit()

    async def rollback_to_savepoint(self) -> None:
        self._nested.rollback()


class OrmSession(CoreSession):
    """`Session`: it begins by itself, and writes objects when it sees fit."""

    async def open(self) -> None:
        self.connection = orm.Session(self.engine())

    async def begin(self) -> None:
        pass

    async def insert(self, name: str) -> None:
        self.connection.add(Order(name=self.token + name))


class ScopedSession(OrmSession):
    """`scoped_session`."""

    async def open(self) -> None:
        self.connection = orm.scoped_session(orm.sessionmaker(self.engine()))

    async def close(self) -> None:
        self.connection.remove()


class AsyncCoreSession(_Sqlalchemy):
    """`AsyncConnection`."""

    async def open(self) -> None:
        self.connection = await self.async_engine().connect()

    async def close(self) -> None:
        await self.connection.close()

    async def begin(self) -> None:
        await self.connection.begin()

    async def insert(self, name: str) -> None:
        await self.connection.execute(INSERT, {"name": self.token + name})

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()

    async def savepoint(self) -> None:
        self._nested = await self.connection.begin_nested()

    async def release_savepoint(self) -> None:
        await self._nested.commit()

    async def rollback_to_savepoint(self) -> None:
        await self._nested.rollback()


class AsyncOrmSession(AsyncCoreSession):
    """`AsyncSession`."""

    async def open(self) -> None:
        self.connection = sqlalchemy_asyncio.AsyncSession(self.async_engine())

    async def begin(self) -> None:
        pass

    async def insert(self, name: str) -> None:
        self.connection.add(Order(name=self.token + name))


class AsyncScopedSession(AsyncOrmSession):
    """`async_scoped_session`."""

    async def open(self) -> None:
        factory = sqlalchemy_asyncio.async_sessionmaker(self.async_engine())
        self.connection = sqlalchemy_asyncio.async_scoped_session(factory, scopefunc=lambda: self.token)

    async def close(self) -> None:
        await self.connection.remove()


class DjangoSession(Session):
    """`django.db.connection` with `atomic`, in a thread of its own, for Django refuses to work on an event loop."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._alias = f"alias_{secrets.token_hex(4)}"
        self._thread = ThreadPoolExecutor(1)

    async def finish(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def open(self) -> None:
        await self.finish(self._open)

    def _open(self) -> None:
        import django
        from django.conf import settings

        if not settings.configured:
            settings.configure()
            django.setup()
        from django.db import connections, transaction
        from django.utils.connection import ConnectionProxy

        self._transaction = transaction
        connections.settings[self._alias] = connections.configure_settings(
            {"default": {}, self._alias: django_settings(self.database)}
        )[self._alias]
        # `django.db.connection` is such a proxy, for the alias `default`.
        self.connection = ConnectionProxy(connections, self._alias)

    async def close(self) -> None:
        await self.finish(self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        from django.db import connections

        connections[self._alias].in_atomic_block = False
        connections[self._alias].close()
        del connections.settings[self._alias]

    async def begin(self) -> None:
        self._atomic = self._transaction.atomic(using=self._alias)
        await self.finish(self._atomic.__enter__)

    async def insert(self, name: str) -> None:
        await self.finish(lambda: self._insert(name))

    def _insert(self, name: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute("INSERT INTO orders (name) VALUES (%s)", [self.token + name])

    async def commit(self) -> None:
        await self.finish(lambda: self._atomic.__exit__(None, None, None))

    async def rollback(self) -> None:
        await self.finish(lambda: self._transaction.set_rollback(True, using=self._alias))
        await self.commit()

    async def savepoint(self) -> None:
        self._savepoint = await self.finish(lambda: self._transaction.savepoint(using=self._alias))

    async def release_savepoint(self) -> None:
        await self.finish(lambda: self._transaction.savepoint_commit(self._savepoint, using=self._alias))

    async def rollback_to_savepoint(self) -> None:
        await self.finish(lambda: self._transaction.savepoint_rollback(self._savepoint, using=self._alias))


class ManualDjangoSession(DjangoSession):
    """`connections["alias"]` without `atomic`: Django's autocommit is off, the application commits by itself."""

    def _open(self) -> None:
        from django.db import connections

        super()._open()
        self.connection = connections[self._alias]
        self.connection.set_autocommit(False)

    async def begin(self) -> None:
        pass

    async def commit(self) -> None:
        await self.finish(self.connection.commit)

    async def rollback(self) -> None:
        await self.finish(self.connection.rollback)


def django_settings(database: Database) -> dict[str, Any]:
    if database.name == "sqlite":
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": database.path}
    url = urlsplit(database.url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": url.path.removeprefix("/"),
        "USER": url.username,
        "HOST": url.hostname,
        "PORT": url.port,
    }
