-- The stream of changes, and those who listen to them.

-- Tell the stream what happened to emails, as they are now. Grouped, so that nothing makes no row.
-- name: note_changes
INSERT INTO postroom_changes (at, changes)
SELECT :now, json_group_array(json_array(id, :what, attempts, kind, workspace))
FROM postroom_emails
WHERE id IN (SELECT value FROM json_each(:ids))
GROUP BY 1;

-- Emails that were just changed, for those who listen.
-- name: changed_emails
SELECT
    e.id, e.status, e.attempts, e.kind, e.workspace, e.route, e.channel, e.key, e.dead_reason, e.last_error,
    c.message_id, :now
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id IN (SELECT value FROM json_each(:ids))
ORDER BY e.id;

-- The stream from a row on, that row included; from the beginning where the row is from another file: an older one was
-- put in its place, or it came from a PostgreSQL. Rows of this one have no number of a transaction.
-- name: read_changes
SELECT '0', position, at, changes
FROM postroom_changes
WHERE position >= (
    SELECT iif(CAST(:txid AS INTEGER) = 0 AND :position <= coalesce(max(seq), 0), :position, 0)
    FROM sqlite_sequence
    WHERE name = 'postroom_changes'
)
ORDER BY position
LIMIT :limit;

-- The end of the stream, newest first.
-- name: newest_changes
SELECT '0', position, at, changes
FROM postroom_changes
ORDER BY position DESC
LIMIT :limit;

-- Where emails of the stream stand now.
-- name: named_in_changes
SELECT id, route, channel, key
FROM postroom_emails
WHERE id IN (SELECT value FROM json_each(:ids));

-- Rows past their keep, oldest first. Only so many are looked at: the first that has to stay ends it.
-- name: sweep_changes
DELETE FROM postroom_changes
WHERE position IN (
    SELECT position
    FROM (SELECT position, at FROM postroom_changes ORDER BY position LIMIT :limit) AS oldest
    WHERE at < :before
)
RETURNING position;

-- A file brings its own numbers along.
-- name: adopt_changes
SELECT 1
WHERE 0;

-- What a listener does is undone to here, should it fail.
-- name: begin_listening
SAVEPOINT postroom_listener;

-- name: undo_listening
ROLLBACK TO SAVEPOINT postroom_listener;

-- name: end_listening
RELEASE SAVEPOINT postroom_listener;
