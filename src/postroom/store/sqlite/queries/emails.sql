-- Emails as they are looked at: one, a page, the edge of a page, what is due.

-- fragment: residual
(:status IS NULL OR e.status = :status)
    AND (:kind IS NULL OR e.kind = :kind)
    AND (:workspace IS NULL OR e.workspace = :workspace)
    AND (:route IS NULL OR e.route = :route)
    AND (:workspaces IS NULL OR e.workspace IN (SELECT value FROM json_each(:workspaces)))
    AND (:since IS NULL OR e.created_at >= :since)
    AND (:until IS NULL OR e.created_at < :until)
    AND (:reply_code IS NULL OR e.reply_code = :reply_code)
    AND (:subject IS NULL OR (NOT e.sensitive AND instr(lower(c.subject), lower(:subject)) > 0))
    AND NOT EXISTS (
        SELECT 1
        FROM json_each(:terms) AS wanted
        WHERE NOT EXISTS (SELECT 1 FROM postroom_terms t WHERE t.term = wanted.value AND t.email_id = e.id)
    )

-- One email.
-- name: get
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = :id;

-- The story of these emails, oldest first. CROSS JOIN keeps SQLite from walking through all events by id.
-- name: history
SELECT v.email_id, v.at, v.what, v.attempt, v.actor, v.detail
FROM json_each(:ids) AS wanted
CROSS JOIN postroom_events v ON v.email_id = wanted.value
ORDER BY v.id;

-- Newest first, by id alone. LEFT JOIN, because an email whose content is gone is an email all the same.
-- name: list_newest
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id < :before AND e.id >= :after
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit;

-- Newest first within an unfinished status.
-- name: list_by_status
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.status = :driving AND e.status NOT IN ('sent', 'cancelled')
    AND e.id < :before AND e.id >= :after
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit;

-- Newest first among the cancelled, who are few beside those that were sent.
-- name: list_cancelled
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.status = 'cancelled'
    AND e.id < :before AND e.id >= :after
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit;

-- Newest first among the sent, however many newer ones still wait.
-- name: list_sent
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.status = 'sent'
    AND e.id < :before AND e.id >= :after
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit;

-- Newest first among the emails with one exact term.
-- name: list_by_term
SELECT {stored}
FROM postroom_terms driving
CROSS JOIN postroom_emails e ON e.id = driving.email_id
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE driving.term = :driving
    AND driving.email_id < :before AND driving.email_id >= :after
    AND {residual}
ORDER BY driving.email_id DESC
LIMIT :limit;

-- How long the oldest due email of some routes, or of all, has waited.
-- name: oldest_due
WITH RECURSIVE {asked_routes}
SELECT min(due_at)
FROM (
    SELECT (
        SELECT due_at
        FROM postroom_emails
        WHERE {waiting} AND route = asked.route AND priority = lane.value AND due_at <= :now
        ORDER BY due_at, id
        LIMIT 1
    ) AS due_at
    FROM asked
    CROSS JOIN json_each('[0, 1, 2]') AS lane
);

-- How many emails are due, from the index of what waits.
-- name: due
SELECT count(*)
FROM postroom_emails
WHERE {waiting} AND due_at <= :now;

-- When the next email of some routes, or of all, comes due, this side of the future or beyond.
-- name: next_due
WITH RECURSIVE {asked_routes}
SELECT min(due_at)
FROM (
    SELECT (
        SELECT due_at
        FROM postroom_emails
        WHERE {waiting} AND route = asked.route AND priority = lane.value
        ORDER BY due_at, id
        LIMIT 1
    ) AS due_at
    FROM asked
    CROSS JOIN json_each('[0, 1, 2]') AS lane
);

-- Whether anything is due on some routes; of those that are covered by a fallback, what was never in doubt.
-- name: something_due
SELECT EXISTS (
    SELECT 1
    FROM json_each(:routes) AS asked
    CROSS JOIN json_each('[0, 1, 2]') AS lane
    CROSS JOIN postroom_emails e ON e.route = asked.value AND e.priority = lane.value
    WHERE {waiting} AND due_at <= :now
) OR EXISTS (
    SELECT 1
    FROM json_each(:covered) AS asked
    CROSS JOIN json_each('[0, 1, 2]') AS lane
    CROSS JOIN postroom_emails e ON e.route = asked.value AND e.priority = lane.value
    WHERE {waiting} AND due_at <= :now AND doubts = 0
);

