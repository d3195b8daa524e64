-- What came back about emails.

-- fragment: returned
r.id, r.source, r.source_id, r.part, r.received_at, r.what, r.bounce_class, r.status, r.code, r.text, r.address,
r.email_id, r.message_id, r.reader, r.problem, r.until, r.feedback, r.unclear, r.workspace

-- The emails that a message may be about, with everybody they were ever for; the writer's transaction is the lock.
-- name: returned_emails
SELECT e.id, e.workspace, e.attempts, e.sensitive, c.message_id, c.envelope
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id
WHERE e.id IN (SELECT value FROM json_each(:ids))
    AND e.channel = 'email'
ORDER BY e.id, c.version;

-- The mails of campaigns among these, also those whose email is gone: they know whose it was.
-- name: returned_mails
SELECT m.email_id, m.workspace, m.message_id
FROM postroom_campaign_mails m
WHERE m.email_id IN (SELECT value FROM json_each(:ids));

-- Write down what is not there yet.
-- `WHERE true` keeps SQLite from reading ON as a part of the join.
-- name: note_returns
INSERT INTO postroom_returns (
    id, source, source_id, part, received_at, what, bounce_class, status, code, text, address, email_id, message_id,
    reader, problem, until, feedback, unclear, workspace
)
SELECT
    json_extract(value, '$.id'), json_extract(value, '$.source'), json_extract(value, '$.source_id'),
    json_extract(value, '$.part'), :now, json_extract(value, '$.what'), json_extract(value, '$.bounce_class'),
    json_extract(value, '$.status'), json_extract(value, '$.code'), json_extract(value, '$.text'),
    json_extract(value, '$.address'), json_extract(value, '$.email_id'), json_extract(value, '$.message_id'),
    json_extract(value, '$.reader'), json_extract(value, '$.problem'), json_extract(value, '$.until'),
    json_extract(value, '$.feedback'), json_extract(value, '$.unclear'), json_extract(value, '$.workspace')
FROM json_each(:returns)
WHERE true
ON CONFLICT (source, source_id, part) DO NOTHING
RETURNING id, received_at;

-- Keep the message that something was read from.
-- name: keep_return
INSERT INTO postroom_return_messages (return_id, content, size)
VALUES (:id, :content, :size)
ON CONFLICT DO NOTHING;

-- The strongest that came back about each recipient of these emails.
-- name: fates
SELECT email_id, address, what, bounce_class, status, code, at, return_id
FROM postroom_fates
WHERE email_id IN (SELECT value FROM json_each(:ids))
ORDER BY email_id, address;

-- Put something stronger in the place of what was known.
-- name: put_fates
INSERT INTO postroom_fates (email_id, address, what, bounce_class, status, code, at, return_id)
SELECT
    json_extract(value, '$.email_id'), json_extract(value, '$.address'), json_extract(value, '$.what'),
    json_extract(value, '$.bounce_class'), json_extract(value, '$.status'), json_extract(value, '$.code'),
    json_extract(value, '$.at'), json_extract(value, '$.return_id')
FROM json_each(:fates)
WHERE true
ON CONFLICT (email_id, address) DO UPDATE
SET what = excluded.what, bounce_class = excluded.bounce_class, status = excluded.status, code = excluded.code,
    at = excluded.at, return_id = excluded.return_id;

-- One page of what came back, the latest first.
-- name: returns
SELECT {returned}
FROM postroom_returns r
WHERE r.id < :before
ORDER BY r.id DESC
LIMIT :limit;

-- The same of one kind.
-- name: returns_of_kind
SELECT {returned}
FROM postroom_returns r
WHERE r.what = :what AND r.id < :before
ORDER BY r.id DESC
LIMIT :limit;

-- The same of what a person should look at.
-- name: unclear_returns
SELECT {returned}
FROM postroom_returns r
WHERE r.unclear AND r.id < :before
ORDER BY r.id DESC
LIMIT :limit;

-- The same of one kind.
-- name: unclear_returns_of_kind
SELECT {returned}
FROM postroom_returns r
WHERE r.unclear AND r.what = :what AND r.id < :before
ORDER BY r.id DESC
LIMIT :limit;

-- The same from, or about, one address.
-- name: returns_at_address
SELECT {returned}
FROM postroom_returns r
WHERE r.address <> '' AND r.address = :address AND r.id < :before
ORDER BY r.id DESC
LIMIT :limit;

