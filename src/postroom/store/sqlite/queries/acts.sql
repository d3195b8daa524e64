-- What people do to emails.

-- Look at emails before an act; the writer's transaction is the lock.
-- name: lock
SELECT e.id, e.status, e.attempts, e.outcomes, e.version, e.route, e.channel, e.sensitive, e.kind, e.erased_at
FROM postroom_emails e
WHERE e.id IN (SELECT value FROM json_each(:ids))
ORDER BY e.id;

-- Look at the next emails of a status, oldest first, whoever holds them; the writer's transaction is the lock.
-- name: lock_unfinished
SELECT e.id, e.status, e.attempts, e.outcomes, e.version, e.route, e.channel, e.sensitive, e.kind, e.erased_at
FROM postroom_emails e
WHERE e.status = :status AND e.status NOT IN ('sent', 'cancelled') AND e.id > :after
ORDER BY e.id
LIMIT :limit;

-- Carry an act out on locked emails. A new token ends whatever lease there was. Whoever sends an email again by hand
-- wants it sent: an expiry that has passed is lifted.
-- name: change
UPDATE postroom_emails
SET status = n.status,
    due_at = CASE WHEN n.due_now THEN :now ELSE postroom_emails.due_at END,
    attempts = n.attempts,
    last_error = n.last_error,
    dead_reason = NULL,
    outcomes = n.outcomes,
    version = n.version,
    takeovers = 0,
    expires_at = CASE WHEN n.due_now AND postroom_emails.expires_at <= :now THEN NULL ELSE postroom_emails.expires_at END,
    lease_token = lease_token + 1,
    leased_until = NULL,
    worker = NULL,
    announced_at = NULL,
    finished_at = CASE WHEN n.status = 'cancelled' THEN :now END
FROM (
    SELECT
        json_extract(value, '$.id') AS id, json_extract(value, '$.status') AS status,
        json_extract(value, '$.due_now') AS due_now, json_extract(value, '$.attempts') AS attempts,
        json_extract(value, '$.last_error') AS last_error, json_extract(value, '$.outcomes') AS outcomes,
        json_extract(value, '$.version') AS version
    FROM json_each(:changes)
) AS n
WHERE postroom_emails.id = n.id
RETURNING id;

-- Workers watch the file's change counter; there is nobody to call.
-- name: wake
SELECT 1;

-- name: wake_routes
SELECT 1;

-- Let emails that wait on one route leave by another: sensitive ones if so asked, the codes of sign-ins never.
-- name: move_route
DELETE FROM postroom_picked;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND route = :route
    AND (NOT sensitive OR (:sensitive AND kind <> 'admin.tfa'))
ORDER BY priority, due_at, id
LIMIT :limit;
{reroute};
SELECT id
FROM postroom_picked;

-- Write down who did what.
-- name: record
INSERT INTO postroom_events (email_id, at, what, attempt, actor, detail)
SELECT
    json_extract(value, '$.email_id'), :now, json_extract(value, '$.what'), json_extract(value, '$.attempt'),
    json_extract(value, '$.actor'), json_extract(value, '$.detail')
FROM json_each(:events);

-- Remove emails altogether, also those that were dismissed before. Their keys stay; so do the events of dismissed ones,
-- until they are swept.
-- name: forget
DELETE FROM postroom_terms
WHERE (term, email_id) IN (
    SELECT term.value, c.email_id
    FROM json_each(:ids) AS gone
    JOIN postroom_contents c ON c.email_id = gone.value,
        -- Damaged ones are left behind: no list finds an email by them that is not there.
        json_each(iif(json_valid(c.terms), c.terms, '[]')) AS term
);
-- An email that was moved has the term of its route from there.
DELETE FROM postroom_terms
WHERE (term, email_id) IN (
    SELECT 'route:' || e.route, e.id
    FROM json_each(:ids) AS gone
    CROSS JOIN postroom_emails e ON e.id = gone.value
);
DELETE FROM postroom_terms
WHERE (term, email_id) IN (
    SELECT 'route:' || e.route, e.id
    FROM json_each(:ids) AS gone
    CROSS JOIN postroom_dismissed e ON e.id = gone.value
);
DELETE FROM postroom_contents
WHERE email_id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_attachment_uses
WHERE email_id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_events
WHERE :events AND email_id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_fates
WHERE :events AND email_id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_dismissed
WHERE id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_emails
WHERE id IN (SELECT value FROM json_each(:ids))
RETURNING id;
