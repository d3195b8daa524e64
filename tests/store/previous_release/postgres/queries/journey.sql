-- What workers asked before emails had routes. They run while the schema grows, and go on asking it.

-- name: enqueue_one
WITH new_contents AS (
    INSERT INTO postroom.contents (email_id, subject, message_id, envelope, text, html, size, terms)
    VALUES (:id::uuid, :subject::text, :message_id::text, :envelope::text, :text::text, :html::text, :size::integer, :terms::text)
),
new_terms AS (
    INSERT INTO postroom.terms (term, email_id)
    SELECT term, :id::uuid
    FROM json_array_elements_text((:terms::text)::json) AS term
),
new_tally AS (
    INSERT INTO postroom.tallies (minute, name, change)
    VALUES (date_trunc('minute', coalesce((:now::text)::timestamptz, statement_timestamp())), 'enqueued', 1)
    RETURNING CASE WHEN :due_at::text IS NULL THEN pg_notify('postroom', '') END
)
INSERT INTO postroom.emails (id, status, due_at, created_at, priority, max_attempts, policy, on_doubt, sensitive, channel, kind, workspace, expires_at)
VALUES (:id::uuid, 'pending', coalesce((:due_at::text)::timestamptz, coalesce((:now::text)::timestamptz, statement_timestamp())), coalesce((:now::text)::timestamptz, statement_timestamp()), :priority::smallint, :max_attempts::integer, :policy::text, :on_doubt::text, :sensitive::boolean, :channel::text, :kind::text, :workspace::text, (:expires_at::text)::timestamptz);

-- name: claim
WITH urgent AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL AND priority = 0 AND due_at <= coalesce((:now::text)::timestamptz, statement_timestamp())
    ORDER BY due_at, id
    LIMIT :urgent_open::bigint * :urgent::bigint
    FOR UPDATE SKIP LOCKED
),
normal AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL AND priority = 1 AND due_at <= coalesce((:now::text)::timestamptz, statement_timestamp())
    ORDER BY due_at, id
    LIMIT :normal_open::bigint * (:urgent::bigint + :normal::bigint - (SELECT count(*) FROM urgent))
    FOR UPDATE SKIP LOCKED
),
bulk AS MATERIALIZED (
    SELECT id
    FROM postroom.emails
    WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL AND priority = 2 AND due_at <= coalesce((:now::text)::timestamptz, statement_timestamp())
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
        leased_until = coalesce((:now::text)::timestamptz, statement_timestamp()) + make_interval(secs => :lease::float8),
        worker = :worker::text,
        dot_noted_at = NULL,
        last_attempt_at = coalesce((:now::text)::timestamptz, statement_timestamp())
    WHERE id = ANY (ARRAY (
        SELECT id FROM urgent UNION ALL SELECT id FROM normal UNION ALL SELECT id FROM bulk
    ))
    RETURNING *
)
SELECT e.id::text, e.priority, e.due_at, e.attempts, e.max_attempts, e.lease_token, e.leased_until, e.dot_noted_at, e.doubts, e.takeovers, e.version, e.policy, e.on_doubt, e.sensitive, e.channel, e.kind, e.workspace, e.created_at, e.expires_at, e.outcomes, c.subject, c.message_id, c.envelope, CASE WHEN c.size <= :whole::bigint THEN c.text END, CASE WHEN c.size <= :whole::bigint THEN c.html END,
coalesce((:now::text)::timestamptz, statement_timestamp()), CASE WHEN c.size > :whole::bigint THEN c.size ELSE 0 END, NULL
FROM claimed e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
ORDER BY e.priority, e.due_at, e.id;

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
    SET status = o.status,
    due_at = o.due_at,
    attempts = o.attempts,
    dead_reason = o.dead_reason,
    last_error = o.last_error,
    reply_code = o.reply_code,
    reply = o.reply,
    outcomes = o.outcomes,
    doubts = o.doubts,
    takeovers = o.takeovers,
    sent_at = CASE WHEN o.status = 'sent' THEN coalesce((:now::text)::timestamptz, statement_timestamp()) END,
    finished_at = CASE WHEN o.status IN ('sent', 'dead') THEN coalesce((:now::text)::timestamptz, statement_timestamp()) END,
    leased_until = NULL,
    worker = NULL,
    dot_noted_at = NULL
    FROM outcome o
    WHERE e.id = o.id AND e.id = ANY (ARRAY (SELECT id FROM outcome))
        AND (
            (e.status = 'sending' AND e.lease_token = o.token)
            OR (e.status = 'in_doubt' AND e.lease_token = o.token + 1 AND o.status = 'sent')
        ) IS TRUE
    RETURNING e.id, e.status, e.attempts, o.event, o.detail
),
new_events AS (
    INSERT INTO postroom.events (email_id, at, what, attempt, detail)
    SELECT id, coalesce((:now::text)::timestamptz, statement_timestamp()), event, attempts, detail
    FROM settled
    WHERE event IS NOT NULL
    ORDER BY id
),
new_tallies AS (
    INSERT INTO postroom.tallies (minute, name, change)
    SELECT date_trunc('minute', coalesce((:now::text)::timestamptz, statement_timestamp())),
        CASE status WHEN 'sent' THEN 'sent' WHEN 'dead' THEN 'died' WHEN 'in_doubt' THEN 'doubted' ELSE 'retried' END,
        count(*)
    FROM settled
    GROUP BY status
)
SELECT coalesce(json_agg(id), '[]')::text
FROM settled;
