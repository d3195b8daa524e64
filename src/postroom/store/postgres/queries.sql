-- Every question Postroom asks PostgreSQL. The same names stand in ../sqlite/queries.sql.
-- `:now` is null in production: the database's clock decides. Tests pass a time of their own.
-- Lists travel as one JSON text, because every driver can send a text.
-- The fields of an email are declared in ../fields.py: `{given}` and `{content}` are what an enqueue stores as it is.

-- fragment: now
coalesce((:now::text)::timestamptz, statement_timestamp())

-- fragment: stored
{stored_fields}

-- fragment: residual
(:status::text IS NULL OR e.status = :status::text)
    AND (:kind::text IS NULL OR e.kind = :kind::text)
    AND (:workspace::text IS NULL OR e.workspace = :workspace::text)
    AND (
        :workspaces::text IS NULL
        OR e.workspace = ANY (ARRAY (SELECT json_array_elements_text((:workspaces::text)::json)))
    )
    AND (:since::timestamptz IS NULL OR e.created_at >= :since::timestamptz)
    AND (:until::timestamptz IS NULL OR e.created_at < :until::timestamptz)
    AND (:reply_code::int IS NULL OR e.reply_code = :reply_code::int)
    AND (:subject::text IS NULL OR strpos(lower(c.subject), :subject::text) > 0)
    AND NOT EXISTS (
        SELECT
        FROM json_array_elements_text((:terms::text)::json) AS wanted (term)
        WHERE NOT EXISTS (SELECT FROM postroom.terms t WHERE t.term = wanted.term AND t.email_id = e.id)
    )

-- fragment: waiting
status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL

-- Of an email of more than `:whole` octets the content stays where it is, and its size says so.
-- fragment: claimed_columns
{claimed_fields}, CASE WHEN c.size <= :whole::bigint THEN c.text END, CASE WHEN c.size <= :whole::bigint THEN c.html END,
{now}, CASE WHEN c.size > :whole::bigint THEN c.size ELSE 0 END

-- Take emails in, all in one statement: one round trip inside the caller's transaction.
-- A key that is there already, also one that another transaction is about to commit, leaves its email out.
-- name: enqueue
WITH incoming AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:emails::text)::json) AS email (
        id uuid, status text, due_at timestamptz, lease_seconds float8, worker text, key text, fingerprint text,
        {given_record}, {content_record}, terms json, attachments json
    )
),
-- In key order, so that two batches with the same keys wait for each other instead of deadlocking; of two emails with
-- one key in a batch, the first one enters.
fresh_keys AS (
    INSERT INTO postroom.keys (workspace, key, email_id, fingerprint, created_at)
    SELECT workspace, key, id, fingerprint, {now}
    FROM incoming
    WHERE key IS NOT NULL
    ORDER BY workspace, key, id
    ON CONFLICT DO NOTHING
    RETURNING email_id
),
accepted AS MATERIALIZED (
    SELECT *
    FROM incoming
    WHERE key IS NULL OR id IN (SELECT email_id FROM fresh_keys)
),
new_contents AS (
    INSERT INTO postroom.contents (email_id, {content}, terms)
    SELECT id, {content}, terms::text
    FROM accepted
),
new_terms AS (
    INSERT INTO postroom.terms (term, email_id)
    SELECT term, id
    FROM accepted, json_array_elements_text(terms) AS term
),
new_uses AS (
    INSERT INTO postroom.attachment_uses (digest, email_id)
    SELECT digest, id
    FROM accepted, json_array_elements_text(attachments) AS digest
),
new_tally AS (
    INSERT INTO postroom.tallies (minute, name, change)
    SELECT date_trunc('minute', {now}), 'enqueued', count(*)
    FROM accepted
    HAVING count(*) > 0
),
new_emails AS (
    INSERT INTO postroom.emails (
        id, status, due_at, created_at, lease_token, leased_until, worker, key, {given}
    )
    SELECT
        id, status, coalesce(due_at, {now}), {now},
        CASE WHEN lease_seconds IS NULL THEN 0 ELSE 1 END, {now} + make_interval(secs => lease_seconds), worker,
        key, {given}
    FROM accepted
    RETURNING id
),
-- One wake-up per commit: PostgreSQL drops repeats within a transaction.
wake AS (
    SELECT pg_notify('postroom', '')
    WHERE EXISTS (SELECT FROM accepted WHERE status = 'pending' AND due_at IS NULL)
)
SELECT id::text, (SELECT count(*) FROM wake)
FROM new_emails;

