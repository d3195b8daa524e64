-- What came back about emails.

-- fragment: returned
r.id::text, r.source, r.source_id, r.part, r.received_at, r.what, r.bounce_class, r.status, r.code, r.text, r.address,
r.email_id::text, r.message_id, r.reader, r.problem, r.until::text, r.feedback, r.unclear, r.workspace

-- The emails that a message may be about, locked in one order, with everybody they were ever for.
-- name: returned_emails
SELECT e.id::text, e.workspace, e.attempts, e.sensitive, c.message_id, c.envelope
FROM postroom.emails e
LEFT JOIN postroom.contents c ON c.email_id = e.id
WHERE e.id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
    AND e.channel = 'email'
ORDER BY e.id, c.version
FOR UPDATE OF e;

-- The mails of campaigns among these, also those whose email is gone: they know whose it was.
-- name: returned_mails
SELECT m.email_id::text, m.workspace, m.message_id
FROM postroom.campaign_mails m
WHERE m.email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid));

-- Write down what is not there yet. In one order, so that two who take the same message never wait for each other for
-- ever: the second waits for the first, and then adds nothing.
-- name: note_returns
INSERT INTO postroom.returns (
    id, source, source_id, part, received_at, what, bounce_class, status, code, text, address, email_id, message_id,
    reader, problem, until, feedback, unclear, workspace
)
SELECT
    n.id, n.source, n.source_id, n.part, {now}, n.what, n.bounce_class, n.status, n.code, n.text, n.address, n.email_id,
    n.message_id, n.reader, n.problem, n.until, n.feedback, n.unclear, n.workspace
FROM json_to_recordset((:returns::text)::json) AS n (
    id uuid, source text, source_id text, part integer, what text, bounce_class text, status text, code integer,
    text text, address text, email_id uuid, message_id text, reader text, problem text, until date, feedback text,
    unclear boolean, workspace text
)
ORDER BY n.source, n.source_id, n.part
ON CONFLICT (source, source_id, part) DO NOTHING
RETURNING id::text, received_at;

-- Keep the message that something was read from.
-- name: keep_return
INSERT INTO postroom.return_messages (return_id, content, size)
VALUES (:id::uuid, :content::bytea, :size::integer)
ON CONFLICT DO NOTHING;

-- The strongest that came back about each recipient of these emails.
-- name: fates
SELECT email_id::text, address, what, bounce_class, status, code, at, return_id::text
FROM postroom.fates
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY email_id, address;

-- Put something stronger in the place of what was known. Whoever does holds the lock of the email.
-- name: put_fates
INSERT INTO postroom.fates AS f (email_id, address, what, bounce_class, status, code, at, return_id)
SELECT n.email_id, n.address, n.what, n.bounce_class, n.status, n.code, n.at, n.return_id
FROM json_to_recordset((:fates::text)::json) AS n (
    email_id uuid, address text, what text, bounce_class text, status text, code integer, at timestamptz, return_id uuid
)
ON CONFLICT (email_id, address) DO UPDATE
SET what = excluded.what, bounce_class = excluded.bounce_class, status = excluded.status, code = excluded.code,
    at = excluded.at, return_id = excluded.return_id;

-- One page of what came back, the latest first.
-- name: returns
SELECT {returned}
FROM postroom.returns r
WHERE r.id < :before::uuid
ORDER BY r.id DESC
LIMIT :limit::bigint;

-- The same of one kind. The index that begins with the kind has its ids in this very order, and the primary key has not:
-- else a planner would walk along the ids, past all of a flood of another kind. The same below.
-- name: returns_of_kind
SELECT {returned}
FROM postroom.returns r
WHERE r.what = :what::text AND r.id < :before::uuid
ORDER BY r.id DESC NULLS LAST
LIMIT :limit::bigint;

-- The same of what a person should look at.
-- name: unclear_returns
SELECT {returned}
FROM postroom.returns r
WHERE r.unclear AND r.id < :before::uuid
ORDER BY r.id DESC
LIMIT :limit::bigint;

-- The same of one kind.
-- name: unclear_returns_of_kind
SELECT {returned}
FROM postroom.returns r
WHERE r.unclear AND r.what = :what::text AND r.id < :before::uuid
ORDER BY r.id DESC NULLS LAST
LIMIT :limit::bigint;

-- The same from, or about, one address.
-- name: returns_at_address
SELECT {returned}
FROM postroom.returns r
WHERE r.address <> '' AND r.address = :address::text AND r.id < :before::uuid
ORDER BY r.id DESC NULLS LAST
LIMIT :limit::bigint;

