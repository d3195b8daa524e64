"""An outbox after a busy year, for both databases: nineteen of twenty emails were sent, the rest is in every status.

Kinds and workspaces are shared by very many emails, recipients by few; failures have a handful of causes. All of
it came in through the API, so the audit log is as long.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from bench.world import execute, settle_down

# Which status the n-th email is in; the same words in both dialects.
_STATUS = """
CASE
    WHEN n % 20 <> 0 THEN 'sent'
    WHEN n / 20 % 20 < 12 THEN 'pending'
    WHEN n / 20 % 20 < 15 THEN 'retrying'
    WHEN n / 20 % 20 < 19 THEN 'dead'
    ELSE 'cancelled'
END
"""
_COLUMNS = """
    id, status, priority, due_at, attempts, max_attempts, lease_token, policy, on_doubt, sensitive, kind, workspace,
    key, created_at, last_attempt_at, sent_at, finished_at, reply_code, last_error, dead_reason
"""
_VALUES = """
    id, status, 1, CASE WHEN status IN ('pending', 'retrying') THEN due END, 1, 8, 1, 'patient', 'resend', {no},
    kind, workspace, 'order-' || n, at, at, CASE WHEN status = 'sent' THEN at END,
    CASE WHEN status IN ('sent', 'dead', 'cancelled') THEN at END,
    CASE status WHEN 'sent' THEN 250 WHEN 'dead' THEN 550 WHEN 'retrying' THEN 451 END,
    CASE status
        WHEN 'dead' THEN 'refused at RCPT: 550 5.1.1 cause ' || substr('abcdefg', n / 20 % 7 + 1, 1)
        WHEN 'retrying' THEN 'deferred at RCPT: 451 4.7.1 try later'
    END,
    CASE status WHEN 'dead' THEN 'permanent' END
"""
_KIND = "'kind-' || (n % 5) AS kind, CASE n % 10 WHEN 0 THEN '' ELSE 'workspace-' || (n % 3) END AS workspace"
_SUBJECT = "'Your order number ' || n || CASE WHEN n % 100000 = 7 THEN ' was rare' ELSE ' has been received' END"
_ENVELOPE = """'{{"date":0,"sender":["shop@example.com"],"to":["customer' || (n % 500000) || '@example.net"]}}'"""
_DETAIL = """'{{"outcome": "dead", "code": 550, "text": "no such user"}}'"""
_TERMS = "'[\"tag:none\"]'"

_POSTGRES = f"""
SET work_mem = '256MB'; SET maintenance_work_mem = '256MB';
CREATE TEMP TABLE past AS
SELECT *, at + interval '1 hour' AS due, {_STATUS} AS status, {_KIND}
FROM (
    SELECT
        n,
        (lpad(to_hex(ms), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id,
        to_timestamp(ms / 1000.0) AS at
    FROM (
        SELECT n, (extract(epoch FROM now()) * 1000)::bigint - 15000 * ({{rows}}::bigint - n) - 60000 AS ms
        FROM generate_series(1, {{rows}}) AS n
    ) AS moments
) AS emails;
INSERT INTO postroom.emails ({_COLUMNS}) SELECT {_VALUES.format(no="false")} FROM past;
INSERT INTO postroom.contents (email_id, subject, message_id, envelope, text, size, terms)
SELECT id, {_SUBJECT}, '<' || n || '@example.com>', {_ENVELOPE}, repeat('x', 1000), 1000, {_TERMS} FROM past;
INSERT INTO postroom.terms SELECT 'to:customer' || (n % 500000) || '@example.net', id FROM past;
INSERT INTO postroom.terms SELECT 'kind:' || kind, id FROM past;
INSERT INTO postroom.terms SELECT 'workspace:' || workspace, id FROM past WHERE workspace <> '';
INSERT INTO postroom.keys SELECT workspace, 'order-' || n, id, '', at FROM past;
INSERT INTO postroom.events (email_id, at, what, attempt, detail)
SELECT id, at, 'failed', 1, {_DETAIL} FROM past WHERE status = 'dead';
INSERT INTO postroom.audit (at, actor, what, address)
SELECT at, 'shop@example.com', 'POST /api/emails', '192.0.2.1' FROM past;
INSERT INTO postroom.tallies
SELECT date_trunc('minute', now()) - minute * interval '1 minute', name, 4
FROM generate_series(0, 2880) AS minute, unnest(ARRAY['enqueued', 'sent', 'retried', 'died']) AS name;
INSERT INTO postroom.tallies
SELECT date_trunc('day', now()) - day * interval '1 day', name, {{rows}} / 365
FROM generate_series(3, 365) AS day, unnest(ARRAY['enqueued', 'sent']) AS name;
"""

_SQLITE = f"""
CREATE TEMP TABLE past AS
WITH RECURSIVE moments (n, ms) AS (
    SELECT 1, CAST(strftime('%s', 'now') AS INTEGER) * 1000 - 15000 * ({{rows}} - 1) - 60000
    UNION ALL
    SELECT n + 1, ms + 15000 FROM moments WHERE n < {{rows}}
)
SELECT
    n, printf('%08x-%04x-7000-8000-%012x', ms >> 16, ms & 65535, n) AS id, ms * 1000 AS at,
    ms * 1000 + 3600000000 AS due, {_STATUS} AS status, {_KIND}
FROM moments;
INSERT INTO postroom_emails ({_COLUMNS}) SELECT {_VALUES.format(no="0")} FROM past;
INSERT INTO postroom_contents (email_id, subject, message_id, envelope, text, size, terms)
SELECT id, {_SUBJECT}, '<' || n || '@example.com>', {_ENVELOPE}, printf('%.1000c', 'x'), 1000, {_TERMS} FROM past;
INSERT INTO postroom_terms SELECT 'to:customer' || (n % 500000) || '@example.net', id FROM past ORDER BY 1, 2;
INSERT INTO postroom_terms SELECT 'kind:' || kind, id FROM past ORDER BY 1, 2;
INSERT INTO postroom_terms SELECT 'workspace:' || workspace, id FROM past WHERE workspace <> '' ORDER BY 1, 2;
INSERT INTO postroom_keys SELECT workspace, 'order-' || n, id, '', at FROM past ORDER BY 1, 2;
INSERT INTO postroom_events (email_id, at, what, attempt, detail)
SELECT id, at, 'failed', 1, {_DETAIL} FROM past WHERE status = 'dead';
INSERT INTO postroom_audit (at, actor, what, address)
SELECT at, 'shop@example.com', 'POST /api/emails', '192.0.2.1' FROM past;
WITH RECURSIVE minutes (minute) AS (SELECT 0 UNION ALL SELECT minute + 1 FROM minutes WHERE minute < 2880)
INSERT INTO postroom_tallies
SELECT (CAST(strftime('%s', 'now') AS INTEGER) / 60 - minute) * 60000000, name.value, 4
FROM minutes, json_each('["enqueued", "sent", "retried", "died"]') AS name;
"""


def fill_postgres(url: str, rows: int) -> None:
    execute(url, _POSTGRES.format(rows=rows))
    settle_down(url)


def fill_sqlite(path: Path, rows: int) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -200000")
        script = _SQLITE.format(rows=rows)
        connection.executescript(f"BEGIN;{script}COMMIT;")
        # Left out of the log, so that the first reader does not pay for the filling.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