-- Take one email in that has no key and carries nothing: the same as `enqueue`, without the detours.
-- name: enqueue_one
WITH new_contents AS (
    INSERT INTO postroom.contents (email_id, {content}, terms)
    VALUES (:id::uuid, {content_parameters}, :terms::text)
),
new_terms AS (
    INSERT INTO postroom.terms (term, email_id)
    SELECT term, :id::uuid
    FROM json_array_elements_text((:terms::text)::json) AS term
),
-- It wakes whoever waits here, so that the statement as a whole has no rows to give, and nobody to read them.
new_tally AS (
    INSERT INTO postroom.tallies (minute, name, change)
    VALUES (date_trunc('minute', {now}), 'enqueued', 1)
    RETURNING CASE WHEN :due_at::text IS NULL THEN pg_notify('postroom', '') END
)
INSERT INTO postroom.emails (id, status, due_at, created_at, {given})
VALUES (:id::uuid, 'pending', coalesce((:due_at::text)::timestamptz, {now}), {now}, {given_parameters});

-- The tally and the wake-up of emails that arrived by COPY.
-- name: copied
WITH new_tally AS (
    INSERT INTO postroom.tallies (minute, name, change)
    VALUES (date_trunc('minute', {now}), 'enqueued', :count::bigint)
)
SELECT pg_notify('postroom', '');

-- The clock that due times are compared with.
-- name: clock
SELECT {now};

-- Who came first under these keys.
-- name: first_under_key
SELECT k.workspace, k.key, k.email_id::text, k.fingerprint
FROM json_to_recordset((:keys::text)::json) AS wanted (workspace text, key text)
JOIN postroom.keys k ON k.workspace = wanted.workspace AND k.key = wanted.key;

-- Store an attachment unless it is there.
-- name: store_attachment
INSERT INTO postroom.attachments (digest, content, size)
VALUES (:digest::text, :content::bytea, :size::integer)
ON CONFLICT DO NOTHING;

-- Keep attachments from being swept away until the caller's transaction ends. Shared: callers do not wait for callers.
-- name: hold_attachments
SELECT digest
FROM postroom.attachments
WHERE digest IN (SELECT json_array_elements_text((:digests::text)::json))
ORDER BY digest
FOR KEY SHARE;

-- The attachments of these digests.
-- name: attachments
SELECT digest, content
FROM postroom.attachments
WHERE digest IN (SELECT json_array_elements_text((:digests::text)::json));

-- What a large email says, in pieces of a megabyte, so that no row is large: a connection keeps the memory of its
-- largest row for as long as it lives. Not in order: sorting would write all of it to a file.
-- name: bodies
WITH bodies AS MATERIALIZED (
    SELECT body, octets
    FROM postroom.contents c
    CROSS JOIN LATERAL (
        VALUES ('text', convert_to(c.text, 'UTF8')), ('html', convert_to(c.html, 'UTF8'))
    ) AS each (body, octets)
    WHERE c.email_id = :id::uuid AND c.version = :version::smallint
)
SELECT body, start, substr(octets, start, 1048576)
FROM bodies
CROSS JOIN LATERAL generate_series(1, greatest(length(octets), 1), 1048576) AS start;

-- The attachments of these digests in the same way.
-- name: attachment_pieces
SELECT digest, start, substr(content, start, 1048576)
FROM postroom.attachments
CROSS JOIN LATERAL generate_series(1, greatest(size, 1), 1048576) AS start
WHERE digest IN (SELECT json_array_elements_text((:digests::text)::json));

