-- The stream of changes, and those who listen to them.

-- Tell the stream what happened to emails, as they are now.
-- name: note_changes
INSERT INTO postroom.changes (at, changes)
SELECT {now}, json_agg(json_build_array(id, :what::text, attempts, kind, workspace) ORDER BY id)::text
FROM postroom.emails
WHERE id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
HAVING count(*) > 0;

-- Emails that were just changed, for those who listen.
-- name: changed_emails
SELECT
    e.id::text, e.status, e.attempts, e.kind, e.workspace, e.route, e.channel, e.key, e.dead_reason, e.last_error,
    c.message_id, {now}
FROM postroom.emails e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY e.id;

-- A transaction is told of when it and every older one have ended: nothing can come before it any more. Numbers of
-- transactions that do not exist yet come from another server, by a dump: these rows come before all others.
-- fragment: ended
txid < pg_snapshot_xmin(pg_current_snapshot())

-- fragment: adopted
txid >= pg_snapshot_xmax(pg_current_snapshot())

-- The stream from a row on, that row included; from the beginning where it names a transaction that does not exist yet.
-- name: read_changes
WITH since AS MATERIALIZED (
    SELECT
        CASE WHEN known THEN (:txid::text)::xid8 ELSE '0'::xid8 END AS txid,
        CASE WHEN known THEN :position::bigint ELSE 0 END AS position
    FROM (SELECT (:txid::text)::xid8 < pg_snapshot_xmax(pg_current_snapshot()) AS known) AS asked
)
(
    SELECT '0', position, at, changes
    FROM postroom.changes
    WHERE {adopted} AND ('0'::xid8, position) >= ((SELECT txid FROM since), (SELECT position FROM since))
    ORDER BY position
    LIMIT :limit::bigint
)
UNION ALL
(
    SELECT txid::text, position, at, changes
    FROM postroom.changes
    WHERE {ended} AND (txid, position) >= ((SELECT txid FROM since), (SELECT position FROM since))
    ORDER BY changes.txid, position
    LIMIT :limit::bigint
)
LIMIT :limit::bigint;

-- The end of the stream, newest first.
-- name: newest_changes
(
    SELECT txid::text, position, at, changes
    FROM postroom.changes
    WHERE {ended}
    ORDER BY changes.txid DESC, position DESC
    LIMIT :limit::bigint
)
UNION ALL
(
    SELECT '0', position, at, changes
    FROM postroom.changes
    WHERE {adopted}
    ORDER BY position DESC
    LIMIT :limit::bigint
)
LIMIT :limit::bigint;

-- Where emails of the stream stand now.
-- name: named_in_changes
SELECT id::text, route, channel, key
FROM postroom.emails
WHERE id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid));

-- Rows past their keep, oldest first. Only so many are looked at: the first that has to stay ends it.
-- name: sweep_changes
DELETE FROM postroom.changes
WHERE ctid = ANY (ARRAY (
    SELECT oldest.ctid
    FROM (
        SELECT ctid, at
        FROM postroom.changes
        ORDER BY txid, position
        LIMIT :limit::bigint
        FOR UPDATE SKIP LOCKED
    ) AS oldest
    WHERE at < :before::timestamptz
))
RETURNING position;

-- Rows that came from another server, before its numbers of transactions are reached here.
-- name: adopt_changes
UPDATE postroom.changes
SET txid = '0'
WHERE {adopted}
RETURNING position;

-- What a listener does is undone to here, should it fail.
-- name: begin_listening
SAVEPOINT postroom_listener;

-- name: undo_listening
ROLLBACK TO SAVEPOINT postroom_listener;

-- name: end_listening
RELEASE SAVEPOINT postroom_listener;
