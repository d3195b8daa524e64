"""Alembic's autogenerate beside an outbox: what an application's own models lack is proposed, and nothing of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, text

from postroom import Outbox
from postroom.alembic import include_object, leave_alone

# SQLAlchemy looks at every table before it asks whether to, and does not know all of PostgreSQL's types.
pytestmark = pytest.mark.filterwarnings("ignore:Did not recognize type 'xid8'")

MODELS = MetaData()
Table("bookings", MODELS, Column("id", Integer, primary_key=True))
Table("postroom_visits", MODELS, Column("id", Integer, primary_key=True))


@pytest.fixture
def application(store_url: str) -> Iterator[str]:
    """An application's database with an outbox in it, a table that no model has any more, and none of the new ones."""
    url = store_url.replace("postgresql://", "postgresql+psycopg://")
    if url != store_url:  # the user of the tests is called as our schema is, and would look for tables there first
        url += "?options=-csearch_path%3Dpublic"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE forgotten (id INTEGER PRIMARY KEY)"))
    yield url
    engine.dispose()


def proposals(url: str, **options: Any) -> set[tuple[str, str]]:
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"include_schemas": True, **options})
            found = compare_metadata(context, MODELS)
            return {(change[0], change[1].name) for change in found if change[0] in ("add_table", "remove_table")}
    finally:
        engine.dispose()


def test_alembic_by_itself_would_drop_our_tables(application: str) -> None:
    """Why the function is there; should this fail one day, it is needed no more."""
    assert {name for act, name in proposals(application) if act == "remove_table"} > {"forgotten"}


def test_with_our_function_alembic_leaves_our_tables_alone_and_compares_all_others(application: str) -> None:
    found = proposals(application, include_object=include_object)

    assert found == {("add_table", "bookings"), ("add_table", "postroom_visits"), ("remove_table", "forgotten")}


def test_tables_under_another_name_are_left_alone_by_that_name(application: str) -> None:
    plain = application.replace("+psycopg", "").partition("?")[0]
    with Outbox(plain, tables="mail") as outbox:
        outbox.migrate()
    mail = leave_alone("mail")

    def neither(*given: Any) -> bool:
        return include_object(*given) and mail(*given)

    assert {name for act, name in proposals(application, include_object=neither) if act == "remove_table"} == {
        "forgotten"
    }
