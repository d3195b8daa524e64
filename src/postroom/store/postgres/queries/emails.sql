-- Emails as they are looked at: one, a page, the edge of a page, what is due.

-- fragment: residual
(:status::text IS NULL OR e.status = :status::text)
    AND (:kind::text IS NULL OR e.kind = :kind::text)
    AND (:workspace::text IS NULL OR e.workspace = :workspace::text)
    AND (:route::text IS NULL OR e.route = :route::text)
    AND (
        :workspaces::text IS NULL
        OR e.workspace = ANY (ARRAY (SELECT json_array_elements_text((:workspaces::text)::json)))
    )
    AND (:since::timestamptz IS NULL OR e.created_at >= :since::timestamptz)
    AND (:until::timestamptz IS NULL OR e.created_at < :until::timestamptz)
    AND (:reply_code::int IS NULL OR e.reply_code = :reply_code::int)
    AND (:subject::text IS NULL OR (NOT e.sensitive AND strpos(lower(c.subject), lower(:subject::text)) > 0))
    AND NOT EXISTS (
        SELECT
        FROM json_array_elements_text((:terms::text)::json) AS wanted (term)
        WHERE NOT EXISTS (SELECT FROM postroom.terms t WHERE t.term = wanted.term AND t.email_id = e.id)
    )

-- One email.
-- name: get
SELECT {stored}
FROM postroom.emails e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = :id::uuid;

-- The story of these emails, oldest first.
-- name: history
SELECT email_id::text, at, what, attempt, actor, detail
FROM postroom.events
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY id;

-- The LIMIT keeps the planner from merging the two tables, which would read all content newer than the page.
-- fragment: with_content
LEFT JOIN LATERAL (
    SELECT subject, message_id, envelope, size, terms
    FROM postroom.contents
    WHERE email_id = e.id AND version = e.version
    LIMIT 1
) AS c ON true

-- Newest first, by id alone.
-- name: list_newest
SELECT {stored}
FROM postroom.emails e
{with_content}
WHERE e.id < :before::uuid AND e.id >= :after::uuid
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit::bigint;

-- Newest first within an unfinished status.
-- name: list_by_status
SELECT {stored}
FROM postroom.emails e
{with_content}
WHERE e.status = :driving::text AND e.status NOT IN ('sent', 'cancelled')
    AND e.id < :before::uuid AND e.id >= :after::uuid
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit::bigint;

-- Newest first among the cancelled, who are few beside those that were sent.
-- name: list_cancelled
SELECT {stored}
FROM postroom.emails e
{with_content}
WHERE e.status = 'cancelled'
    AND e.id < :before::uuid AND e.id >= :after::uuid
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit::bigint;

-- Newest first among the sent, however many newer ones still wait.
-- name: list_sent
SELECT {stored}
FROM postroom.emails e
{with_content}
WHERE e.status = 'sent'
    AND e.id < :before::uuid AND e.id >= :after::uuid
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit::bigint;

-- Newest first among the emails with one exact term. The LIMIT is there for the same reason: a merge would read all emails
-- newer than the page, and a template that nobody uses any more is found far back.
-- name: list_by_term
SELECT {stored}
FROM postroom.terms driving
CROSS JOIN LATERAL (
    SELECT *
    FROM postroom.emails
    WHERE id = driving.email_id
    LIMIT 1
) AS e
{with_content}
WHERE driving.term = :driving::text
    AND driving.email_id < :before::uuid AND driving.email_id >= :after::uuid
    AND {residual}
ORDER BY driving.email_id DESC
LIMIT :limit::bigint;

-- How long the oldest due email of some routes, or of all, has waited.
-- name: oldest_due
WITH RECURSIVE {asked_routes}
SELECT min(due_at)
FROM (
    SELECT (
        SELECT due_at
        FROM postroom.emails
        WHERE {waiting} AND route = asked.route AND priority = lane AND due_at <= {now}
        ORDER BY due_at, id
        LIMIT 1
    ) AS due_at
    FROM asked
    CROSS JOIN generate_series(0, 2) AS lane
) oldest;

-- How many emails are due, from the index of what waits.
-- name: due
SELECT count(*)
FROM postroom.emails
WHERE {waiting} AND due_at <= {now};

-- When the next email of some routes, or of all, comes due, this side of the future or beyond.
-- name: next_due
WITH RECURSIVE {asked_routes}
SELECT min(due_at)
FROM (
    SELECT (
        SELECT due_at
        FROM postroom.emails
        WHERE {waiting} AND route = asked.route AND priority = lane
        ORDER BY due_at, id
        LIMIT 1
    ) AS due_at
    FROM asked
    CROSS JOIN generate_series(0, 2) AS lane
) next;

