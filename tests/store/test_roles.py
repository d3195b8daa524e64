"""The role layout (B9): who may do what on PostgreSQL, tried by somebody who is nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import sql

from postroom import Attachment, Outbox
from postroom.campaigns.books.mails import ring
from postroom.campaigns.drafts.campaigns import add_campaign, enrol
from postroom.campaigns.drafts.prospects import Arrival, take_in
from postroom.campaigns.drafts.sequences import add_sequence, sequences
from postroom.campaigns.values import Campaign, Prospect, Sequence, Step
from postroom.outbox.submission import Submission
from postroom.store.enqueue import enqueue as enqueue_orders
from postroom.store.migrate import roles_script
from postroom.store.plan import Plan, ask
from tests.servers.postgres import PostgresServer
from tests.store.journey import claim, email, enqueue, release, renew, sent, settle

As = Callable[[str], AbstractContextManager[Outbox]]


@pytest.fixture
def acting_as(migrated_postgres_url: str, postgres_server: PostgresServer) -> As:
    """An outbox of somebody who has one of the four roles and nothing else."""
    with Outbox(migrated_postgres_url) as owner:
        apply_roles(migrated_postgres_url, roles_script(owner.database.dialect))

    @contextmanager
    def acting(role: str) -> Iterator[Outbox]:
        user = f"{role}_tester"
        apply_roles(migrated_postgres_url, CREATE_USER.format(user=user, role=role))
        with Outbox(migrated_postgres_url.replace("://postroom@", f"://{user}@")) as outbox:
            yield outbox

    return acting


CREATE_USER = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{user}') THEN CREATE ROLE {user} LOGIN; END IF;
END $$;
GRANT {role} TO {user};
"""


def apply_roles(url: str, commands: str) -> None:
    """Roles belong to the whole server: tests that run at the same time make them one after another."""
    maintenance = psycopg.conninfo.make_conninfo(url, dbname="postgres")
    with psycopg.connect(maintenance, autocommit=True) as lock, psycopg.connect(url) as connection:
        lock.execute("SELECT pg_advisory_lock(hashtext('postroom roles'))")
        connection.execute(sql.SQL(commands))  # type: ignore[arg-type]
        connection.commit()


def test_an_application_may_enqueue(acting_as: As) -> None:
    with acting_as("postroom_app") as outbox:
        logo = Attachment("logo.png", b"logo")
        first = outbox.enqueue(email(attachments=[logo]), key="k")
        again = outbox.enqueue(email("Other", attachments=[logo]), key="k")
        with outbox.transaction() as connection:
            outbox.enqueue(email(), connection=connection)

        assert (again.id, again.duplicate, again.content_differs) == (first.id, True, True)
        assert outbox.enqueue_many(email(f"Email {number}") for number in range(3)) == 3
        assert outbox.enqueue_many([(email(), "k"), (email(), "l")]) == 1


def test_an_application_may_not_read_what_others_enqueued(acting_as: As) -> None:
    with acting_as("postroom_app") as outbox:
        enqueue(outbox)

        for question in (
            "SELECT * FROM postroom.contents",
            "SELECT * FROM postroom.terms",
            "SELECT content FROM postroom.attachments",
            "SELECT status FROM postroom.emails",
            "DELETE FROM postroom.emails",
            "UPDATE postroom.emails SET status = 'sent'",
            "DELETE FROM postroom.keys",
        ):
            assert refused(outbox, question), question


def test_an_application_may_say_who_is_not_to_be_mailed_and_not_take_it_back(acting_as: As) -> None:
    """Whom of the prospects that is about, it does not see."""
    with acting_as("postroom_worker") as worker:
        ada = Prospect(id="p", address="ada@example.org")
        worker.database.run(take_in("w", [Arrival(ada, True)], update=False))
        worker.database.run(add_campaign("w", Campaign(id="c", name="C", sequence_id="s"), senders=()))
        worker.database.run(enrol("w", "c", ["p"]))
        worker.database.run(ring("w"))
    with acting_as("postroom_app") as outbox:
        entry = outbox.suppress("ada@example.org", reason="unsubscribe")
        assert outbox.suppress("ada@example.org", reason="unsubscribe", evidence="again").id == entry.id
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            outbox.unsuppress(entry.id)
        for question in (
            "SELECT * FROM postroom.prospects",
            "SELECT * FROM postroom.covered_prospects",
            "DELETE FROM postroom.covered_prospects",
            "UPDATE postroom.suppressions SET address = 'bob@example.org'",
        ):
            assert refused(outbox, question), question
    with acting_as("postroom_worker") as worker:
        rows = worker.database.run(_named("covered_prospects", workspace="w", limit=9))
        assert [(prospect, address) for _, prospect, address in rows] == [("p", "ada@example.org")] * 2


def _named(name: str, **values: Any) -> Plan[Any]:
    return (yield ask(name, **values))


def test_a_worker_may_do_the_whole_journey(acting_as: As) -> None:
    with acting_as("postroom_worker") as outbox:
        first, second = enqueue(outbox, 2, key=None)
        held = claim(outbox)
        renew(outbox, [each.claim for each in held])
        release(outbox, [held[1].claim])
        settle(outbox, [sent(held[0], event="sent")])
        outbox.cancel(second)
        outbox.replay(second, subject="After all")

        assert outbox.get(first).history[0].what == "sent"
        assert outbox.prune(older_than=0).removed == 1
        assert outbox.conservation().holds