-- Take the emails whose turn it is, each lane up to its share; what a lane leaves unused goes to the next one.
-- LEFT JOIN: an email whose content is gone is its claimer's to settle, not nobody's.
-- `= ANY (ARRAY …)` keeps the planner on the primary key however many rows it expects.
-- `…_open` is 0 for a lane of which nothing is wanted, whatever the others leave, else 1.
-- name: claim
WITH urgent AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND priority = 0 AND due_at <= {now}
    ORDER BY due_at, id
    LIMIT :urgent_open::bigint * :urgent::bigint
    FOR UPDATE SKIP LOCKED
),
normal AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND priority = 1 AND due_at <= {now}
    ORDER BY due_at, id
    LIMIT :normal_open::bigint * (:urgent::bigint + :normal::bigint - (SELECT count(*) FROM urgent))
    FOR UPDATE SKIP LOCKED
),
bulk AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND priority = 2 AND due_at <= {now}
    ORDER BY due_at, id
    LIMIT :bulk_open::bigint * (
        :urgent::bigint + :normal::bigint + :bulk::bigint
        - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM normal)
    )
    FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE postroom.emails
    SET status = 'sending',
        lease_token = lease_token + 1,
        leased_until = {now} + make_interval(secs => :lease::float8),
        worker = :worker::text,
        dot_noted_at = NULL,
        last_attempt_at = {now}
    WHERE id = ANY (ARRAY (
        SELECT id FROM urgent UNION ALL SELECT id FROM normal UNION ALL SELECT id FROM bulk
    ))
    RETURNING *
)
SELECT {claimed_columns}, NULL
FROM claimed e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
ORDER BY e.priority, e.due_at, e.id;

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
    RETURNING *
)
SELECT {claimed_columns}, expired.worker
FROM claimed e
JOIN expired ON expired.id = e.id
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
ORDER BY e.id;

-- Claims that are still ours, locked in one order: a settle of the same emails goes by it too, so neither waits for the
-- other for ever. `IS TRUE` keeps the planner on the primary key, whatever it believes of statuses.
-- fragment: still_ours
mine AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:claims::text)::json) AS m (id uuid, token bigint)
),
ours AS MATERIALIZED (
    SELECT e.id, e.status
    FROM postroom.emails e
    JOIN mine ON mine.id = e.id
    WHERE e.id = ANY (ARRAY (SELECT id FROM mine)) AND e.lease_token = mine.token
        AND (e.status IN ('queued', 'sending')) IS TRUE
    ORDER BY e.id
    FOR UPDATE OF e
)

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

