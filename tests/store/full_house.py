"""A million emails that were sent, and a few thousand that wait: what an outbox looks like after a busy month.

And a third of a million addresses that are not to be mailed any more.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from postroom import EmailId, Filter, Outbox, Status
from postroom.store.contract import Claim
from postroom.store.dispatch import Reserved
from tests.store.journey import claim, dead, email, in_doubt, reserve, retrying, settle

# One email every three seconds, for the last month and more; ids and instants as they would have been.
_POSTGRES = """
SET session_replication_role = replica;  -- the attachments themselves are not needed
ALTER TABLE postroom.emails SET UNLOGGED;
ALTER TABLE postroom.contents SET UNLOGGED;
ALTER TABLE postroom.terms SET UNLOGGED;
ALTER TABLE postroom.keys SET UNLOGGED;
CREATE TEMP TABLE past AS
SELECT
    n,
    (lpad(to_hex(ms), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id,
    to_timestamp(ms / 1000.0) AS at
FROM (
    SELECT n, (extract(epoch FROM now()) * 1000)::bigint - 3000::bigint * (1000000 - n) - 60000 AS ms
    FROM generate_series(1, 1000000) AS n
) AS moments;
INSERT INTO postroom.emails (
    id, status, priority, due_at, attempts, max_attempts, lease_token, policy, on_doubt, sensitive, key, created_at,
    last_attempt_at, sent_at, finished_at, reply_code
)
SELECT id, 'sent', 1, NULL, 1, 8, 1, 'patient', 'resend', false, 'past-' || n, at, at, at, at, 250
FROM past;
INSERT INTO postroom.contents (email_id, subject, message_id, envelope, text, size, terms)
SELECT id, 'Past', '<past@example.org>', '{"date":0,"sender":["a@b.c"],"to":["past@example.org"]}', 'x', 1, '[]'
FROM past
WHERE n % 4 = 0;
INSERT INTO postroom.terms (term, email_id)
SELECT 'to:past' || n % 1000 || '@example.org', id
FROM past
WHERE n % 4 = 0
UNION ALL
SELECT 'template:hub.past', id
FROM past
WHERE n % 40 = 0;
INSERT INTO postroom.keys (workspace, key, email_id, fingerprint, created_at)
SELECT '', 'past-' || n, id, '', at
FROM past
WHERE n % 4 = 0;
INSERT INTO postroom.attachment_uses (digest, email_id)
SELECT 'digest-' || n % 100, id
FROM past
WHERE n % 10 = 0;
INSERT INTO postroom.events (email_id, at, what)
SELECT id, at, 'failed'
FROM past
WHERE n % 10 = 0;
INSERT INTO postroom.changes (txid, at, changes)
SELECT (3 + n / 2000)::text::xid8, at, json_build_array(json_build_array(id, 'sent', 1, '', ''))::text
FROM past
WHERE n % 4 = 0
ORDER BY n;
INSERT INTO postroom.suppressions (id, address, scope, reason, evidence, created_at, noted_at)
SELECT id, 'stopped' || n || '@example.org', 'all', 'hard_bounce', repeat('no such mailbox ', 8), at, at
FROM past
WHERE n % 3 = 0;
INSERT INTO postroom.tallies
SELECT date_trunc('minute', now()), name, 1000000
FROM unnest(ARRAY['enqueued', 'sent']) AS name;
"""

_SQLITE = """
CREATE TEMP TABLE past AS
WITH RECURSIVE moments (n, ms) AS (
    SELECT 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000 - 3000 * 999999 - 60000
    UNION ALL
    SELECT n + 1, ms + 3000 FROM moments WHERE n < 1000000
)
SELECT n, printf('%08x-%04x-7000-8000-%012x', ms >> 16, ms & 65535, n) AS id, ms * 1000 AS at
FROM moments;
INSERT INTO postroom_emails (
    id, status, priority, due_at, attempts, max_attempts, lease_token, policy, on_doubt, sensitive, key, created_at,
    last_attempt_at, sent_at, finished_at, reply_code
)
SELECT id, 'sent', 1, NULL, 1, 8, 1, 'patient', 'resend', 0, 'past-' || n, at, at, at, at, 250
FROM past;
INSERT INTO postroom_contents (email_id, subject, message_id, envelope, text, size, terms)
SELECT id, 'Past', '<past@example.org>', '{"date":0,"sender":["a@b.c"],"to":["past@example.org"]}', 'x', 1, '[]'
FROM past
WHERE n % 4 = 0;
INSERT INTO postroom_terms (term, email_id)
SELECT 'to:past' || n % 1000 || '@example.org', id
FROM past
WHERE n % 4 = 0
UNION ALL
SELECT 'template:hub.past', id
FROM past
WHERE n % 40 = 0;
INSERT INTO postroom_keys (workspace, key, email_id, fingerprint, created_at)
SELECT '', 'past-' || n, id, '', at
FROM past
WHERE n % 4 = 0;
INSERT INTO postroom_attachment_uses (digest, email_id)
SELECT 'digest-' || n % 100, id
FROM past
WHERE n % 10 = 0;
INSERT INTO postroom_events (email_id, at, what)
SELECT id, at, 'failed'
FROM past
WHERE n % 10 = 0;
INSERT INTO postroom_changes (at, changes)
SELECT at, json_array(json_array(id, 'sent', 1, '', ''))
FROM past
WHERE n % 4 = 0
ORDER BY n;
INSERT INTO postroom_suppressions (id, address, scope, reason, evidence, created_at, noted_at)
SELECT id, 'stopped' || n || '@example.org', 'all', 'hard_bounce', 'no such mailbox', at, at
FROM past
WHERE n % 3 = 0;
INSERT INTO postroom_tallies
SELECT CAST(strftime('%s', 'now') AS INTEGER) / 60 * 60000000, name.value, 1000000
FROM json_each('["enqueued", "sent"]') AS name;
"""


@dataclass(slots=True, kw_only=True)
class House:
    """A full outbox, and some of those who wait in it."""

    outbox: Outbox
    ids: dict[Status, list[EmailId]] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    """Held by a worker that is alive."""
    reserved: list[Reserved] = field(default_factory=list)
    """Queued by a scheduler that is alive."""


def fill_postgres(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET work_mem = '256MB'; SET maintenance_work_mem = '256MB'; " + _POSTGRES)


def analyse_postgres(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def fill_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -200000")
        connection.executescript(f"BEGIN;{_SQLITE}COMMIT;")
    finally:
        connection.close()


def analyse_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("ANALYZE")
    finally:
        connection.close()


def move_in(outbox: Outbox) -> House:
    """Bring the living in: more than a thousand who wait, and some in every other status."""
    outbox.enqueue_many((email(f"Live {n}", tags=[f"live-{n % 10}"]), f"live-{n}") for n in range(3_000))
    claim(outbox, 300, lease=timedelta(seconds=-1))
    held = claim(outbox, 1_200, lease=timedelta(days=1))
    failed, refused, doubtful, kept = (held[start : start + 300] for start in range(0, 1_200, 300))
    settle(outbox, [retrying(each, datetime.now(UTC) + timedelta(hours=1)) for each in failed])
    settle(outbox, [dead(each) for each in refused])
    settle(outbox, [in_doubt(each, None) for each in doubtful])
    outbox.act("cancel", Filter(status=Status.PENDING), limit=500)
    reserve(outbox, 200, lease=timedelta(seconds=-1))
    reserved = reserve(outbox, 200, lease=timedelta(days=1))
    ids = {status: [each.id for each in outbox.list(status=status, limit=10).emails] for status in Status}
    return House(outbox=outbox, ids=ids, claims=[each.claim for each in kept[:100]], reserved=reserved[:100])
