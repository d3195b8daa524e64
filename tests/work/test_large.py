"""Large emails: they take little memory, however many there are, and hold nobody up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from postroom import Attachment, Email, EmailId, Outbox, Priority, Status
from postroom.testing import FaultProxy
from tests.work.drain import Drain
from tests.work.office import AT_ONCE, Office, wait_until

MOST_MEMORY = 300
"""MB that a worker may ever take: what is promised."""

FILE = Attachment("report.bin", os.urandom(1 << 20) * 14)
"""Stored once, and 20 MB of base64 in each email that carries it: there is room for two of those at a time."""


@pytest.fixture
def drain() -> Iterator[Drain]:
    with Drain() as drain:
        yield drain


def enqueue(
    office: Office, name: str, count: int, *, priority: Priority = Priority.NORMAL, **content: Any
) -> list[EmailId]:
    """So many emails, to `name0@example.org` and so on."""
    emails = [Email(to=f"{name}{n}@example.org", text="Hello", **content) for n in range(count)]
    with office.outbox.transaction() as connection:
        return [
            office.outbox.enqueue(email, connection=connection, priority=priority, policy=AT_ONCE).id
            for email in emails
        ]


def names(drain: Drain) -> list[str]:
    return [recipient.partition("@")[0].rstrip("0123456789") for recipient in drain.recipients]


LARGE = {
    "html": {"html": "<p>Good morning.\n.dot { margin: 0 }\n" * 650_000},
    "one line of html in another script": {"html": "<p>ご無沙汰しております" * 450_000},
    "an attachment": {"attachments": [FILE]},
    "many attachments": {"attachments": [Attachment(f"{n}.bin", os.urandom(1_000_000)) for n in range(18)]},
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("content", LARGE.values(), ids=LARGE)
def test_a_worker_stays_below_its_bound_however_large_the_emails(
    office: Office, drain: Drain, content: dict[str, Any]
) -> None:
    large = enqueue(office, "large", 6, **content)
    small = enqueue(office, "small", 200)
    worker = office.start_worker(options="connections=16", POSTROOM_SMTP=drain.url)
    wait_until(lambda: not office.unfinished(), patience=240)

    assert worker.most_memory() < MOST_MEMORY
    assert office.statuses(large + small) == {Status.SENT}
    assert len(drain.recipients) == len(set(drain.recipients)) == len(large + small)


def test_small_emails_pass_large_ones_that_a_slow_server_keeps_waiting(office: Office, drain: Drain) -> None:
    """More large ones than there is room for, or a worker takes into its hands, all of them before the small ones."""
    drain.holding = {f"large{n}@example.org" for n in range(100)}
    enqueue(office, "large", 100, priority=Priority.BULK, attachments=[FILE])
    office.start_worker(POSTROOM_SMTP=drain.url)
    wait_until(lambda: drain.held >= 2)
    enqueue(office, "urgent", 100, priority=Priority.URGENT)
    enqueue(office, "normal", 100)
    wait_until(lambda: len(drain.recipients) == 200)

    assert set(names(drain)) == {"urgent", "normal"}
    assert drain.held == 2
    assert office.outbox.counts()["pending"] > 0  # for other workers


def test_an_urgent_large_email_is_next_when_there_is_room(office: Office, drain: Drain) -> None:
    drain.holding = {f"large{n}@example.org" for n in range(8)}
    enqueue(office, "large", 8, priority=Priority.BULK, attachments=[FILE])
    office.start_worker(POSTROOM_SMTP=drain.url)
    wait_until(lambda: drain.held >= 2)
    enqueue(office, "urgent", 1, priority=Priority.URGENT, attachments=[FILE])
    enqueue(office, "small", 1, priority=Priority.URGENT)
    wait_until(lambda: names(drain) == ["small"])  # and so what was claimed before it is in the worker's hands
    drain.let_go()
    wait_until(lambda: not office.unfinished())

    assert "urgent" in names(drain)[:5]  # two were before it, and another may have been quicker on the way


@pytest.mark.parametrize(("table", "told"), [("contents", "content is gone"), ("attachments", "could not be built")])
def test_a_large_email_whose_content_is_gone_is_invalid_and_alone(
    office: Office, drain: Drain, table: str, told: str
) -> None:
    drain.holding = {"large0@example.org", "large1@example.org"}
    enqueue(office, "large", 2, attachments=[FILE])
    office.start_worker(POSTROOM_SMTP=drain.url)
    wait_until(lambda: drain.held >= 2)
    [lost] = enqueue(office, "lost", 1, attachments=[Attachment("gone.bin", os.urandom(1_000_000) * 14)])
    others = enqueue(office, "other", 2, attachments=[FILE])
    wait_until(lambda: office.outbox.counts()["sending"] == 5)
    office.sql("DELETE FROM {attachment_uses} WHERE email_id = ?", lost)
    if table == "contents":
        office.sql("DELETE FROM {contents} WHERE email_id = ?", lost)
    office.sql("DELETE FROM {attachments} WHERE digest NOT IN (SELECT digest FROM {attachment_uses})")
    drain.let_go()
    wait_until(lambda: not office.unfinished())

    [[status, reason, attempts, error]] = office.sql(
        "SELECT status, dead_reason, attempts, last_error FROM {emails} WHERE id = ?", lost
    )
    assert (status, reason, attempts) == ("dead", "invalid", 1)
    assert told in error
    assert office.statuses(others) == {Status.SENT}
    assert "lost" not in names(drain)


def test_a_large_email_that_cannot_be_read_is_invalid_and_alone(sqlite_office: Office, drain: Drain) -> None:
    office = sqlite_office  # PostgreSQL does not store what is not UTF-8
    [damaged, sound] = enqueue(office, "large", 2, html="<p>Good morning.\n" * 100_000)
    office.sql("UPDATE {contents} SET html = CAST(x'ff' || html AS TEXT) WHERE email_id = ?", damaged)
    office.start_worker(POSTROOM_SMTP=drain.url)
    wait_until(lambda: not office.unfinished())

    [[status, reason]] = office.sql("SELECT status, dead_reason FROM {emails} WHERE id = ?", damaged)
    assert (status, reason) == ("dead", "invalid")
    assert office.get(sound).status is Status.SENT
    assert drain.recipients == ["large1@example.org"]


def test_large_emails_wait_while_the_database_is_away(postgres_office: Office, drain: Drain) -> None:
    """Their content cannot be had; they are neither lost nor given up, and the lines go on."""
    office, address = postgres_office, urlsplit(postgres_office.url)
    assert address.port
    with FaultProxy(target_port=address.port, target_host=address.hostname or "127.0.0.1") as network:
        way = address._replace(netloc=address.netloc.replace(f":{address.port}", f":{network.port}")).geturl()
        drain.holding = {"large0@example.org", "large1@example.org"}
        large = enqueue(office, "large", 6, attachments=[FILE])
        worker = office.start_worker(POSTROOM_SMTP=drain.url, POSTROOM_DATABASE=way)
        wait_until(lambda: drain.held >= 2)
        wait_until(lambda: office.outbox.counts()["sending"] == 6)
        network.refuse()
        drain.let_go()
        wait_until(lambda: "a large email waits for the database" in office.logs())
        assert worker.poll() is None
        network.accept()
        wait_until(lambda: not office.unfinished())

    assert office.statuses(large) == {Status.SENT}
    assert sorted(drain.recipients) == sorted(f"large{n}@example.org" for n in range(6))
    assert {office.get(id).attempts for id in large} == {1}


def test_a_large_email_is_sent_inline_from_what_is_in_hand(store_url: str, drain: Drain, tmp_path: Path) -> None:
    with Outbox(store_url, smtp=drain.url) as outbox:
        outcome = outbox.send(Email(to="ada@example.org", text="Hello", attachments=[FILE]))

    assert outcome.sent
    assert drain.recipients == ["ada@example.org"]
