-- What may go once it is old enough.

-- Finished emails past their keep, oldest first. The id bound keeps the scan off younger rows.
-- name: prunable
SELECT e.id, e.status
FROM postroom_emails e
WHERE e.id < :younger
    AND e.status IN (SELECT value FROM json_each(:statuses))
    AND e.finished_at < :before
ORDER BY e.id
LIMIT :limit;

-- Everything about these emails, for the archive.
-- name: archive
SELECT {stored}, c.text, c.html
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id IN (SELECT value FROM json_each(:ids))
ORDER BY e.id;

-- Keys past their keep whose email is gone.
-- name: sweep_keys
DELETE FROM postroom_keys
WHERE (workspace, key) IN (
    SELECT k.workspace, k.key
    FROM postroom_keys k
    WHERE k.created_at < :before
        AND NOT EXISTS (SELECT 1 FROM postroom_emails e WHERE e.id = k.email_id)
        AND NOT EXISTS (SELECT 1 FROM postroom_dismissed d WHERE d.id = k.email_id)
        AND NOT EXISTS (SELECT 1 FROM postroom_departures m WHERE m.email_id = k.email_id AND m.state IS NOT NULL)
    LIMIT :limit
)
RETURNING email_id;

-- Events past their keep whose email is gone.
-- name: sweep_events
DELETE FROM postroom_events
WHERE id IN (
    SELECT v.id
    FROM postroom_events v
    WHERE v.at < :before
        AND NOT EXISTS (SELECT 1 FROM postroom_emails e WHERE e.id = v.email_id)
        AND NOT EXISTS (SELECT 1 FROM postroom_dismissed d WHERE d.id = v.email_id)
        AND NOT EXISTS (SELECT 1 FROM postroom_departures m WHERE m.email_id = v.email_id AND m.state IS NOT NULL)
    ORDER BY v.id
    LIMIT :limit
)
RETURNING id;
