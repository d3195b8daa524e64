"""Every kind of application that may enqueue inside its own transaction."""

from __future__ import annotations

from functools import partial

from tests.store.connections import drivers, frameworks
from tests.store.connections.session import Kind

AUTOCOMMIT = "AUTOCOMMIT"

_sqlite = partial(Kind, database="sqlite")
_postgres = partial(Kind, database="postgres")

_DRIVERS = [
    _sqlite(name="sqlite3", session=drivers.Sqlite3Session, row_factory=True),
    _sqlite(name="sqlite3-immediate", session=partial(drivers.Sqlite3Session, isolation_level="IMMEDIATE")),
    _sqlite(
        name="sqlite3-explicit",
        session=partial(drivers.Sqlite3Session, isolation_level=None, begin="BEGIN"),
        autocommits=True,
    ),
    _sqlite(name="aiosqlite", session=drivers.AiosqliteSession, is_async=True, row_factory=True),
    _sqlite(
        name="aiosqlite-explicit",
        session=partial(drivers.AiosqliteSession, isolation_level=None, begin="BEGIN"),
        is_async=True,
        autocommits=True,
    ),
    _postgres(name="psycopg", session=drivers.PsycopgSession, row_factory=True, copies=True),
    _postgres(
        name="psycopg-explicit",
        session=partial(drivers.PsycopgSession, autocommit=True),
        autocommits=True,
        copies=True,
    ),
    _postgres(name="psycopg-async", session=drivers.AsyncPsycopgSession, is_async=True, row_factory=True, copies=True),
    _postgres(
        name="psycopg-async-explicit",
        session=partial(drivers.AsyncPsycopgSession, autocommit=True),
        is_async=True,
        autocommits=True,
        copies=True,
    ),
    _postgres(name="asyncpg", session=drivers.AsyncpgSession, is_async=True, autocommits=True, copies=True),
    _postgres(name="asyncpg-pool", session=drivers.AsyncpgPoolSession, is_async=True, autocommits=True, copies=True),
]

_SYNC = [("sqlite", "pysqlite"), ("postgres", "psycopg"), ("postgres", "psycopg2")]
_ASYNC = [("sqlite", "aiosqlite"), ("postgres", "psycopg"), ("postgres", "asyncpg")]

_SQLALCHEMY = [
    *(
        Kind(name=f"sqlalchemy-{name}-{driver}", database=database, session=partial(session, driver=driver))
        for name, session in [
            ("connection", frameworks.CoreSession),
            ("session", frameworks.OrmSession),
        ]
        for database, driver in _SYNC
    ),
    _sqlite(name="sqlalchemy-scoped-pysqlite", session=partial(frameworks.ScopedSession, driver="pysqlite")),
    _postgres(name="sqlalchemy-scoped-psycopg", session=partial(frameworks.ScopedSession, driver="psycopg")),
    _sqlite(
        name="sqlalchemy-advised-pysqlite",
        session=partial(frameworks.CoreSession, driver="pysqlite", advised=True),
    ),
    *(
        Kind(
            name=f"sqlalchemy-async-{name}-{driver}",
            database=database,
            session=partial(session, driver=driver),
            is_async=True,
        )
        for name, session in [
            ("connection", frameworks.AsyncCoreSession),
            ("session", frameworks.AsyncOrmSession),
        ]
        for database, driver in _ASYNC
    ),
    _postgres(
        name="sqlalchemy-async-scoped-asyncpg",
        session=partial(frameworks.AsyncScopedSession, driver="asyncpg"),
        is_async=True,
    ),
    *(
        Kind(
            name=f"sqlalchemy-autocommit-{driver}",
            database=database,
            session=partial(frameworks.CoreSession, driver=driver, isolation_level=AUTOCOMMIT),
            autocommits=True,
            begins=False,
        )
        for database, driver in _SYNC
    ),
    *(
        Kind(
            name=f"sqlalchemy-async-autocommit-{driver}",
            database=database,
            session=partial(frameworks.AsyncCoreSession, driver=driver, isolation_level=AUTOCOMMIT),
            is_async=True,
            autocommits=True,
            begins=False,
        )
        for database, driver in _ASYNC
    ),
]

_DJANGO = [
    _sqlite(name="django-sqlite", session=frameworks.DjangoSession, autocommits=True),
    # Outside `atomic`, Django's savepoints on SQLite silently do nothing.
    _sqlite(name="django-sqlite-manual", session=frameworks.ManualDjangoSession, savepoints=False),
    _postgres(name="django-postgresql", session=frameworks.DjangoSession, autocommits=True),
    _postgres(name="django-postgresql-manual", session=frameworks.ManualDjangoSession),
]

KINDS = [*_DRIVERS, *_SQLALCHEMY, *_DJANGO]
