-- Whose turn it is, and what came of it: claims, leases, settles.

-- The emails of a route whose turn it is, each lane up to its share; what a lane leaves unused goes to the next one.
-- `…_open` is 0 for a lane of which nothing is wanted, whatever the others leave, else 1. None of them has been in doubt
-- more than `:doubts` times.
-- fragment: whose_turn
urgent AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND route = :route::text AND priority = 0 AND due_at <= {now} AND doubts <= :doubts::smallint
    ORDER BY due_at, id
    LIMIT :urgent_open::bigint * :urgent::bigint
    FOR UPDATE SKIP LOCKED
),
normal AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND route = :route::text AND priority = 1 AND due_at <= {now} AND doubts <= :doubts::smallint
    ORDER BY due_at, id
    LIMIT :normal_open::bigint * (:urgent::bigint + :normal::bigint - (SELECT count(*) FROM urgent))
    FOR UPDATE SKIP LOCKED
),
bulk AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND route = :route::text AND priority = 2 AND due_at <= {now} AND doubts <= :doubts::smallint
    ORDER BY due_at, id
    LIMIT :bulk_open::bigint * (
        :urgent::bigint + :normal::bigint + :bulk::bigint
        - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM normal)
    )
    FOR UPDATE SKIP LOCKED
)

-- `= ANY (ARRAY …)` keeps the planner on the primary key however many rows it expects.
-- fragment: taken
status = 'sending',
        lease_token = lease_token + 1,
        leased_until = {now} + make_interval(secs => :lease::float8),
        worker = :worker::text,
        dot_noted_at = NULL,
        last_attempt_at = {now}
    WHERE id = ANY (ARRAY (
        SELECT id FROM urgent UNION ALL SELECT id FROM normal UNION ALL SELECT id FROM bulk
    ))
    RETURNING {claimed_state}

-- Take the emails of a route whose turn it is.
-- LEFT JOIN: an email whose content is gone is its claimer's to settle, not nobody's.
-- name: claim
WITH {whose_turn},
claimed AS (
    UPDATE postroom.emails
    SET {taken}
)
SELECT {claimed_columns}, NULL
FROM claimed e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version;

-- The same for another route, by which they leave from now on.
-- name: claim_onto
WITH {whose_turn},
moved AS (
    UPDATE postroom.emails
    SET route = :onto::text,
        {taken}
),
{rerouted}
SELECT {claimed_columns}, NULL
FROM moved e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version;

-- Take over emails whose owner let the lease run out, or is known to be dead. They come with a new token; the caller
-- must settle them.
-- name: take_over
WITH expired AS MATERIALIZED (
    SELECT id, worker
    FROM postroom.emails
    WHERE status = 'sending' AND (leased_until < least({now}, (:believed::text)::timestamptz) OR worker = :dead::text)
    ORDER BY id
    LIMIT :limit::bigint
    FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE postroom.emails
    SET lease_token = lease_token + 1,
        leased_until = {now} + make_interval(secs => :lease::float8),
        worker = :worker::text
    WHERE id = ANY (ARRAY (SELECT id FROM expired))
    RETURNING {claimed_state}
)
SELECT {claimed_columns}, expired.worker
FROM claimed e
JOIN expired ON expired.id = e.id
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
ORDER BY e.id;

-- Lengthen the leases that are still ours.
-- name: renew
WITH {still_ours}
UPDATE postroom.emails
SET leased_until = {now} + make_interval(secs => :lease::float8)
WHERE id = ANY (ARRAY (SELECT id FROM ours WHERE status = 'sending'))
RETURNING id::text, leased_until;

-- Note that the final dot of these emails may be about to leave.
-- name: note_dots
UPDATE postroom.emails e
SET dot_noted_at = {now}
FROM json_to_recordset((:claims::text)::json) AS mine (id uuid, token bigint)
WHERE e.id = mine.id AND e.lease_token = mine.token AND e.status = 'sending'
RETURNING e.id::text;

-- Give back emails that were claimed and not tried; they are due as before.
-- name: release
WITH {still_ours}
UPDATE postroom.emails
SET status = CASE WHEN doubts > 0 THEN 'in_doubt' WHEN attempts = 0 THEN 'pending' ELSE 'retrying' END,
    leased_until = NULL,
    worker = NULL,
    dot_noted_at = NULL
WHERE id = ANY (ARRAY (SELECT id FROM ours))
RETURNING id::text;

-- Put emails back that were claimed and not tried; they are due then, and their history says why.
-- name: defer
WITH {still_ours},
deferred AS (
    UPDATE postroom.emails
    SET status = CASE WHEN doubts > 0 THEN 'in_doubt' WHEN attempts = 0 THEN 'pending' ELSE 'retrying' END,
        due_at = (:until::text)::timestamptz,
        leased_until = NULL,
        worker = NULL,
        dot_noted_at = NULL
    WHERE id = ANY (ARRAY (SELECT id FROM ours))
    RETURNING id, attempts, kind, workspace
),
new_events AS (
    INSERT INTO postroom.events (email_id, at, what, attempt, detail)
    SELECT id, {now}, 'deferred', attempts, :detail::text
    FROM deferred
    ORDER BY id
),
new_changes AS (
    INSERT INTO postroom.changes (at, changes)
    SELECT {now}, json_agg(json_build_array(id, 'deferred', attempts, kind, workspace))::text
    FROM deferred
    HAVING count(*) > 0
)
SELECT id::text
FROM deferred;