-- The routes on which something waits, and nothing about how much.
-- name: waiting_routes
WITH RECURSIVE {asked_routes}
SELECT route
FROM asked;

-- How many emails wait on each route, from the index of what waits.
-- name: waiting_by_route
SELECT route, count(*)
FROM postroom_emails
WHERE {waiting}
GROUP BY route;

-- What the newest dead emails died of. Errors that begin alike are told apart no further here.
-- name: failures
SELECT dead_reason, reply_code, beginning, count(*) AS emails, max(id)
FROM (
    SELECT id, dead_reason, reply_code, workspace, substr(last_error, 1, 120) AS beginning
    FROM postroom_emails
    WHERE status = 'dead' AND status NOT IN ('sent', 'cancelled')
    ORDER BY id DESC
    LIMIT :limit
) AS newest
WHERE :workspaces IS NULL OR workspace IN (SELECT value FROM json_each(:workspaces))
GROUP BY dead_reason, reply_code, beginning
ORDER BY emails DESC;

-- How long the oldest due email of some workspaces has waited, among those whose turn comes first in each lane of a route.
-- name: oldest_due_within
WITH RECURSIVE {asked_routes}
SELECT min(json_extract(first.value, '$[0]'))
FROM asked
CROSS JOIN json_each('[0, 1, 2]') AS lane
CROSS JOIN json_each((
    SELECT json_group_array(json_array(due_at, workspace))
    FROM (
        SELECT due_at, workspace
        FROM postroom_emails
        WHERE {waiting} AND route = asked.route AND priority = lane.value AND due_at <= :now
        ORDER BY due_at, id
        LIMIT :limit
    )
)) AS first
WHERE json_extract(first.value, '$[1]') IN (SELECT value FROM json_each(:workspaces));

-- Where these emails belong and stand.
-- name: placed
SELECT id, workspace, status
FROM postroom_emails
WHERE id IN (SELECT value FROM json_each(:ids));

-- The emails under a key in whichever workspace. Hops from workspace to workspace along the index of keys.
-- name: under_key_anywhere
WITH RECURSIVE workspaces (workspace) AS (
    SELECT min(workspace)
    FROM postroom_keys
    UNION ALL
    SELECT (SELECT min(k.workspace) FROM postroom_keys k WHERE k.workspace > w.workspace)
    FROM workspaces w
    WHERE w.workspace IS NOT NULL
)
SELECT k.workspace, k.email_id
FROM workspaces w
CROSS JOIN postroom_keys k ON k.workspace = w.workspace AND k.key = :key
ORDER BY k.email_id DESC;

-- Where a list that looks at so many emails would end.
-- name: edge_newest
SELECT id
FROM postroom_emails
WHERE id < :before
ORDER BY id DESC
LIMIT 1 OFFSET :offset;

-- The same within an unfinished status.
-- name: edge_by_status
SELECT id
FROM postroom_emails
WHERE status = :driving AND status NOT IN ('sent', 'cancelled') AND id < :before
ORDER BY id DESC
LIMIT 1 OFFSET :offset;

-- The same among the cancelled.
-- name: edge_cancelled
SELECT id
FROM postroom_emails
WHERE status = 'cancelled' AND id < :before
ORDER BY id DESC
LIMIT 1 OFFSET :offset;

-- The same among the sent.
-- name: edge_sent
SELECT id
FROM postroom_emails
WHERE status = 'sent' AND id < :before
ORDER BY id DESC
LIMIT 1 OFFSET :offset;

-- The same among the emails with one exact term.
-- name: edge_by_term
SELECT email_id
FROM postroom_terms
WHERE term = :driving AND email_id < :before
ORDER BY email_id DESC
LIMIT 1 OFFSET :offset;
