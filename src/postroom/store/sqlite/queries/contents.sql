-- What emails say, and the attachments they share.

-- Store an attachment unless it is there.
-- name: store_attachment
INSERT INTO postroom_attachments (digest, content, size)
VALUES (:digest, :content, :size)
ON CONFLICT DO NOTHING;

-- One writer at a time: what was just stored or found cannot be swept away before this transaction ends.
-- name: hold_attachments
SELECT digest
FROM postroom_attachments
WHERE digest IN (SELECT value FROM json_each(:digests))
ORDER BY digest;

-- The attachments of these digests.
-- name: attachments
SELECT digest, content
FROM postroom_attachments
WHERE digest IN (SELECT value FROM json_each(:digests));

-- What a large email says. Pieces would save nothing here: SQLite gives the memory back.
-- name: bodies
SELECT 'text', 1, CAST(text AS BLOB)
FROM postroom_contents
WHERE email_id = :id AND version = :version
UNION ALL
SELECT 'html', 1, CAST(html AS BLOB)
FROM postroom_contents
WHERE email_id = :id AND version = :version;

-- The attachments of these digests, for a large email.
-- name: attachment_pieces
SELECT digest, 1, content
FROM postroom_attachments
WHERE digest IN (SELECT value FROM json_each(:digests));

-- Add a corrected version of an email's content.
-- name: add_version
INSERT INTO postroom_terms (term, email_id)
SELECT value, json_extract(:content, '$.email_id')
FROM json_each(json_extract(:content, '$.terms'))
WHERE true
ON CONFLICT DO NOTHING;
INSERT INTO postroom_contents (email_id, version, {content}, terms)
SELECT
    json_extract(value, '$.email_id'), json_extract(value, '$.version'), {content_members},
    json_extract(value, '$.terms')
FROM (SELECT :content AS value);

-- The content of one version of an email.
-- name: content
SELECT c.subject, c.message_id, c.envelope, c.text, c.html, c.terms
FROM postroom_contents c
WHERE c.email_id = :id AND c.version = :version;

-- Attachments that no email carries any more; the writer's transaction is the lock.
-- name: unused_attachments
SELECT a.digest
FROM postroom_attachments a
WHERE NOT EXISTS (SELECT 1 FROM postroom_attachment_uses u WHERE u.digest = a.digest)
LIMIT :limit;

-- Remove those of them that are still unused.
-- name: sweep_attachments
DELETE FROM postroom_attachments
WHERE digest IN (SELECT value FROM json_each(:digests))
    AND NOT EXISTS (SELECT 1 FROM postroom_attachment_uses u WHERE u.digest = postroom_attachments.digest)
RETURNING digest;

-- The versions of an email's content, in short.
-- name: versions
SELECT version, subject, envelope, size
FROM postroom_contents
WHERE email_id = :id
ORDER BY version;