-- An email as its outcome has it.
-- fragment: as_it_came_out
status = o.status,
    due_at = o.due_at,
    attempts = o.attempts,
    dead_reason = o.dead_reason,
    last_error = o.last_error,
    reply_code = o.reply_code,
    reply = o.reply,
    outcomes = o.outcomes,
    doubts = o.doubts,
    takeovers = o.takeovers,
    sent_at = CASE WHEN o.status = 'sent' THEN {now} END,
    finished_at = CASE WHEN o.status IN ('sent', 'dead') THEN {now} END,
    leased_until = NULL,
    worker = NULL,
    dot_noted_at = NULL

-- What the history, the stream and the counts say of what was settled.
-- fragment: told
new_events AS (
    INSERT INTO postroom.events (email_id, at, what, attempt, detail)
    SELECT id, {now}, event, attempts, detail
    FROM settled
    WHERE event IS NOT NULL
    ORDER BY id
),
new_changes AS (
    INSERT INTO postroom.changes (at, changes)
    SELECT {now}, json_agg(json_build_array(id, status, attempts, kind, workspace))::text
    FROM settled
    HAVING count(*) > 0
),
new_tallies AS (
    INSERT INTO postroom.tallies (minute, name, change)
    SELECT date_trunc('minute', {now}),
        CASE status WHEN 'sent' THEN 'sent' WHEN 'dead' THEN 'died' WHEN 'in_doubt' THEN 'doubted' ELSE 'retried' END,
        count(*)
    FROM settled
    GROUP BY status
)
SELECT coalesce(json_agg(id), '[]')::text
FROM settled

-- Record what came of attempts. The fence: only the holder of the newest claim settles. One truth may come late: an
-- email was taken over and put in doubt, nobody has claimed it since, and its old owner knows that it was sent.
-- name: settle
WITH outcome AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:outcomes::text)::json) AS o (
        id uuid, token bigint, status text, due_at timestamptz, attempts integer, dead_reason text, last_error text,
        reply_code smallint, reply text, outcomes text, doubts smallint, takeovers smallint, event text, detail text
    )
),
settled AS (
    UPDATE postroom.emails e
    SET {as_it_came_out}
    FROM outcome o
    WHERE e.id = o.id AND e.id = ANY (ARRAY (SELECT id FROM outcome))
        AND (
            (e.status = 'sending' AND e.lease_token = o.token)
            OR (e.status = 'in_doubt' AND e.lease_token = o.token + 1 AND o.status = 'sent')
        ) IS TRUE
    RETURNING e.id, e.status, e.attempts, e.kind, e.workspace, o.event, o.detail
),
{told};

-- Record again what was accepted and then forgotten: no claim and no act has gone past the token under which it was
-- sent. The owner of that very claim settles it by itself. One that another has claimed anew may have left twice.
-- name: recall
WITH known AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:accepted::text)::json) AS k (
        id uuid, token bigint, worker text, version smallint, attempts integer, last_error text, reply_code smallint,
        reply text, outcomes text, detail text, second_copy text
    )
),
outcome AS MATERIALIZED (
    SELECT
        e.id, 'sent' AS status, NULL::timestamptz AS due_at, k.attempts, NULL::text AS dead_reason, k.last_error,
        k.reply_code, k.reply, k.outcomes, e.doubts + CASE e.status WHEN 'sending' THEN 1 ELSE 0 END AS doubts,
        e.takeovers, 'sent' AS event, CASE e.status WHEN 'sending' THEN k.second_copy ELSE k.detail END AS detail
    FROM postroom.emails e
    JOIN known k ON k.id = e.id
    WHERE e.id = ANY (ARRAY (SELECT id FROM known)) AND e.version = k.version
        AND (
            (e.status IN ('pending', 'queued', 'retrying', 'in_doubt') AND e.lease_token <= k.token)
            OR (e.status = 'in_doubt' AND e.lease_token = k.token + 1)
            OR (e.status = 'sending' AND e.lease_token < k.token)
            OR (e.status = 'sending' AND e.lease_token = k.token AND e.worker IS DISTINCT FROM k.worker)
        ) IS TRUE
    ORDER BY e.id
    FOR UPDATE OF e
),
settled AS (
    UPDATE postroom.emails e
    SET {as_it_came_out}
    FROM outcome o
    WHERE e.id = o.id
    RETURNING e.id, e.status, e.attempts, e.kind, e.workspace, o.event, o.detail
),
{told};
