"""An email enqueued through the caller's own connection stands or falls with the caller's transaction (B1, B2)."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from postroom import Attachment, Email, Outbox
from postroom.errors import ConfigurationError, EmailNotFound, SchemaError
from postroom.outbox.submission import HouseRules, Submission
from postroom.sealing import Keyring
from postroom.store.connections import recognise
from postroom.store.dialect import Dialect, postgres_dialect, sqlite_dialect
from postroom.store.enqueue import enqueue, enqueue_each
from tests.servers.postgres import PostgresServer
from tests.store.connections.database import NOTHING, Database, Seen
from tests.store.connections.kinds import KINDS
from tests.store.connections.session import Kind, Session


@pytest.fixture(scope="module")
def sqlite_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = tmp_path_factory.mktemp("connections") / "application.db"
    with closing(Database(f"sqlite:///{path}", name="sqlite")) as database:
        yield database


@pytest.fixture(scope="module")
def postgres_database(postgres_server: PostgresServer) -> Iterator[Database]:
    with postgres_server.database() as url, closing(Database(url, name="postgres")) as database:
        yield database


@pytest.fixture
async def session(kind: Kind, request: pytest.FixtureRequest) -> AsyncIterator[Session]:
    session = kind.session(request.getfixturevalue(f"{kind.database}_database"))
    await session.open()
    yield session
    await session.close()


def of_kinds(wanted: Callable[[Kind], bool] = lambda kind: True) -> pytest.MarkDecorator:
    """Run for every kind of application of which `wanted` is true."""
    return pytest.mark.parametrize("kind", [kind for kind in KINDS if wanted(kind)], ids=str)


transactional = of_kinds(lambda kind: kind.begins)
with_savepoints = of_kinds(lambda kind: kind.begins and kind.savepoints)
autocommitting = of_kinds(lambda kind: kind.autocommits)


def seen(*, orders: str = "", emails: str = "", keys: str = "") -> Seen:
    return Seen(orders={*orders.split()}, emails={*emails.split()}, keys={*keys.split()})


@transactional
async def test_the_email_and_the_business_row_are_committed_together(session: Session) -> None:
    await session.begin()
    await session.insert("a")
    await session.enqueue("a")
    before = session.seen()
    await session.commit()

    assert before == NOTHING
    assert session.seen() == seen(orders="a", emails="a")


@transactional
async def test_the_email_and_the_business_row_are_rolled_back_together(session: Session) -> None:
    await session.begin()
    await session.insert("a")
    await session.enqueue("a", key="k")
    await session.rollback()

    assert session.seen() == NOTHING


@transactional
async def test_an_enqueue_may_be_the_first_statement_of_a_transaction_that_commits(session: Session) -> None:
    """A savepoint outside a transaction would commit on its own: nothing may be seen before the caller commits."""
    await session.begin()
    await session.enqueue("a")
    before = session.seen()
    await session.insert("a")
    await session.commit()

    assert before == NOTHING
    assert session.seen() == seen(orders="a", emails="a")


@transactional
async def test_an_enqueue_may_be_the_first_statement_of_a_transaction_that_rolls_back(session: Session) -> None:
    await session.begin()
    await session.enqueue("a")
    await session.insert("a")
    await session.rollback()

    assert session.seen() == NOTHING


@transactional
async def test_an_enqueue_may_be_all_of_a_transaction(session: Session) -> None:
    await session.begin()
    await session.enqueue("a")
    await session.rollback()
    await session.begin()
    await session.enqueue("b")
    await session.commit()

    assert session.seen() == seen(emails="b")


@with_savepoints
async def test_a_savepoint_that_is_rolled_back_takes_its_email_along(session: Session) -> None:
    await session.begin()
    await session.insert("a")
    await session.savepoint()
    await session.insert("b")
    await session.enqueue("b", key="k")
    await session.rollback_to_savepoint()
    await session.enqueue("c")
    await session.commit()

    assert session.seen() == seen(orders="a", emails="c")


@with_savepoints
async def test_a_savepoint_that_is_released_keeps_its_email(session: Session) -> None:
    await session.begin()
    await session.insert("a")
    await session.savepoint()
    await session.insert("b")
    await session.enqueue("b")
    await session.release_savepoint()
    before = session.seen()
    await session.commit()

    assert before == NOTHING
    assert session.seen() == seen(orders="a b", emails="b")


@with_savepoints
async def test_a_released_savepoint_falls_with_its_transaction(session: Session) -> None:
    await session.begin()
    await session.insert("a")
    await session.savepoint()
    await session.enqueue("a")
    await session.release_savepoint()
    await session.rollback()

    assert session.seen() == NOTHING


@transactional
async def test_a_duplicate_key_is_reported_and_leaves_the_transaction_usable(session: Session) -> None:
    await session.begin()
    first = await session.enqueue("a", key="k")
    await session.commit()
    await session.begin()
    await session.insert("b")
    again = await session.enqueue("a", key="k")
    differing = await session.enqueue("b", key="k")
    await session.insert("c")
    await session.commit()

    assert (first.duplicate, again.duplicate, again.id, again.content_differs) == (False, True, first.id, False)
    assert (differing.duplicate, differing.id, differing.content_differs) == (True, first.id, True)
    assert session.seen() == seen(orders="b c", emails="a", keys="k")


@transactional
async def test_a_key_is_a_duplicate_within_its_own_transaction_and_free_again_when_that_rolls_back(
    session: Session,
) -> None:
    await session.begin()
    first = await session.enqueue("a", key="k")
    again = await session.enqueue("b", key="k")
    await session.rollback()
    await session.begin()
    later = await session.enqueue("c", key="k")
    await session.commit()

    assert (again.duplicate, again.id) == (True, first.id)
    assert not later.duplicate
    assert session.seen() == seen(emails="c", keys="k")


@with_savepoints
async def test_a_failure_inside_the_callers_savepoint_leaves_the_rest_of_the_transaction(session: Session) -> None:
    order = session.order("a")
    await session.begin()
    await session.run(enqueue([order]))
    await session.insert("a")
    await session.savepoint()
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        await session.run(enqueue([replace(order, key=session.token + "k")]))
    await session.rollback_to_savepoint()
    await session.insert("b")
    await session.commit()

    assert session.seen() == seen(orders="a b", emails="a")


@of_kinds(lambda kind: kind.begins and kind.database == "sqlite")
async def test_a_failure_on_sqlite_leaves_nothing_behind_and_the_transaction_usable(session: Session) -> None:
    """The statement that took the key had succeeded before the one that failed."""
    order = session.order("a")
    await session.begin()
    await session.run(enqueue([order]))
    await session.insert("a")
    with pytest.raises(Exception, match=r"(?i)unique"):
        await session.run(enqueue([replace(order, key=session.token + "k")]))
    await session.insert("b")
    await session.commit()

    assert session.seen() == seen(orders="a b", emails="a")


@transactional
async def test_attachments_travel_in_the_callers_transaction(session: Session) -> None:
    file = Attachment("facts.txt", secrets.token_bytes(16))
    order = session.order("a", attachments=(file,))
    await session.begin()
    await session.run(enqueue([order]))
    await session.rollback()
    after_rollback = session.database.has_attachment(file.digest)
    await session.begin()
    await session.run(enqueue([order]))
    await session.commit()

    assert not after_rollback
    assert session.database.has_attachment(file.digest)
    assert session.seen() == seen(emails="a")


@transactional
async def test_a_sealed_box_travels_in_the_callers_transaction(session: Session) -> None:
    rules = HouseRules(keyring=Keyring("s" * 32))
    email = Email(to="ada@example.org", subject="a", text="secret")
    order = rules.order(Submission.of(email, key=f"{session.token}k", sensitive=True))
    [(box, _)] = order.letter.attachments
    await session.begin()
    await session.run(enqueue([order]))
    await session.rollback()
    after_rollback = session.database.has_attachment(box)
    await session.begin()
    await session.run(enqueue([order]))
    await session.commit()

    assert (after_rollback, session.database.has_attachment(box)) == (False, True)
    assert session.seen() == seen(keys="k")


@transactional
async def test_reads_see_what_their_own_transaction_has_enqueued_and_nobody_else_does(session: Session) -> None:
    elsewhere = Outbox(session.database.url)
    await session.begin()
    before = await session.through("counts")
    receipt = await session.enqueue("Ä", key="k")
    stored = await session.through("get", receipt.id)
    pages = [
        await session.through("list", **{name: value})
        for name, value in [("subject", session.token + "Ä"), ("key", session.token + "k"), ("status", "pending")]
    ]
    after = await session.through("counts")
    with closing(elsewhere), pytest.raises(EmailNotFound):
        elsewhere.get(receipt.id)
    await session.rollback()

    assert (stored.id, stored.subject, stored.status) == (receipt.id, session.token + "Ä", "pending")
    assert [page.emails[0].id for page in pages] == [receipt.id] * 3
    assert after["pending"] == before["pending"] + 1
    with pytest.raises(EmailNotFound):
        await session.through("get", receipt.id)


@of_kinds()
async def test_a_read_leaves_no_lock_behind(session: Session) -> None:
    """Also where the caller's connection begins its transactions with a lock, and was not inside of one."""
    await session.through("counts")
    with pytest.raises(EmailNotFound):
        await session.through("get", "0192f0c1-2345-7000-8000-000000000000")
    with closing(Outbox(session.database.url)) as elsewhere:
        elsewhere.enqueue(session.email("b"))

    assert session.seen() == seen(emails="b")