-- The same about one email.
-- name: returns_of_email
SELECT {returned}
FROM postroom.returns r
WHERE r.email_id IS NOT NULL AND r.email_id = :email_id::uuid AND r.id < :before::uuid
ORDER BY r.id DESC
LIMIT :limit::bigint;

-- The same about some emails, so many of each.
-- name: returns_of_emails
SELECT {returned}
FROM json_array_elements_text((:ids::text)::json) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT n.*
    FROM postroom.returns n
    WHERE n.email_id IS NOT NULL AND n.email_id = wanted.id::uuid AND n.id < :before::uuid
    ORDER BY n.id DESC
    LIMIT :limit::bigint
) AS r
ORDER BY r.id DESC;

-- One page of what came back about emails of some workspaces: the latest of each, and of those the latest. However much
-- came back to others, nothing of it is looked at.
-- name: returns_of_workspaces
SELECT {returned}
FROM json_array_elements_text((:workspaces::text)::json) AS wanted (workspace)
CROSS JOIN LATERAL (
    SELECT n.*
    FROM postroom.returns n
    WHERE n.workspace IS NOT NULL AND n.workspace = wanted.workspace AND n.id < :before::uuid
    ORDER BY n.id DESC NULLS LAST
    LIMIT :limit::bigint
) AS r
ORDER BY r.id DESC
LIMIT :limit::bigint;

-- The same of one kind.
-- name: returns_of_workspaces_of_kind
SELECT {returned}
FROM json_array_elements_text((:workspaces::text)::json) AS wanted (workspace)
CROSS JOIN LATERAL (
    SELECT n.*
    FROM postroom.returns n
    WHERE n.workspace IS NOT NULL AND n.workspace = wanted.workspace
        AND n.what = :what::text AND n.id < :before::uuid
    ORDER BY n.id DESC NULLS LAST
    LIMIT :limit::bigint
) AS r
ORDER BY r.id DESC
LIMIT :limit::bigint;

-- The same from, or about, one address.
-- name: returns_of_workspaces_at_address
SELECT {returned}
FROM json_array_elements_text((:workspaces::text)::json) AS wanted (workspace)
CROSS JOIN LATERAL (
    SELECT n.*
    FROM postroom.returns n
    WHERE n.workspace IS NOT NULL AND n.workspace = wanted.workspace
        AND n.address <> '' AND n.address = :address::text AND n.id < :before::uuid
    ORDER BY n.id DESC NULLS LAST
    LIMIT :limit::bigint
) AS r
ORDER BY r.id DESC
LIMIT :limit::bigint;

-- The emails that returns are about, as far as they are still there.
-- name: emails_returned
SELECT e.id::text, e.sensitive, c.subject
FROM postroom.emails e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid));

-- What else was read out of the same message.
-- name: parts_of_return
SELECT {returned}
FROM postroom.returns r
WHERE r.source = :source::text AND r.source_id = :source_id::text AND r.part >= :part::integer
ORDER BY r.part
LIMIT :limit::bigint;

-- One return, with the message as far as it is kept.
-- name: return_message
SELECT {returned}, m.content, m.size
FROM postroom.returns r
LEFT JOIN postroom.returns first ON first.source = r.source AND first.source_id = r.source_id AND first.part = 0
LEFT JOIN postroom.return_messages m ON m.return_id = first.id
WHERE r.id = :id::uuid;

-- Messages past their keep; their ids tell their age.
-- name: sweep_return_messages
DELETE FROM postroom.return_messages
WHERE return_id = ANY (ARRAY (
    SELECT m.return_id
    FROM postroom.return_messages m
    WHERE m.return_id < :younger::uuid
    ORDER BY m.return_id
    LIMIT :limit::bigint
))
RETURNING return_id::text;

-- Returns past their keep. A message that comes again after that is a new one.
-- name: sweep_returns
DELETE FROM postroom.returns
WHERE id = ANY (ARRAY (
    SELECT r.id
    FROM postroom.returns r
    WHERE r.id < :younger::uuid
    ORDER BY r.id
    LIMIT :limit::bigint
))
RETURNING id::text;

-- Fates of emails that are gone.
-- name: sweep_fates
DELETE FROM postroom.fates
WHERE (email_id, address) IN (
    SELECT f.email_id, f.address
    FROM postroom.fates f
    WHERE NOT EXISTS (SELECT FROM postroom.emails e WHERE e.id = f.email_id)
        AND NOT EXISTS (SELECT FROM postroom.dismissed d WHERE d.id = f.email_id)
        AND NOT EXISTS (SELECT FROM postroom.departures m WHERE m.email_id = f.email_id AND m.state IS NOT NULL)
    LIMIT :limit::bigint
)
RETURNING email_id::text;
