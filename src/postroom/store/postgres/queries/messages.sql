-- Emails that a broker's messages name, and news of the dead.

-- For the rest of this transaction, statements are not compiled first. Of a statement that shares seats out, PostgreSQL
-- expects millions of rows, and compiling it would take a hundred times as long as running it.
-- name: run_as_written
SELECT set_config('jit', 'off', true);

-- Lease due emails to a scheduler, which will name them in messages to a broker; each lane has a queue of its own.
-- Routes take turns: how many seats of a lane each of them gets is found by a look at who waits, then so many are taken.
-- name: reserve
WITH RECURSIVE {asked_routes},
lanes (priority, seats) AS (
    VALUES (0::smallint, :urgent::bigint), (1::smallint, :normal::bigint), (2::smallint, :bulk::bigint)
),
turns AS (
    SELECT
        asked.route, lanes.priority, lanes.seats, next.due_at, next.id,
        row_number() OVER (PARTITION BY lanes.priority, asked.route ORDER BY next.due_at, next.id) AS turn
    FROM asked
    CROSS JOIN lanes
    CROSS JOIN LATERAL (
        SELECT due_at, id
        FROM postroom.emails
        WHERE {waiting} AND route = asked.route AND priority = lanes.priority AND due_at <= {now}
        ORDER BY due_at, id
        LIMIT lanes.seats
    ) AS next
),
shares AS MATERIALIZED (
    SELECT route, priority, count(*) AS seats
    FROM (
        SELECT *, row_number() OVER (PARTITION BY priority ORDER BY turn, due_at, id) AS place
        FROM turns
    ) AS in_turn
    WHERE place <= seats
    GROUP BY route, priority
),
first AS MATERIALIZED (
    SELECT oldest.id
    FROM shares
    CROSS JOIN LATERAL (
        SELECT id
        FROM postroom.emails
        WHERE {waiting} AND route = shares.route AND priority = shares.priority AND due_at <= {now}
        ORDER BY due_at, id
        LIMIT shares.seats
        FOR UPDATE SKIP LOCKED
    ) AS oldest
),
reserved AS (
    UPDATE postroom.emails
    SET status = 'queued',
        lease_token = lease_token + 1,
        leased_until = {now} + make_interval(secs => :lease::float8),
        worker = :worker::text,
        last_queued_at = NULL
    WHERE id = ANY (ARRAY (SELECT id FROM first))
    RETURNING id, lease_token, priority, attempts, max_attempts, leased_until, due_at
)
SELECT id::text, lease_token, priority, attempts, max_attempts, leased_until
FROM reserved
ORDER BY priority, due_at, reserved.id;

-- The broker has confirmed the messages of these. Whoever has claimed one meanwhile has noted that too.
-- name: confirm_queued
WITH {still_ours}
UPDATE postroom.emails
SET last_queued_at = {now}
WHERE id = ANY (ARRAY (SELECT id FROM ours WHERE status = 'queued'))
RETURNING id::text;

-- Take the emails that messages name, if they are still queued for that very attempt. Locked in one order, and waited
-- for: a row that was skipped would look like a message that came too late.
-- name: claim_queued
WITH wanted AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:messages::text)::json) AS m (id uuid, attempt integer)
),
named AS MATERIALIZED (
    SELECT e.id
    FROM postroom.emails e
    JOIN wanted m ON m.id = e.id
    WHERE e.id = ANY (ARRAY (SELECT id FROM wanted)) AND e.attempts = m.attempt - 1
        AND (e.status = 'queued') IS TRUE
    ORDER BY e.id
    FOR UPDATE OF e
),
claimed AS (
    UPDATE postroom.emails
    SET status = 'sending',
        lease_token = lease_token + 1,
        leased_until = {now} + make_interval(secs => :lease::float8),
        worker = :worker::text,
        dot_noted_at = NULL,
        last_attempt_at = {now},
        last_queued_at = coalesce(last_queued_at, {now})
    WHERE id = ANY (ARRAY (SELECT id FROM named))
    RETURNING {claimed_state}
)
SELECT {claimed_columns}, NULL
FROM claimed e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version;

-- Become the owner of the email that a message names, if it is still queued for that very attempt, and read nothing of
-- it: a claim with contents is not committed before its rows have been read, and reading them may be what kills.
-- name: own_queued
UPDATE postroom.emails
SET status = 'sending',
    lease_token = lease_token + 1,
    leased_until = {now} + make_interval(secs => :lease::float8),
    worker = :worker::text,
    dot_noted_at = NULL,
    last_attempt_at = {now},
    last_queued_at = coalesce(last_queued_at, {now})
