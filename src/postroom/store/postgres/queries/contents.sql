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

-- Put words in the place of the contexts they were rendered from. The fence: only the holder of the newest claim does.
-- name: put_words
WITH incoming AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:contents::text)::json) AS n (
        email_id uuid, token bigint, version smallint, {content_record}, attachments json, gone json
    )
),
-- Locked in one order, as by a settle of the same emails.
ours AS MATERIALIZED (
    SELECT e.id
    FROM postroom.emails e
    JOIN incoming ON incoming.email_id = e.id
    WHERE e.id = ANY (ARRAY (SELECT email_id FROM incoming)) AND e.lease_token = incoming.token
        AND (e.status = 'sending') IS TRUE
    ORDER BY e.id
    FOR UPDATE OF e
),
new_uses AS (
    INSERT INTO postroom.attachment_uses (digest, email_id)
    SELECT digest, email_id
    FROM incoming, json_array_elements_text(attachments) AS digest
    WHERE email_id = ANY (ARRAY (SELECT id FROM ours))
    ON CONFLICT DO NOTHING
),
old_uses AS (
    DELETE FROM postroom.attachment_uses u
    USING (SELECT email_id, digest FROM incoming, json_array_elements_text(gone) AS digest) AS g
    WHERE u.digest = g.digest AND u.email_id = g.email_id AND g.email_id = ANY (ARRAY (SELECT id FROM ours))
)
UPDATE postroom.contents c
SET subject = n.subject, envelope = n.envelope, text = n.text, html = n.html, size = n.size
FROM incoming n
WHERE c.email_id = n.email_id AND c.version = n.version AND c.email_id = ANY (ARRAY (SELECT id FROM ours))
RETURNING c.email_id::text;

-- Have emails found by one term where they were found by another.
-- name: swap_terms
WITH incoming AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:swaps::text)::json) AS n (email_id uuid, version smallint, was text, becomes text)
),
old_terms AS (
    DELETE FROM postroom.terms t
    USING incoming n
    WHERE t.term = n.was AND t.email_id = n.email_id
),
new_terms AS (
    INSERT INTO postroom.terms (term, email_id)
    SELECT becomes, email_id
    FROM incoming
    ON CONFLICT DO NOTHING
)
UPDATE postroom.contents c
SET terms = replace(c.terms, '"' || n.was || '"', '"' || n.becomes || '"')
FROM incoming n
WHERE c.email_id = n.email_id AND c.version = n.version;

-- The content of one version of an email, and whether it may be shown.
-- name: content
SELECT c.subject, c.message_id, c.envelope, c.text, c.html, c.terms, coalesce(e.sensitive, false)
FROM postroom.contents c
LEFT JOIN postroom.emails e ON e.id = c.email_id
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

-- Whether a sensitive email has done what it was for, and what it says can go. One that died of something else may still
-- be retried, until it expires; the code of a sign-in never is.
-- fragment: over
(
    status IN ('sent', 'cancelled')
    OR (status = 'dead' AND (dead_reason = 'expired' OR kind = 'admin.tfa' OR expires_at <= {now}))
)

-- Sensitive emails that are over and still say something.
-- name: to_erase
SELECT e.id::text
FROM postroom.emails e
WHERE sensitive AND erased_at IS NULL AND status IN ('sent', 'cancelled', 'dead') AND {over}
ORDER BY e.id
LIMIT :limit::bigint
FOR UPDATE SKIP LOCKED;

-- Boxes are named so, and not by a digest; as a range, because in most collations no index serves a prefix.
-- fragment: is_box
digest > 'box' AND digest < 'bp'

-- Boxes that belong to no email: what a duplicate said, for one. A box comes with its use or not at all.
-- name: unused_boxes
SELECT a.digest
FROM postroom.attachments a
WHERE {is_box} AND NOT EXISTS (SELECT FROM postroom.attachment_uses u WHERE u.digest = a.digest)
LIMIT :limit::bigint
FOR UPDATE SKIP LOCKED;

-- How boxes begin, and how many begin so, among the first of them.
-- name: boxes
SELECT beginning, count(*)
FROM (
    SELECT encode(substr(content, 1, :length::integer), 'hex') AS beginning
    FROM postroom.attachments
    WHERE {is_box}
    LIMIT :limit::bigint
) AS first_ones
GROUP BY beginning;

-- Note of these emails that their content is erased: of sensitive ones that are over, or of any that are sensitive.
-- name: erase
UPDATE postroom.emails
SET erased_at = {now}
WHERE id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
    AND sensitive AND erased_at IS NULL AND (:anyway::boolean OR {over})
RETURNING id::text;

-- What these emails carry is theirs no more.
-- name: drop_uses
DELETE FROM postroom.attachment_uses
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
RETURNING digest;

-- What stands outside the boxes of these emails, every version.
-- name: envelopes
SELECT email_id::text, version, envelope
FROM postroom.contents
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid));

-- Leave nothing of contents but whom they were for.
-- name: blank
UPDATE postroom.contents c
SET subject = n.subject, envelope = n.envelope, text = NULL, html = NULL
FROM json_to_recordset((:contents::text)::json) AS n (email_id uuid, version smallint, subject text, envelope text)
WHERE c.email_id = n.email_id AND c.version = n.version;