@of_kinds(lambda kind: kind.row_factory)
async def test_the_callers_row_factory_does_not_matter_to_reads(session: Session) -> None:
    await session.use_strange_rows()
    receipt = await session.enqueue("a", key="k")
    stored = await session.through("get", receipt.id)
    await session.rollback()

    assert (stored.subject, stored.key, stored.recipients[0].address) == (
        session.token + "a",
        session.token + "k",
        "ada@example.org",
    )


@autocommitting
async def test_in_autocommit_an_enqueue_is_committed_at_once(session: Session) -> None:
    file = Attachment("facts.txt", secrets.token_bytes(16))
    await session.run(enqueue([session.order("a", key="k", attachments=(file,))]))

    assert session.seen() == seen(emails="a", keys="k")
    assert session.database.has_attachment(file.digest)


@autocommitting
async def test_in_autocommit_a_failure_leaves_nothing_behind(session: Session) -> None:
    """Also not the attachment, which was stored by a statement of its own before the one that failed."""
    file = Attachment("facts.txt", secrets.token_bytes(16))
    order = session.order("a", key="k", attachments=(file,))
    await session.run(enqueue([replace(session.order("b"), id=order.id)]))
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        await session.run(enqueue([order]))
    await session.run(enqueue([session.order("c")]))

    assert session.seen() == seen(emails="b c")
    assert not session.database.has_attachment(file.digest)


