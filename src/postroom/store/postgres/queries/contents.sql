-- What emails say, and the attachments they share.

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

-- The content of one version of an email.
-- name: content
SELECT c.subject, c.message_id, c.envelope, c.text, c.html, c.terms
FROM postroom.contents c
WHERE c.email_id = :id::uuid AND c.version = :version::smallint;

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

-- The versions of an email's content, in short.
-- name: versions
SELECT version, subject, envelope, size
FROM postroom.contents
WHERE email_id = :id::uuid
ORDER BY version;