-- The same about one email.
-- name: returns_of_email
SELECT {returned}
FROM postroom_returns r
WHERE r.email_id IS NOT NULL AND r.email_id = :email_id AND r.id < :before
ORDER BY r.id DESC
LIMIT :limit;

-- The same about some emails, so many of each.
-- name: returns_of_emails
SELECT {returned}
FROM json_each(:ids) AS wanted
CROSS JOIN postroom_returns r ON r.id IN (
    SELECT n.id
    FROM postroom_returns n
    WHERE n.email_id IS NOT NULL AND n.email_id = wanted.value AND n.id < :before
    ORDER BY n.id DESC
    LIMIT :limit
)
ORDER BY r.id DESC;

-- One page of what came back about emails of some workspaces: the latest of each, and of those the latest. However much
-- came back to others, nothing of it is looked at.
-- name: returns_of_workspaces
SELECT {returned}
FROM json_each(:workspaces) AS wanted
CROSS JOIN postroom_returns r ON r.id IN (
    SELECT n.id
    FROM postroom_returns n
    WHERE n.workspace IS NOT NULL AND n.workspace = wanted.value AND n.id < :before
    ORDER BY n.id DESC
    LIMIT :limit
)
ORDER BY r.id DESC
LIMIT :limit;

-- The same of one kind.
-- name: returns_of_workspaces_of_kind
SELECT {returned}
FROM json_each(:workspaces) AS wanted
CROSS JOIN postroom_returns r ON r.id IN (
    SELECT n.id
    FROM postroom_returns n
    WHERE n.workspace IS NOT NULL AND n.workspace = wanted.value AND n.what = :what AND n.id < :before
    ORDER BY n.id DESC
    LIMIT :limit
)
ORDER BY r.id DESC
LIMIT :limit;

-- The same from, or about, one address.
-- name: returns_of_workspaces_at_address
SELECT {returned}
FROM json_each(:workspaces) AS wanted
CROSS JOIN postroom_returns r ON r.id IN (
    SELECT n.id
    FROM postroom_returns n
    WHERE n.workspace IS NOT NULL AND n.workspace = wanted.value
        AND n.address <> '' AND n.address = :address AND n.id < :before
    ORDER BY n.id DESC
    LIMIT :limit
)
ORDER BY r.id DESC
LIMIT :limit;

-- The emails that returns are about, as far as they are still there.
-- name: emails_returned
SELECT e.id, e.sensitive, c.subject
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id IN (SELECT value FROM json_each(:ids));

-- What else was read out of the same message.
-- name: parts_of_return
SELECT {returned}
FROM postroom_returns r
WHERE r.source = :source AND r.source_id = :source_id AND r.part >= :part
ORDER BY r.part
LIMIT :limit;

-- One return, with the message as far as it is kept.
-- name: return_message
SELECT {returned}, m.content, m.size
FROM postroom_returns r
LEFT JOIN postroom_returns first ON first.source = r.source AND first.source_id = r.source_id AND first.part = 0
LEFT JOIN postroom_return_messages m ON m.return_id = first.id
WHERE r.id = :id;

-- Messages past their keep; their ids tell their age.
-- name: sweep_return_messages
DELETE FROM postroom_return_messages
WHERE return_id IN (
    SELECT m.return_id
    FROM postroom_return_messages m
    WHERE m.return_id < :younger
    ORDER BY m.return_id
    LIMIT :limit
)
RETURNING return_id;

-- Returns past their keep. A message that comes again after that is a new one.
-- name: sweep_returns
DELETE FROM postroom_returns
WHERE id IN (
    SELECT r.id
    FROM postroom_returns r
    WHERE r.id < :younger
    ORDER BY r.id
    LIMIT :limit
)
RETURNING id;

-- Fates of emails that are gone.
-- name: sweep_fates
DELETE FROM postroom_fates
WHERE (email_id, address) IN (
    SELECT f.email_id, f.address
    FROM postroom_fates f
    WHERE NOT EXISTS (SELECT 1 FROM postroom_emails e WHERE e.id = f.email_id)
        AND NOT EXISTS (SELECT 1 FROM postroom_dismissed d WHERE d.id = f.email_id)
        AND NOT EXISTS (SELECT 1 FROM postroom_departures m WHERE m.email_id = f.email_id AND m.state IS NOT NULL)
    LIMIT :limit
)
RETURNING email_id;