def test_in_autocommit_a_commit_that_fails_leaves_no_transaction_open(sqlite_url: str) -> None:
    """Without WAL a reader keeps SQLite from committing; the caller, who never began anything, must not stay inside."""
    database, path = Database(sqlite_url, name="sqlite"), sqlite_url.removeprefix("sqlite:///")
    database.ask("PRAGMA journal_mode = DELETE")
    order = HouseRules().order(Submission(Email(to="ada@example.org", subject="Hi", text="Hello")))
    with closing(database), closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
        database.ask("BEGIN")
        database.ask("SELECT * FROM orders")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            recognise(connection).run(enqueue([order]), database.dialect)
        open_afterwards = connection.in_transaction
        database.ask("COMMIT")

        assert not open_afterwards
        assert database.ask("SELECT count(*) FROM postroom_emails") == [(0,)]


@of_kinds(lambda kind: kind.row_factory)
async def test_the_callers_row_factory_does_not_matter(session: Session) -> None:
    await session.use_strange_rows()
    first = await session.enqueue("a", key="k")
    again = await session.enqueue("a", key="k")
    await session.commit()

    assert (again.duplicate, again.id) == (True, first.id)
    assert session.seen() == seen(emails="a", keys="k")


@of_kinds(lambda kind: kind.copies)
@pytest.mark.parametrize("commits", [True, False], ids=["commit", "rollback"])
async def test_copied_emails_stand_or_fall_with_the_transaction(session: Session, commits: bool) -> None:
    await session.begin()
    await session.insert("a")
    added = await session.run(enqueue_each(map(session.order, "abc"), copies=True))
    await (session.commit() if commits else session.rollback())

    assert added == 3
    assert session.seen() == (seen(orders="a", emails="a b c") if commits else NOTHING)


@of_kinds()
async def test_a_caller_says_what_it_is(kind: Kind, session: Session) -> None:
    caller = recognise(session.connection)

    assert (caller.dialect_name, caller.is_async, caller.copies) == (kind.database, kind.is_async, kind.copies)


def without_tables(kind: Kind) -> Dialect:
    if kind.database == "sqlite":
        return sqlite_dialect(prefix="absent_", clock=lambda: None)
    return postgres_dialect(schema="absent")


@of_kinds()
async def test_missing_tables_are_told_with_what_to_do(kind: Kind, session: Session) -> None:
    with pytest.raises(SchemaError, match=r"postroom migrate.*outbox\.migrate\(\)") as told:
        await session.run(enqueue([session.order("a")]), without_tables(kind))

    assert told.value.__cause__ is not None


@of_kinds()
async def test_a_connection_to_the_other_database_is_refused(kind: Kind, session: Session) -> None:
    sqlite, postgres = sqlite_dialect(prefix="postroom_", clock=lambda: None), postgres_dialect(schema="postroom")
    other = postgres if kind.database == "sqlite" else sqlite

    with pytest.raises(ConfigurationError, match=r"SQLite.*PostgreSQL|PostgreSQL.*SQLite"):
        await session.run(enqueue([session.order("a")]), other)
