-- What may go once it is old enough.

-- Finished emails past their keep, oldest first. The id bound keeps the scan off younger rows.
-- name: prunable
SELECT e.id::text, e.status
FROM postroom.emails e
WHERE e.id < :younger::uuid
    AND e.status IN (SELECT json_array_elements_text((:statuses::text)::json))
    AND e.finished_at < :before::timestamptz
ORDER BY e.id
LIMIT :limit::bigint
FOR UPDATE SKIP LOCKED;

-- Everything about these emails, for the archive.
-- name: archive
SELECT {stored}, c.text, c.html
FROM postroom.emails e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY e.id;

-- Keys past their keep whose email is gone.
-- name: sweep_keys
DELETE FROM postroom.keys
WHERE (workspace, key) IN (
    SELECT k.workspace, k.key
    FROM postroom.keys k
    WHERE k.created_at < :before::timestamptz
        AND NOT EXISTS (SELECT FROM postroom.emails e WHERE e.id = k.email_id)
        AND NOT EXISTS (SELECT FROM postroom.dismissed d WHERE d.id = k.email_id)
        AND NOT EXISTS (SELECT FROM postroom.departures m WHERE m.email_id = k.email_id AND m.state IS NOT NULL)
    LIMIT :limit::bigint
)
RETURNING email_id::text;

-- Events past their keep whose email is gone.
-- name: sweep_events
DELETE FROM postroom.events
WHERE id IN (
    SELECT v.id
    FROM postroom.events v
    WHERE v.at < :before::timestamptz
        AND NOT EXISTS (SELECT FROM postroom.emails e WHERE e.id = v.email_id)
        AND NOT EXISTS (SELECT FROM postroom.dismissed d WHERE d.id = v.email_id)
        AND NOT EXISTS (SELECT FROM postroom.departures m WHERE m.email_id = v.email_id AND m.state IS NOT NULL)
    ORDER BY v.id
    LIMIT :limit::bigint
)
RETURNING id;