-- Whether anything is due on some routes; of those that are covered by a fallback, what was never in doubt.
-- name: something_due
SELECT EXISTS (
    SELECT
    FROM (
        SELECT route, 32767 AS most_doubts
        FROM json_array_elements_text((:routes::text)::json) AS open (route)
        UNION ALL
        SELECT route, 0
        FROM json_array_elements_text((:covered::text)::json) AS covered (route)
    ) AS asked
    CROSS JOIN generate_series(0, 2) AS lane
    CROSS JOIN LATERAL (
        SELECT
        FROM postroom.emails e
        WHERE {waiting} AND e.route = asked.route AND priority = lane AND due_at <= {now} AND doubts <= most_doubts
        ORDER BY due_at, id
        LIMIT 1
    ) AS due
);

-- The routes on which something waits, and nothing about how much.
-- name: waiting_routes
WITH RECURSIVE {asked_routes}
SELECT route
FROM asked;

-- How many emails wait on each route, from the index of what waits.
-- name: waiting_by_route
SELECT route, count(*)
FROM postroom.emails
WHERE {waiting}
GROUP BY route;

-- What the newest dead emails died of. Errors that begin alike are told apart no further here.
-- name: failures
SELECT dead_reason, reply_code, beginning, count(*) AS emails, max(id::text)
FROM (
    SELECT id, dead_reason, reply_code, workspace, substr(last_error, 1, 120) AS beginning
    FROM postroom.emails
    WHERE status = 'dead' AND status NOT IN ('sent', 'cancelled')
    ORDER BY id DESC
    LIMIT :limit::bigint
) AS newest
WHERE :workspaces::text IS NULL OR workspace = ANY (ARRAY (SELECT json_array_elements_text((:workspaces::text)::json)))
GROUP BY dead_reason, reply_code, beginning
ORDER BY emails DESC;

-- How long the oldest due email of some workspaces has waited, among those whose turn comes first in each lane of a route.
-- name: oldest_due_within
WITH RECURSIVE {asked_routes}
SELECT min(first.due_at)
FROM asked
CROSS JOIN generate_series(0, 2) AS lane
CROSS JOIN LATERAL (
    SELECT due_at, workspace
    FROM postroom.emails
    WHERE {waiting} AND route = asked.route AND priority = lane AND due_at <= {now}
    ORDER BY due_at, id
    LIMIT :limit::bigint
) AS first
WHERE first.workspace = ANY (ARRAY (SELECT json_array_elements_text((:workspaces::text)::json)));

-- Where these emails belong and stand.
-- name: placed
SELECT id::text, workspace, status
FROM postroom.emails
WHERE id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid));

-- The emails under a key in whichever workspace. Hops from workspace to workspace along the index of keys.
-- name: under_key_anywhere
WITH RECURSIVE workspaces (workspace) AS (
    SELECT min(workspace)
    FROM postroom.keys
    UNION ALL
    SELECT (SELECT min(k.workspace) FROM postroom.keys k WHERE k.workspace > w.workspace)
    FROM workspaces w
    WHERE w.workspace IS NOT NULL
)
SELECT k.workspace, k.email_id::text
FROM workspaces w
JOIN postroom.keys k ON k.workspace = w.workspace AND k.key = :key::text
ORDER BY k.email_id DESC;

-- Where a list that looks at so many emails would end.
-- Ordered by `e.id`: a bare `id` would be the text that is selected, and everything would be sorted to find it.
-- name: edge_newest
SELECT e.id::text
FROM postroom.emails e
WHERE id < :before::uuid
ORDER BY e.id DESC
LIMIT 1 OFFSET :offset::bigint;

-- The same within an unfinished status.
-- name: edge_by_status
SELECT e.id::text
FROM postroom.emails e
WHERE status = :driving::text AND status NOT IN ('sent', 'cancelled') AND id < :before::uuid
ORDER BY e.id DESC
LIMIT 1 OFFSET :offset::bigint;

-- The same among the cancelled.
-- name: edge_cancelled
SELECT e.id::text
FROM postroom.emails e
WHERE status = 'cancelled' AND id < :before::uuid
ORDER BY e.id DESC
LIMIT 1 OFFSET :offset::bigint;

-- The same among the sent.
-- name: edge_sent
SELECT e.id::text
FROM postroom.emails e
WHERE status = 'sent' AND id < :before::uuid
ORDER BY e.id DESC
LIMIT 1 OFFSET :offset::bigint;

-- The same among the emails with one exact term.
-- name: edge_by_term
SELECT t.email_id::text
FROM postroom.terms t
WHERE term = :driving::text AND email_id < :before::uuid
ORDER BY t.email_id DESC
LIMIT 1 OFFSET :offset::bigint;
