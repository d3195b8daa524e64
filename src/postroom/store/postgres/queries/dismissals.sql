-- Emails that were dismissed, for as long as that can be undone.

-- Take emails out of the outbox; what they say stays where it is.
-- name: set_aside
WITH gone AS (
    DELETE FROM postroom.emails
    WHERE id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
    RETURNING {state}
)
INSERT INTO postroom.dismissed ({state}, dismissed_at, dismissed_by, act)
SELECT {state}, {now}, :actor::text, coalesce(:act::text, id::text)
FROM gone
RETURNING id::text;

-- Those that were dismissed since then, the latest first.
-- name: dismissed
SELECT {stored}, e.dismissed_at, e.dismissed_by, e.act
FROM postroom.dismissed e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.dismissed_at >= :since::timestamptz
    AND (:workspaces::text IS NULL OR e.workspace IN (SELECT json_array_elements_text((:workspaces::text)::json)))
ORDER BY e.dismissed_at DESC, e.id DESC
LIMIT :limit::bigint;

-- Lock those of these that were dismissed since then.
-- name: lock_dismissed
SELECT e.id::text, e.attempts, e.workspace
FROM postroom.dismissed e
WHERE e.dismissed_at >= :since::timestamptz
    AND e.id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY e.id
FOR UPDATE;

-- The same for those of one act.
-- name: lock_dismissed_by
SELECT e.id::text, e.attempts, e.workspace
FROM postroom.dismissed e
WHERE e.dismissed_at >= :since::timestamptz AND e.act = :act::text AND e.id > :after::uuid
ORDER BY e.id
LIMIT :limit::bigint
FOR UPDATE;

-- Put them back as they were.
-- name: reinstate
WITH back AS (
    DELETE FROM postroom.dismissed
    WHERE id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
    RETURNING {state}
)
INSERT INTO postroom.emails ({state})
SELECT {state}
FROM back
RETURNING id::text;

-- What was in doubt waits for a person, for nobody can tell what became known of it meanwhile.
-- name: hold_doubts
UPDATE postroom.emails
SET due_at = NULL
WHERE status = 'in_doubt' AND id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid));

-- Those whose time is over, oldest first.
-- name: dismissed_before
SELECT id::text
FROM postroom.dismissed
WHERE dismissed_at < :before::timestamptz
ORDER BY dismissed_at, id
LIMIT :limit::bigint
FOR UPDATE SKIP LOCKED;
