-- Emails that were dismissed, for as long as that can be undone.

-- Take emails out of the outbox; what they say stays where it is.
-- name: set_aside
INSERT INTO postroom_dismissed ({state}, dismissed_at, dismissed_by, act)
SELECT {state}, :now, :actor, coalesce(:act, id)
FROM postroom_emails
WHERE id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_emails
WHERE id IN (SELECT value FROM json_each(:ids))
RETURNING id;

-- Those that were dismissed since then, the latest first.
-- name: dismissed
SELECT {stored}, e.dismissed_at, e.dismissed_by, e.act
FROM postroom_dismissed e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.dismissed_at >= :since
    AND (:workspaces IS NULL OR e.workspace IN (SELECT value FROM json_each(:workspaces)))
ORDER BY e.dismissed_at DESC, e.id DESC
LIMIT :limit;

-- Which of these were dismissed since then; the writer's transaction is the lock.
-- name: lock_dismissed
SELECT e.id, e.attempts, e.workspace
FROM postroom_dismissed e
WHERE e.dismissed_at >= :since AND e.id IN (SELECT value FROM json_each(:ids))
ORDER BY e.id;

-- The same for those of one act.
-- name: lock_dismissed_by
SELECT e.id, e.attempts, e.workspace
FROM postroom_dismissed e
WHERE e.dismissed_at >= :since AND e.act = :act AND e.id > :after
ORDER BY e.id
LIMIT :limit;

-- Put them back as they were.
-- name: reinstate
INSERT INTO postroom_emails ({state})
SELECT {state}
FROM postroom_dismissed
WHERE id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_dismissed
WHERE id IN (SELECT value FROM json_each(:ids))
RETURNING id;

-- What was in doubt waits for a person, for nobody can tell what became known of it meanwhile.
-- name: hold_doubts
UPDATE postroom_emails
SET due_at = NULL
WHERE status = 'in_doubt' AND id IN (SELECT value FROM json_each(:ids));

-- Those whose time is over, oldest first.
-- name: dismissed_before
SELECT id
FROM postroom_dismissed
WHERE dismissed_at < :before
ORDER BY dismissed_at, id
LIMIT :limit;
