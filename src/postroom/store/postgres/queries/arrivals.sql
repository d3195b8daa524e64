-- Taking emails in.

-- Take emails in, all in one statement: one round trip inside the caller's transaction.
-- A key that is there already, also one that another transaction is about to commit, leaves its email out.
-- Its rows are the emails that entered, and then those of their recipients who may not be mailed any more.
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
-- One wake-up per route and commit: PostgreSQL drops repeats within a transaction.
wake AS (
    SELECT pg_notify('postroom', route)
    FROM (SELECT DISTINCT route FROM accepted WHERE status = 'pending' AND due_at IS NULL) AS new
)
SELECT id::text, (SELECT count(*) FROM wake), NULL
FROM new_emails
UNION ALL
SELECT NULL, NULL, address
FROM postroom.suppressions
WHERE address = ANY (ARRAY (
    SELECT substr(term, 4)
    FROM incoming, json_array_elements_text(terms) AS term
    WHERE term LIKE 'to:%'
));

-- Take one email in that has no key and carries nothing: the same as `enqueue`, without the detours. Its rows are those
-- of its recipients who may not be mailed any more: nearly always none. Their list in JSON
-- reads as an array does once its brackets are braces, for no address has a control character in it; to take it apart
-- would cost every email several times as much.
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
-- It wakes whoever waits here, so that the statement as a whole has no row to give for that.
new_tally AS (
    INSERT INTO postroom.tallies (minute, name, change)
    VALUES (date_trunc('minute', {now}), 'enqueued', 1)
    RETURNING CASE WHEN :due_at::text IS NULL THEN pg_notify('postroom', :route::text) END
),
new_email AS (
    INSERT INTO postroom.emails (id, status, due_at, created_at, {given})
    VALUES (:id::uuid, 'pending', coalesce((:due_at::text)::timestamptz, {now}), {now}, {given_parameters})
)
SELECT address
FROM postroom.suppressions
WHERE address = ANY (('{' || substr(:addresses::text, 2, length(:addresses::text) - 2) || '}')::text[]);

-- The tally and the wake-up of emails that arrived by COPY.
-- name: copied
WITH new_tally AS (
    INSERT INTO postroom.tallies (minute, name, change)
    VALUES (date_trunc('minute', {now}), 'enqueued', :count::bigint)
)
SELECT pg_notify('postroom', json_array_elements_text((:routes::text)::json));

-- Who came first under these keys.
-- name: first_under_key
SELECT k.workspace, k.key, k.email_id::text, k.fingerprint
FROM json_to_recordset((:keys::text)::json) AS wanted (workspace text, key text)
JOIN postroom.keys k ON k.workspace = wanted.workspace AND k.key = wanted.key;