def test_a_worker_may_not_change_the_schema(acting_as: As) -> None:
    with acting_as("postroom_worker") as outbox:
        for command in (
            "DROP TABLE postroom.emails",
            "CREATE TABLE postroom.mine (id integer)",
            "ALTER TABLE postroom.emails ADD COLUMN mine integer",
            "TRUNCATE postroom.emails",
            "DELETE FROM postroom.migrations",
        ):
            assert refused(outbox, command), command


def test_a_reader_may_look_and_touch_nothing(acting_as: As) -> None:
    with acting_as("postroom_worker") as worker:
        [id] = enqueue(worker)
    with acting_as("postroom_reader") as outbox:
        assert outbox.get(id).subject == "Email 0"
        assert (outbox.counts()["pending"], len(outbox.list().emails)) == (1, 1)
        for command in (
            "DELETE FROM postroom.emails",
            "UPDATE postroom.emails SET status = 'sent'",
            "INSERT INTO postroom.tallies VALUES (now(), 'sent', 1)",
            "CREATE TABLE postroom.mine (id integer)",
        ):
            assert refused(outbox, command), command


@pytest.mark.parametrize("secret", [None, "s" * 32], ids=["without a secret", "with a secret"])
def test_a_reader_sees_no_code_wherever_it_stands(
    acting_as: As, secret: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor what other emails say: also one that a release before has stored in plain words."""
    if secret:
        monkeypatch.setenv("POSTROOM_SECRET", secret)
    with acting_as("postroom_worker") as worker:
        id = worker.enqueue(email("Code 493817", text="493817"), key="k", sensitive=True).id
        plain = replace(worker.rules.order(Submission(email(text="493817"))), sensitive=True)
        worker.database.run(enqueue_orders([plain]))
    with acting_as("postroom_reader") as reader:
        assert [each.subject for each in reader.list().emails] == ["(sensitive)", "(sensitive)"]
        assert "493817" not in repr(reader.get(id))
        assert "493817" not in _all_that_can_be_read(reader)
        for question in (
            "SELECT text FROM postroom.contents",
            "SELECT * FROM postroom.contents",
            "SELECT content FROM postroom.attachments",
            "SELECT * FROM postroom.attachments",
            "SELECT content FROM postroom.return_messages",
        ):
            assert refused(reader, question), question


def test_a_reader_sees_who_is_in_campaigns_and_neither_their_words_nor_what_is_known_of_people(acting_as: As) -> None:
    with acting_as("postroom_worker") as worker:
        step = Step(number=1, subject="Hi", text="493817")
        worker.database.run(add_sequence("w", Sequence(id="s", name="S", steps=(step,))))
        ada = Prospect(id="p", address="ada@example.org", fields={"note": "493817"})
        worker.database.run(take_in("w", [Arrival(ada, True)], update=False))
    with acting_as("postroom_reader") as reader:
        assert [each.id for each in reader.database.run(sequences("w"), writes=False)] == ["s"]
        assert "493817" not in _all_that_can_be_read(reader)
        assert refused(reader, "SELECT fields FROM postroom.prospects")
        assert refused(reader, "SELECT text FROM postroom.steps")
        assert refused(reader, "DELETE FROM postroom.prospects")


def _all_that_can_be_read(outbox: Outbox) -> str:
    """Every column of every table that somebody may look at."""
    found = []
    with psycopg.connect(outbox.database_url, autocommit=True) as connection:
        columns = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'postroom'"
        ).fetchall()
        for table, column in columns:
            try:
                found += connection.execute(f"SELECT {column}::text FROM postroom.{table}".encode()).fetchall()
            except psycopg.errors.InsufficientPrivilege:
                continue
    assert len(found) > 20
    return str(found)


def test_an_application_may_enqueue_what_is_sensitive_and_not_read_it(
    acting_as: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_SECRET", "s" * 32)
    with acting_as("postroom_app") as outbox:
        first = outbox.enqueue(email(), key="k", sensitive=True)
        assert outbox.enqueue(email(), key="k", sensitive=True).id == first.id
        assert outbox.enqueue_many([email(), email()], sensitive=True) == 2
        assert refused(outbox, "SELECT content FROM postroom.attachments")
    with acting_as("postroom_worker") as worker:
        held = claim(worker)
        settle(worker, [sent(each, sensitive=True) for each in held])
        assert [worker.get(each.id).erased for each in held] == [True] * 3


@pytest.mark.parametrize("role", ["postroom_app", "postroom_worker", "postroom_reader"])
def test_anybody_may_make_sure_that_the_schema_is_there(acting_as: As, role: str) -> None:
    """`migrate()` at every start, from every process: also by those who may create nothing."""
    with acting_as(role) as outbox:
        assert outbox.migrate() == []


def test_the_owner_may_change_the_schema(acting_as: As) -> None:
    with acting_as("postroom_owner") as outbox:
        assert not refused(outbox, "ALTER TABLE postroom.emails ADD COLUMN later integer")


def refused(outbox: Outbox, command: str) -> bool:
    with psycopg.connect(outbox.database_url, autocommit=True) as connection:
        try:
            connection.execute(command.encode())
        except psycopg.errors.InsufficientPrivilege:
            return True
    return False


def test_the_roles_can_be_laid_out_again_and_for_another_schema(migrated_postgres_url: str) -> None:
    with Outbox(migrated_postgres_url, tables="mail") as outbox:
        outbox.migrate()
        for _ in range(2):
            apply_roles(migrated_postgres_url, roles_script(outbox.database.dialect))
    with psycopg.connect(migrated_postgres_url) as connection:
        owners = connection.execute("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'mail'").fetchall()

    assert owners == [("postroom_owner",)]
