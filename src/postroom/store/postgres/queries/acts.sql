-- What people do to emails.

-- Lock emails for an act, in one order, so that acts wait for each other instead of deadlocking.
-- name: lock
SELECT e.id::text, e.status, e.attempts, e.outcomes, e.version, e.route, e.channel, e.sensitive, e.kind, e.erased_at
FROM postroom.emails e
WHERE e.id IN (SELECT json_array_elements_text((:ids::text)::json)::uuid)
ORDER BY e.id
FOR UPDATE;

-- Lock the next emails of a status, oldest first, whoever holds them.
-- name: lock_unfinished
SELECT e.id::text, e.status, e.attempts, e.outcomes, e.version, e.route, e.channel, e.sensitive, e.kind, e.erased_at
FROM postroom.emails e
WHERE e.status = :status::text AND e.status NOT IN ('sent', 'cancelled') AND e.id > :after::uuid
ORDER BY e.id
LIMIT :limit::bigint
FOR UPDATE;

-- Carry an act out on locked emails. A new token ends whatever lease there was. Whoever sends an email again by hand
-- wants it sent: an expiry that has passed is lifted.
-- name: change
UPDATE postroom.emails e
SET status = n.status,
    due_at = CASE WHEN n.due_now THEN {now} ELSE e.due_at END,
    attempts = n.attempts,
    last_error = n.last_error,
    dead_reason = NULL,
    outcomes = n.outcomes,
    version = n.version,
    takeovers = 0,
    expires_at = CASE WHEN n.due_now AND e.expires_at <= {now} THEN NULL ELSE e.expires_at END,
    lease_token = e.lease_token + 1,
    leased_until = NULL,
    worker = NULL,
    announced_at = NULL,
    finished_at = CASE WHEN n.status = 'cancelled' THEN {now} END
FROM json_to_recordset((:changes::text)::json) AS n (
    id uuid, status text, due_now boolean, attempts integer, last_error text, outcomes text, version smallint
)
WHERE e.id = n.id
RETURNING e.id::text;

-- Wake all workers when this transaction commits.
-- name: wake
SELECT pg_notify('postroom', '');

-- Wake those who serve these routes.
-- name: wake_routes
SELECT pg_notify('postroom', json_array_elements_text((:routes::text)::json));

-- Let emails that wait on one route leave by another: sensitive ones if so asked, the codes of sign-ins never.
-- name: move_route
WITH first AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND route = :route::text
        AND (NOT sensitive OR (:sensitive::boolean AND kind <> 'admin.tfa'))
    ORDER BY priority, due_at, id
    LIMIT :limit::bigint
    FOR UPDATE SKIP LOCKED
),
moved AS (
    UPDATE postroom.emails
    SET route = :onto::text
    WHERE id = ANY (ARRAY (SELECT id FROM first))
    RETURNING id, attempts, kind, workspace
),
{rerouted}
SELECT id::text
FROM moved;

-- Write down who did what.
-- name: record
INSERT INTO postroom.events (email_id, at, what, attempt, actor, detail)
SELECT n.email_id, {now}, n.what, n.attempt, n.actor, n.detail
FROM json_to_recordset((:events::text)::json) AS n (
    email_id uuid, what text, attempt integer, actor text, detail text
);

-- Remove emails altogether, also those that were dismissed before. Their keys stay; so do the events of dismissed ones,
-- until they are swept.
-- name: forget
WITH gone AS MATERIALIZED (
    SELECT json_array_elements_text((:ids::text)::json)::uuid AS id
),
-- By their places in the table: expecting many, the planner would rather read all terms than look each one up.
gone_terms AS (
    DELETE FROM postroom.terms
    WHERE ctid = ANY (ARRAY (
        SELECT found.place
        FROM (
            SELECT gone.id, wanted.term
            FROM gone
            JOIN postroom.contents c ON c.email_id = gone.id
            -- Damaged ones are left behind: no list finds an email by them that is not there.
            CROSS JOIN json_array_elements_text(
                CASE WHEN c.terms ~ '^\[("([^"\\]|\\.)*"(, ?|(?=\])))*\]$' THEN c.terms ELSE '[]' END::json
            ) AS wanted (term)
            UNION
            -- An email that was moved has the term of its route from there.
            SELECT e.id, 'route:' || e.route
            FROM postroom.emails e
            WHERE e.id = ANY (ARRAY (SELECT id FROM gone)) AND e.route <> 'default'
            UNION
            SELECT e.id, 'route:' || e.route
            FROM postroom.dismissed e
            WHERE e.id = ANY (ARRAY (SELECT id FROM gone)) AND e.route <> 'default'
        ) AS theirs
        CROSS JOIN LATERAL (
            SELECT t.ctid AS place
            FROM postroom.terms t
            WHERE t.term = theirs.term AND t.email_id = theirs.id
            LIMIT 1
        ) AS found
    ))
),
gone_contents AS (
    DELETE FROM postroom.contents
    WHERE email_id = ANY (ARRAY (SELECT id FROM gone))
),
gone_uses AS (
    DELETE FROM postroom.attachment_uses
    WHERE email_id = ANY (ARRAY (SELECT id FROM gone))
),
gone_events AS (
    DELETE FROM postroom.events
    WHERE :events::boolean AND email_id = ANY (ARRAY (SELECT id FROM gone))
),
gone_dismissed AS (
    DELETE FROM postroom.dismissed
    WHERE id = ANY (ARRAY (SELECT id FROM gone))
),
gone_fates AS (
    DELETE FROM postroom.fates
    WHERE :events::boolean AND email_id = ANY (ARRAY (SELECT id FROM gone))
)
DELETE FROM postroom.emails
WHERE id = ANY (ARRAY (SELECT id FROM gone))
RETURNING id::text;
