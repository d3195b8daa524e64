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

-- Of contents that were rendered, those whose emails are in the hands of who rendered them.
-- fragment: rendered
FROM json_each(:contents) AS n
CROSS JOIN postroom_emails e
    ON e.id = json_extract(n.value, '$.email_id') AND e.lease_token = json_extract(n.value, '$.token')
    AND e.status = 'sending'

-- Put words in the place of the contexts they were rendered from. The fence: only the holder of the newest claim does.
-- name: put_words
INSERT OR IGNORE INTO postroom_attachment_uses (digest, email_id)
SELECT attachment.value, e.id
{rendered}
CROSS JOIN json_each(n.value, '$.attachments') AS attachment;
DELETE FROM postroom_attachment_uses
WHERE (digest, email_id) IN (
    SELECT gone.value, e.id
    {rendered}
    CROSS JOIN json_each(n.value, '$.gone') AS gone
);
UPDATE postroom_contents
SET subject = words.subject, envelope = words.envelope, text = words.text, html = words.html, size = words.size
FROM (
    SELECT
        e.id AS email_id, json_extract(n.value, '$.version') AS version, json_extract(n.value, '$.subject') AS subject,
        json_extract(n.value, '$.envelope') AS envelope, json_extract(n.value, '$.text') AS text,
        json_extract(n.value, '$.html') AS html, json_extract(n.value, '$.size') AS size
    {rendered}
) AS words
WHERE postroom_contents.email_id = words.email_id AND postroom_contents.version = words.version
RETURNING email_id;

-- Have emails found by one term where they were found by another.
-- name: swap_terms
DELETE FROM postroom_terms
WHERE (term, email_id) IN (
    SELECT json_extract(value, '$.was'), json_extract(value, '$.email_id') FROM json_each(:swaps)
);
INSERT OR IGNORE INTO postroom_terms (term, email_id)
SELECT json_extract(value, '$.becomes'), json_extract(value, '$.email_id')
FROM json_each(:swaps);
UPDATE postroom_contents
SET terms = replace(terms, '"' || swap.was || '"', '"' || swap.becomes || '"')
FROM (
    SELECT
        json_extract(value, '$.email_id') AS email_id, json_extract(value, '$.version') AS version,
        json_extract(value, '$.was') AS was, json_extract(value, '$.becomes') AS becomes
    FROM json_each(:swaps)
) AS swap
WHERE postroom_contents.email_id = swap.email_id AND postroom_contents.version = swap.version;

-- The content of one version of an email, and whether it may be shown.
-- name: content
SELECT c.subject, c.message_id, c.envelope, c.text, c.html, c.terms, coalesce(e.sensitive, 0)
FROM postroom_contents c
LEFT JOIN postroom_emails e ON e.id = c.email_id
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

-- Whether a sensitive email has done what it was for, and what it says can go. One that died of something else may still
-- be retried, until it expires; the code of a sign-in never is.
-- fragment: over
(
    status IN ('sent', 'cancelled')
    OR (status = 'dead' AND (dead_reason = 'expired' OR kind = 'admin.tfa' OR expires_at <= :now))
)

-- Sensitive emails that are over and still say something.
-- name: to_erase
SELECT id
FROM postroom_emails
WHERE sensitive AND erased_at IS NULL AND status IN ('sent', 'cancelled', 'dead') AND {over}
ORDER BY id
LIMIT :limit;

-- Boxes are named so, and not by a digest.
-- fragment: is_box
digest > 'box' AND digest < 'bp'

-- Boxes that belong to no email: what a duplicate said, for one. A box comes with its use or not at all.
-- name: unused_boxes
SELECT a.digest
FROM postroom_attachments a
WHERE {is_box} AND NOT EXISTS (SELECT 1 FROM postroom_attachment_uses u WHERE u.digest = a.digest)
LIMIT :limit;

-- How boxes begin, and how many begin so, among the first of them.
-- name: boxes
SELECT beginning, count(*)
FROM (
    SELECT lower(hex(substr(content, 1, :length))) AS beginning
    FROM postroom_attachments
    WHERE {is_box}
    LIMIT :limit
) AS first_ones
GROUP BY beginning;

-- Note of these emails that their content is erased: of sensitive ones that are over, or of any that are sensitive.
-- name: erase
UPDATE postroom_emails
SET erased_at = :now
WHERE id IN (SELECT value FROM json_each(:ids))
    AND sensitive AND erased_at IS NULL AND (:anyway OR {over})
RETURNING id;

-- What these emails carry is theirs no more.
-- name: drop_uses
DELETE FROM postroom_attachment_uses
WHERE email_id IN (SELECT value FROM json_each(:ids))
RETURNING digest;

-- What stands outside the boxes of these emails, every version.
-- name: envelopes
SELECT email_id, version, envelope
FROM postroom_contents
WHERE email_id IN (SELECT value FROM json_each(:ids));

-- Leave nothing of contents but whom they were for.
-- name: blank
UPDATE postroom_contents
SET subject = n.subject, envelope = n.envelope, text = NULL, html = NULL
FROM (
    SELECT
        json_extract(value, '$.email_id') AS email_id, json_extract(value, '$.version') AS version,
        json_extract(value, '$.subject') AS subject, json_extract(value, '$.envelope') AS envelope
    FROM json_each(:contents)
) AS n
WHERE postroom_contents.email_id = n.email_id AND postroom_contents.version = n.version;
