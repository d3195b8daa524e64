-- Taking emails in.

-- Emails that may enter: those without a key, and those whose key is theirs.
-- fragment: accepted
FROM json_each(:emails) AS incoming
WHERE json_extract(value, '$.key') IS NULL
    OR EXISTS (
        SELECT 1
        FROM postroom_keys k
        WHERE k.workspace = json_extract(value, '$.workspace')
            AND k.key = json_extract(value, '$.key')
            AND k.email_id = json_extract(value, '$.id')
    )

-- Take emails in. A key that is there already leaves its email out. `GROUP BY NULL` counts nothing as no row; a HAVING
-- by itself is known from SQLite 3.39 on only.
-- Its rows are the emails that entered, and then those of their recipients who may not be mailed any more.
-- name: enqueue
INSERT INTO postroom_keys (workspace, key, email_id, fingerprint, created_at)
SELECT
    json_extract(value, '$.workspace'), json_extract(value, '$.key'), json_extract(value, '$.id'),
    json_extract(value, '$.fingerprint'), :now
FROM json_each(:emails)
WHERE json_extract(value, '$.key') IS NOT NULL
ON CONFLICT DO NOTHING;
INSERT INTO postroom_contents (email_id, {content}, terms)
SELECT json_extract(value, '$.id'), {content_members}, json_extract(value, '$.terms')
{accepted};
INSERT INTO postroom_terms (term, email_id)
SELECT term.value, accepted.id
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.terms') AS terms {accepted}) AS accepted,
    json_each(accepted.terms) AS term;
INSERT INTO postroom_attachment_uses (digest, email_id)
SELECT attachment.value, accepted.id
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.attachments') AS attachments {accepted}) AS accepted,
    json_each(accepted.attachments) AS attachment;
INSERT INTO postroom_tallies (minute, name, change)
SELECT :now / 60000000 * 60000000, 'enqueued', count(*)
{accepted}
GROUP BY NULL;
INSERT INTO postroom_emails (
    id, status, due_at, created_at, lease_token, leased_until, worker, key, {given}
)
SELECT
    json_extract(value, '$.id'), json_extract(value, '$.status'), coalesce(json_extract(value, '$.due_at'), :now), :now,
    json_extract(value, '$.lease_seconds') IS NOT NULL,
    CAST(:now + json_extract(value, '$.lease_seconds') * 1000000 AS INTEGER), json_extract(value, '$.worker'),
    json_extract(value, '$.key'), {given_members}
{accepted};
SELECT json_extract(value, '$.id'), NULL, NULL
{accepted}
UNION ALL
SELECT NULL, NULL, address
FROM postroom_suppressions
WHERE address IN (
    SELECT substr(term.value, 4)
    FROM json_each(:emails) AS incoming, json_each(json_extract(incoming.value, '$.terms')) AS term
    WHERE substr(term.value, 1, 3) = 'to:'
);

-- Take one email in that has no key and carries nothing: the same as `enqueue`, without the detours. Its rows are those
-- of its recipients who may not be mailed any more: nearly always none.
-- name: enqueue_one
INSERT INTO postroom_contents (email_id, {content}, terms)
VALUES (:id, {content_parameters}, :terms);
INSERT INTO postroom_terms (term, email_id)
SELECT value, :id
FROM json_each(:terms);
INSERT INTO postroom_tallies (minute, name, change)
VALUES (:now / 60000000 * 60000000, 'enqueued', 1);
INSERT INTO postroom_emails (id, status, due_at, created_at, {given})
VALUES (:id, 'pending', coalesce(:due_at, :now), :now, {given_parameters});
SELECT address
FROM postroom_suppressions
WHERE address IN (SELECT value FROM json_each(:addresses));

-- The tally of emails that arrived row by row.
-- name: copied
INSERT INTO postroom_tallies (minute, name, change)
VALUES (:now / 60000000 * 60000000, 'enqueued', :count);

-- Who came first under these keys.
-- name: first_under_key
SELECT k.workspace, k.key, k.email_id, k.fingerprint
FROM json_each(:keys) AS wanted
JOIN postroom_keys k
    ON k.workspace = json_extract(wanted.value, '$.workspace') AND k.key = json_extract(wanted.value, '$.key');