-- Lease due emails to a scheduler, which will name them in messages to a broker; each lane has a queue of its own.
-- name: reserve
WITH urgent AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND priority = 0 AND due_at <= {now}
    ORDER BY due_at, id
    LIMIT :urgent::bigint
    FOR UPDATE SKIP LOCKED
),
normal AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND priority = 1 AND due_at <= {now}
    ORDER BY due_at, id
    LIMIT :normal::bigint
    FOR UPDATE SKIP LOCKED
),
bulk AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE {waiting} AND priority = 2 AND due_at <= {now}
    ORDER BY due_at, id
    LIMIT :bulk::bigint
    FOR UPDATE SKIP LOCKED
),
reserved AS (
    UPDATE postroom.emails
    SET status = 'queued',
        lease_token = lease_token + 1,
        leased_until = {now} + make_interval(secs => :lease::float8),
        worker = :worker::text,
        last_queued_at = NULL
    WHERE id = ANY (ARRAY (
        SELECT id FROM urgent UNION ALL SELECT id FROM normal UNION ALL SELECT id FROM bulk
    ))
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
    RETURNING *
)
SELECT {claimed_columns}, NULL
FROM claimed e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
ORDER BY e.priority, e.due_at, e.id;

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
RETURNING e.id::text;

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
RETURNING e.id::text, e.attempts;

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
    RETURNING e.id, e.attempts
),
new_events AS (
    INSERT INTO postroom.events (email_id, at, what, attempt, detail)
    SELECT id, {now}, 'failed', attempts, '{"outcome":"dead","dead_reason":"max_attempts"}'
    FROM dead
    ORDER BY id
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
SELECT
    EXISTS (
        SELECT
        FROM postroom.emails
        WHERE {waiting} AND due_at <= {now}
    ),
    EXISTS (SELECT FROM postroom.emails WHERE status = 'queued');

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

-- What the history and the counts say of what was settled.
-- fragment: told
new_events AS (
    INSERT INTO postroom.events (email_id, at, what, attempt, detail)
    SELECT id, {now}, event, attempts, detail
    FROM settled
    WHERE event IS NOT NULL
    ORDER BY id
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
    RETURNING e.id, e.status, e.attempts, o.event, o.detail
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
    RETURNING e.id, e.status, e.attempts, o.event, o.detail
),
{told};

-- Lock emails for an act, in one order, so that acts wait for each other instead of deadlocking.
-- name: lock
SELECT e.id::text, e.status, e.attempts, e.max_attempts, e.outcomes, e.version, e.doubts, e.due_at
FROM postroom.emails e
WHERE e.id IN (SELECT json_array_elements_text((:ids::text)::json)::uuid)
ORDER BY e.id
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

-- Wake the workers when this transaction commits.
-- name: wake
SELECT pg_notify('postroom', '');

-- Write down who did what.
-- name: record
INSERT INTO postroom.events (email_id, at, what, attempt, actor, detail)
SELECT n.email_id, {now}, n.what, n.attempt, n.actor, n.detail
FROM json_to_recordset((:events::text)::json) AS n (
    email_id uuid, what text, attempt integer, actor text, detail text
);

-- Append changes to be summed.
-- name: tally
INSERT INTO postroom.tallies (minute, name, change)
SELECT date_trunc('minute', {now}), n.name, n.change
FROM json_to_recordset((:changes::text)::json) AS n (name text, change bigint);

-- Add a corrected version of an email's content.
-- name: add_version
WITH incoming AS MATERIALIZED (
    SELECT *
    FROM json_to_record((:content::text)::json) AS n (
        email_id uuid, version smallint, {content_record}, terms json
    )
),
new_terms AS (
    INSERT INTO postroom.terms (term, email_id)
    SELECT term, email_id
    FROM incoming, json_array_elements_text(terms) AS term
    ON CONFLICT DO NOTHING
)
INSERT INTO postroom.contents (email_id, version, {content}, terms)
SELECT email_id, version, {content}, terms::text
FROM incoming;

-- Remove emails altogether. Their keys stay; so do the events of dismissed ones, until they are swept.
-- name: forget
WITH gone AS MATERIALIZED (
    SELECT json_array_elements_text((:ids::text)::json)::uuid AS id
),
-- By their places in the table: expecting many, the planner would rather read all terms than look each one up.
gone_terms AS (
    DELETE FROM postroom.terms
    WHERE ctid = ANY (ARRAY (
        SELECT found.place
        FROM gone
        JOIN postroom.contents c ON c.email_id = gone.id
        -- Damaged ones are left behind: no list finds an email by them that is not there.
        CROSS JOIN json_array_elements_text(
            CASE WHEN c.terms ~ '^\[("([^"\\]|\\.)*"(, ?|(?=\])))*\]$' THEN c.terms ELSE '[]' END::json
        ) AS wanted (term)
        CROSS JOIN LATERAL (
            SELECT t.ctid AS place
            FROM postroom.terms t
            WHERE t.term = wanted.term AND t.email_id = gone.id
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
)
DELETE FROM postroom.emails
WHERE id = ANY (ARRAY (SELECT id FROM gone))
RETURNING id::text;

-- One email.
-- name: get
SELECT {stored}
FROM postroom.emails e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = :id::uuid;

-- The content of one version of an email.
-- name: content
SELECT c.subject, c.message_id, c.envelope, c.text, c.html, c.terms
FROM postroom.contents c
WHERE c.email_id = :id::uuid AND c.version = :version::smallint;

-- The story of these emails, oldest first.
-- name: history
SELECT email_id::text, at, what, attempt, actor, detail
FROM postroom.events
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY id;

-- The LIMIT keeps the planner from merging the two tables, which would read all content newer than the page.
-- fragment: with_content
LEFT JOIN LATERAL (
    SELECT *
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

-- Newest first among the emails with one exact term.
-- name: list_by_term
SELECT {stored}
FROM postroom.terms driving
JOIN postroom.emails e ON e.id = driving.email_id
{with_content}
WHERE driving.term = :driving::text
    AND driving.email_id < :before::uuid AND driving.email_id >= :after::uuid
    AND {residual}
ORDER BY driving.email_id DESC
LIMIT :limit::bigint;

-- How many emails wait, by status, from the index of the unfinished, however many have finished; and what has been
-- counted along the way. One statement, because two would see two moments and miss what moved between them.
-- name: count_unfinished
SELECT 'row', status, count(*)
FROM postroom.emails
WHERE status NOT IN ('sent', 'cancelled')
GROUP BY status
UNION ALL
SELECT 'tally', name, sum(change)::bigint
FROM postroom.tallies
GROUP BY name;

-- Every row counted, finished ones too: for the check of the sum, not for a dashboard.
-- name: count_all
SELECT 'row', status, count(*)
FROM postroom.emails
GROUP BY status
UNION ALL
SELECT 'tally', name, sum(change)::bigint
FROM postroom.tallies
GROUP BY name;

-- How long the oldest due email has waited.
-- name: oldest_due
SELECT min(due_at)
FROM (
    SELECT (
        SELECT due_at
        FROM postroom.emails
        WHERE {waiting} AND priority = lane AND due_at <= {now}
        ORDER BY due_at, id
        LIMIT 1
    ) AS due_at
    FROM generate_series(0, 2) AS lane
) oldest;

-- How many emails are due, from the index of what waits.
-- name: due
SELECT count(*)
FROM postroom.emails
WHERE {waiting} AND due_at <= {now};

-- When the next email comes due, this side of the future or beyond.
-- name: next_due
SELECT min(due_at)
FROM (
    SELECT (
        SELECT due_at
        FROM postroom.emails
        WHERE {waiting} AND priority = lane
        ORDER BY due_at, id
        LIMIT 1
    ) AS due_at
    FROM generate_series(0, 2) AS lane
) next;

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

-- Attachments that no email seems to carry any more, locked. Those a running enqueue holds are skipped.
-- name: unused_attachments
SELECT a.digest
FROM postroom.attachments a
WHERE NOT EXISTS (SELECT FROM postroom.attachment_uses u WHERE u.digest = a.digest)
LIMIT :limit::bigint
FOR UPDATE SKIP LOCKED;

-- Looked at again under the lock: an enqueue may have committed between the first look and the lock.
-- name: sweep_attachments
DELETE FROM postroom.attachments a
WHERE a.digest IN (SELECT json_array_elements_text((:digests::text)::json))
    AND NOT EXISTS (SELECT FROM postroom.attachment_uses u WHERE u.digest = a.digest)
RETURNING a.digest;

-- Keys past their keep whose email is gone.
-- name: sweep_keys
DELETE FROM postroom.keys
WHERE (workspace, key) IN (
    SELECT k.workspace, k.key
    FROM postroom.keys k
    WHERE k.created_at < :before::timestamptz
        AND NOT EXISTS (SELECT FROM postroom.emails e WHERE e.id = k.email_id)
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
    ORDER BY v.id
    LIMIT :limit::bigint
)
RETURNING id;

-- Sum up tallies: minutes for two days, hours for forty, then days. Gains and losses stay apart for the charts.
-- name: compact_tallies
WITH gone AS (
    DELETE FROM postroom.tallies
    WHERE minute < date_trunc('minute', {now})
    RETURNING *
)
INSERT INTO postroom.tallies (minute, name, change)
SELECT
    CASE
        WHEN minute >= {now} - interval '2 days' THEN minute
        WHEN minute >= {now} - interval '40 days' THEN date_trunc('hour', minute)
        ELSE date_trunc('day', minute)
    END AS moment,
    name,
    sum(change)
FROM gone
GROUP BY moment, name, sign(change);

-- Only one compaction at a time: a second one would wait for rows that are about to vanish.
-- name: try_compaction
SELECT pg_try_advisory_xact_lock(hashtext('postroom.compaction'));

-- What happened per minute.
-- name: tallies_since
SELECT minute, name, sum(change)::bigint
FROM postroom.tallies
WHERE minute >= :since::timestamptz AND change > 0
GROUP BY minute, name
ORDER BY minute, name;

-- A sign of life.
-- name: heartbeat
INSERT INTO postroom.workers AS w (name, role, host, version, started_at, seen_at, in_flight, rate, broker)
VALUES (
    :name::text, :role::text, :host::text, :version::text, {now}, {now}, :in_flight::int, :rate::real, :broker::text
)
ON CONFLICT (name) DO UPDATE
SET seen_at = excluded.seen_at, in_flight = excluded.in_flight, rate = excluded.rate, broker = excluded.broker;

-- The last word of a worker that stops.
-- name: retire_worker
DELETE FROM postroom.workers
WHERE name = :name::text OR seen_at < {now} - interval '1 day';

-- Who works here.
-- name: workers
SELECT name, role, host, version, started_at, seen_at, in_flight, rate, broker
FROM postroom.workers
ORDER BY name;

-- The state of a transport, locked: breaker and rate are shared by all workers.
-- name: lock_transport
INSERT INTO postroom.transports (name, updated_at)
VALUES (:name::text, {now})
ON CONFLICT DO NOTHING;
SELECT state, reason, since, next_probe_at, step, failures, failed_at, arrival, {now}
FROM postroom.transports
WHERE name = :name::text
FOR UPDATE;

-- What was learnt of a transport.
-- name: change_transport
UPDATE postroom.transports
SET state = :state::text,
    reason = :reason::text,
    since = :since::timestamptz,
    next_probe_at = :next_probe_at::timestamptz,
    step = :step::int,
    failures = :failures::int,
    failed_at = :failed_at::timestamptz,
    updated_at = {now}
WHERE name = :name::text;

-- How far ahead the rate of a transport is reserved.
-- name: change_arrival
UPDATE postroom.transports
SET arrival = :arrival::bigint
WHERE name = :name::text;

-- How every transport is doing.
-- name: transports
SELECT name, state, reason, since, next_probe_at, step, failures, failed_at, {now}
FROM postroom.transports
ORDER BY name;

-- People.

-- fragment: person
p.id, p.name, p.role, p.workspaces

-- The key of keyed hashes: the one that is there, or this one from now on.
-- name: people_secret
INSERT INTO postroom.people_secrets (name, value)
VALUES (:name::text, :value::text)
ON CONFLICT DO NOTHING;
SELECT value
FROM postroom.people_secrets
WHERE name = :name::text;

-- A new person; no row when the name is taken.
-- name: add_person
INSERT INTO postroom.people (id, name, role, workspaces, password, created_at)
VALUES (:id::text, :name::text, :role::text, :workspaces::text, :password::text, {now})
ON CONFLICT DO NOTHING
RETURNING id;

-- The person of a name.
-- name: find_person
SELECT {person}, p.password, p.created_at
FROM postroom.people p
WHERE p.name = :name::text;

-- Everybody.
-- name: people
SELECT {person}, p.password, p.created_at
FROM postroom.people p
ORDER BY p.name;

-- A new password ends every sign-in and every code.
-- name: change_password
DELETE FROM postroom.sessions
WHERE person_id = :id::text;
DELETE FROM postroom.codes
WHERE person_id = :id::text;
UPDATE postroom.people
SET password = :password::text
WHERE id = :id::text
RETURNING id;

-- A person may do something else from now on. What was begun under the old role ends.
-- name: change_role
DELETE FROM postroom.sessions
WHERE person_id = :id::text;
DELETE FROM postroom.codes
WHERE person_id = :id::text;
UPDATE postroom.people
SET role = :role::text,
    workspaces = :workspaces::text
WHERE id = :id::text
RETURNING id;

-- A person goes, with sign-ins, codes and tokens.
-- name: remove_person
DELETE FROM postroom.people
WHERE id = :id::text
RETURNING id;

-- What is remembered of a name that was typed, locked: one step of one name at a time.
-- name: lock_door
DELETE FROM postroom.doors
WHERE updated_at < {now} - interval '4 days' AND name <> :name::text;
INSERT INTO postroom.doors (name, updated_at)
VALUES (:name::text, {now})
ON CONFLICT DO NOTHING;
SELECT failures, locks, failed_at, locked_until, {now}
FROM postroom.doors
WHERE name = :name::text
FOR UPDATE;

-- What is to be remembered of it.
-- name: change_door
UPDATE postroom.doors
SET failures = :failures::int,
    locks = :locks::int,
    failed_at = :failed_at::timestamptz,
    locked_until = :locked_until::timestamptz,
    updated_at = {now}
WHERE name = :name::text;

-- A sign-in begins, or begins anew once it is complete; those whose time is up go.
-- name: begin_session
DELETE FROM postroom.sessions
WHERE expires_at <= {now};
INSERT INTO postroom.sessions (digest, person_id, stage, created_at, expires_at)
VALUES (:digest::text, :person::text, :stage::text, {now}, {now} + make_interval(secs => :seconds::int));

-- The session of a token, if its time is not up.
-- name: find_session
SELECT {person}, s.stage, s.expires_at
FROM postroom.sessions s
JOIN postroom.people p ON p.id = s.person_id
WHERE s.digest = :digest::text AND s.expires_at > {now};

-- A sign-out. The codes of a sign-in go with it.
-- name: end_session
DELETE FROM postroom.codes
WHERE session = :digest::text AND ended_at IS NOT NULL AND made_at < {now} - interval '1 hour';
UPDATE postroom.codes
SET ended_at = coalesce(ended_at, {now})
WHERE session = :digest::text;
DELETE FROM postroom.sessions
WHERE digest = :digest::text
RETURNING digest;

-- Every sign-in of a person, or only those that were not completed.
-- name: end_sessions
DELETE FROM postroom.sessions
WHERE person_id = :person::text AND (:stage::text IS NULL OR stage = :stage::text)
RETURNING digest;

-- A new code, which ends those before it; one in the mail does not end one from the host.
-- The times of codes stay for an hour, to be counted.
-- name: put_code
DELETE FROM postroom.codes
WHERE person_id = :person::text AND made_at < {now} - interval '1 hour';
UPDATE postroom.codes
SET ended_at = coalesce(ended_at, {now})
WHERE person_id = :person::text AND (session IS NOT NULL OR :session::text IS NULL);
INSERT INTO postroom.codes (id, person_id, session, digest, made_at, expires_at)
VALUES (:id::text, :person::text, :session::text, :digest::text, {now}, {now} + make_interval(secs => :seconds::int));

-- When codes were mailed within the hour.
-- name: codes_sent
SELECT made_at
FROM postroom.codes
WHERE person_id = :person::text AND session IS NOT NULL AND made_at > {now} - interval '1 hour'
ORDER BY made_at;

-- Count a try at the codes that are good for this sign-in, before they are looked at; no row when there is none left.
-- name: try_code
UPDATE postroom.codes
SET tries = tries + 1
WHERE person_id = :person::text
    AND (session = :session::text OR session IS NULL)
    AND ended_at IS NULL
    AND expires_at > {now}
    AND tries < :tries::int
RETURNING id, session, digest, tries;

-- The code was used, or tried too often.
-- name: end_codes
UPDATE postroom.codes
SET ended_at = coalesce(ended_at, {now})
WHERE person_id = :person::text;

-- A new token.
-- name: add_token
INSERT INTO postroom.tokens (id, digest, person_id, label, scope, workspaces, created_at, expires_at)
VALUES (:id::text, :digest::text, :person::text, :label::text, :scope::text, :workspaces::text, {now}, :expires_at::timestamptz);

-- The token that was shown, if its time is not up.
-- name: find_token
SELECT t.id, t.label, t.scope, t.workspaces, t.created_at, t.expires_at, {person}
FROM postroom.tokens t
JOIN postroom.people p ON p.id = t.person_id
WHERE t.digest = :digest::text AND (t.expires_at IS NULL OR t.expires_at > {now});

-- The tokens of a person.
-- name: tokens
SELECT t.id, t.label, t.scope, t.workspaces, t.created_at, t.expires_at, {person}
FROM postroom.tokens t
JOIN postroom.people p ON p.id = t.person_id
WHERE t.person_id = :person::text
ORDER BY t.id;

-- A token is good no more.
-- name: revoke_token
DELETE FROM postroom.tokens
WHERE id = :id::text AND person_id = :person::text
RETURNING id;

-- Somebody did something.
-- name: write_audit
INSERT INTO postroom.audit (at, actor, what, address, detail)
VALUES ({now}, :actor::text, :what::text, :address::text, :detail::text);

-- The newest line of the audit log.
-- name: newest_audit
SELECT coalesce(max(id), 0)
FROM postroom.audit;

-- Who did what, newest first, between two lines.
-- name: read_audit
SELECT id, at, actor, what, address, detail
FROM postroom.audit
WHERE id < :before::bigint
    AND id > :after::bigint
    AND (:actor::text IS NULL OR actor = :actor::text)
    AND (:what::text IS NULL OR what = :what::text)
ORDER BY id DESC
LIMIT :limit::bigint;

-- The desk.

-- The versions of an email's content, in short.
-- name: versions
SELECT version, subject, envelope, size
FROM postroom.contents
WHERE email_id = :id::uuid
ORDER BY version;

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

-- How many of the newest emails in an unfinished status were looked at, and how many belong to some workspaces.
-- name: count_unfinished_within
SELECT count(*), count(*) FILTER (WHERE workspace = ANY (ARRAY (SELECT json_array_elements_text((:workspaces::text)::json))))
FROM (
    SELECT workspace
    FROM postroom.emails
    WHERE status = :status::text AND status NOT IN ('sent', 'cancelled')
    ORDER BY id DESC
    LIMIT :limit::bigint
) AS newest;

-- The same among the cancelled.
-- name: count_cancelled_within
SELECT count(*), count(*) FILTER (WHERE workspace = ANY (ARRAY (SELECT json_array_elements_text((:workspaces::text)::json))))
FROM (
    SELECT workspace
    FROM postroom.emails
    WHERE status = 'cancelled'
    ORDER BY id DESC
    LIMIT :limit::bigint
) AS newest;

-- How many of the newest emails of one workspace were looked at, and how many of them were sent.
-- name: count_sent_within
SELECT count(*), count(*) FILTER (WHERE e.status = 'sent')
FROM (
    SELECT email_id
    FROM postroom.terms
    WHERE term = :term::text
    ORDER BY email_id DESC
    LIMIT :limit::bigint
) AS newest
JOIN postroom.emails e ON e.id = newest.email_id;

-- The same for emails of no workspace, which is no term.
-- name: count_sent_without_workspace
SELECT count(*), count(*) FILTER (WHERE status = 'sent' AND workspace = '')
FROM (
    SELECT status, workspace
    FROM postroom.emails
    ORDER BY id DESC
    LIMIT :limit::bigint
) AS newest;

-- How long the oldest due email of some workspaces has waited, among those whose turn comes first in each lane.
-- name: oldest_due_within
SELECT min(first.due_at)
FROM generate_series(0, 2) AS lane
CROSS JOIN LATERAL (
    SELECT due_at, workspace
    FROM postroom.emails
    WHERE {waiting} AND priority = lane AND due_at <= {now}
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

-- What happened per hour: a day of minutes would be thousands of rows for one chart.
-- name: tallies_by_hour
SELECT date_trunc('hour', minute) AS hour, name, sum(change)::bigint
FROM postroom.tallies
WHERE minute >= :since::timestamptz AND change > 0
GROUP BY hour, name
ORDER BY hour, name;

-- What was applied of the schema.
-- name: applied_migrations
SELECT version, checksum
FROM postroom.migrations;

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

-- Metrics.

-- What has ever happened. Losses are left out, so that the sums only grow.
-- name: totals
SELECT name, sum(change)::bigint
FROM postroom.tallies
WHERE change > 0
GROUP BY name;