WHERE id = :id::uuid AND attempts = :attempt::integer - 1 AND (status = 'queued') IS TRUE
RETURNING id::text, lease_token;

-- What an owner sends.
-- name: read_owned
SELECT {claimed_columns}, NULL
FROM postroom.emails e
JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = :id::uuid AND e.lease_token = :token::bigint AND (e.status = 'sending') IS TRUE;

-- Make emails due again whose messages somebody holds and cannot serve.
-- name: unqueue
UPDATE postroom.emails e
SET status = CASE WHEN e.doubts > 0 THEN 'in_doubt' WHEN e.attempts = 0 THEN 'pending' ELSE 'retrying' END,
    leased_until = NULL,
    worker = NULL
FROM json_to_recordset((:messages::text)::json) AS m (id uuid, attempt integer)
WHERE e.id = m.id AND e.status = 'queued' AND e.attempts = m.attempt - 1
RETURNING e.id::text, e.route;

-- Make emails due again whose message was not heard of before the lease ran out.
-- name: requeue
WITH lost AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE status = 'queued' AND leased_until < {now}
    ORDER BY id
    LIMIT :limit::bigint
    FOR UPDATE SKIP LOCKED
)
UPDATE postroom.emails e
SET status = CASE WHEN e.doubts > 0 THEN 'in_doubt' WHEN e.attempts = 0 THEN 'pending' ELSE 'retrying' END,
    leased_until = NULL,
    worker = NULL
WHERE id = ANY (ARRAY (SELECT id FROM lost))
RETURNING e.id::text, e.attempts, e.route;

-- Reserved, and found to have used up their attempts: what was said last stays.
-- name: give_up
WITH dead AS (
    UPDATE postroom.emails e
    SET status = 'dead',
        dead_reason = 'max_attempts',
        due_at = NULL,
        finished_at = {now},
        leased_until = NULL,
        worker = NULL
    FROM json_to_recordset((:claims::text)::json) AS mine (id uuid, token bigint)
    WHERE e.id = mine.id AND e.lease_token = mine.token AND e.status = 'queued'
    RETURNING e.id, e.attempts, e.kind, e.workspace
),
new_events AS (
    INSERT INTO postroom.events (email_id, at, what, attempt, detail)
    SELECT id, {now}, 'failed', attempts, '{"outcome":"dead","dead_reason":"max_attempts"}'
    FROM dead
    ORDER BY id
),
new_changes AS (
    INSERT INTO postroom.changes (at, changes)
    SELECT {now}, json_agg(json_build_array(id, 'dead', attempts, kind, workspace))::text
    FROM dead
    HAVING count(*) > 0
),
new_tallies AS (
    INSERT INTO postroom.tallies (minute, name, change)
    SELECT date_trunc('minute', {now}), 'died', count(*)
    FROM dead
    HAVING count(*) > 0
)
SELECT id::text
FROM dead;

-- The dead that nobody was told of.
-- name: unannounced
SELECT e.id::text, e.lease_token, e.dead_reason, e.attempts, e.last_error, e.finished_at
FROM postroom.emails e
WHERE status = 'dead' AND announced_at IS NULL
ORDER BY e.id
LIMIT :limit::bigint;

-- They were told of.
-- name: announced
UPDATE postroom.emails e
SET announced_at = {now}
FROM json_to_recordset((:claims::text)::json) AS mine (id uuid, token bigint)
WHERE e.id = mine.id AND e.lease_token = mine.token AND e.status = 'dead'
RETURNING e.id::text;

-- Whether a broker has anything to carry, or may have.
-- name: awaiting_dispatch
WITH RECURSIVE {asked_routes}
SELECT
    EXISTS (
        SELECT
        FROM asked
        CROSS JOIN generate_series(0, 2) AS lane
        CROSS JOIN LATERAL (
            SELECT
            FROM postroom.emails
            WHERE {waiting} AND route = asked.route AND priority = lane AND due_at <= {now}
            LIMIT 1
        ) AS due
    ),
    EXISTS (
        SELECT
        FROM postroom.emails
        WHERE status = 'queued'
            AND (:routes::text IS NULL OR route = ANY (ARRAY (SELECT json_array_elements_text((:routes::text)::json))))
    );
