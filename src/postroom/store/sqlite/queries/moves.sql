-- Moving emails to another region: what leaves here, and what arrives.

-- The next emails that can be found by a term, each with where it stands; `dismissed` where a person has dismissed it.
-- name: emails_of
SELECT
    found.email_id, coalesce(e.status, iif(d.id IS NOT NULL, 'dismissed', NULL)),
    e.workspace, e.key, e.route, c.size, c.envelope, e.priority
FROM (
    SELECT email_id
    FROM postroom_terms
    WHERE term = :term AND email_id > :after
    ORDER BY email_id
    LIMIT :limit
) AS found
LEFT JOIN postroom_emails e ON e.id = found.email_id
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
LEFT JOIN postroom_dismissed d ON d.id = found.email_id
ORDER BY found.email_id;

-- Campaigns that are still to send a person something, or would be if they were launched.
-- name: campaigns_of
SELECT n.workspace, n.campaign_id
FROM postroom_prospects p INDEXED BY postroom_prospects_everywhere
CROSS JOIN postroom_enrolments n ON n.workspace = p.workspace AND n.prospect_id = p.id
WHERE p.normal_address = :address AND n.status IN ('enrolled', 'active', 'paused')
ORDER BY n.workspace, n.campaign_id;

-- How the boxes of these emails begin.
-- name: boxes_of
SELECT u.email_id, substr(a.content, 1, :length)
FROM json_each(:ids) AS wanted
CROSS JOIN postroom_attachment_uses u ON u.email_id = wanted.value
CROSS JOIN postroom_attachments a ON a.digest = u.digest
WHERE u.digest > 'box' AND u.digest < 'bp';

-- Which of these are here already: waiting or finished, dismissed, or on their way from here.
-- name: present
SELECT id
FROM postroom_emails
WHERE id IN (SELECT value FROM json_each(:ids))
UNION ALL
SELECT id
FROM postroom_dismissed
WHERE id IN (SELECT value FROM json_each(:ids))
UNION ALL
SELECT email_id
FROM postroom_departures
WHERE email_id IN (SELECT value FROM json_each(:ids)) AND state IS NOT NULL;

-- Which of these have left for another region, arrived or not.
-- name: departed
SELECT email_id
FROM postroom_departures
WHERE email_id IN (SELECT value FROM json_each(:ids));

-- Whole rows of state; the writer's transaction is the lock.
-- name: lock_whole
SELECT {whole_state}
FROM postroom_emails e
WHERE e.id IN (SELECT value FROM json_each(:ids))
ORDER BY e.id;

-- Take emails out of everybody's reach.
-- name: depart
DELETE FROM postroom_emails
WHERE id IN (SELECT json_extract(value, '$.email_id') FROM json_each(:departures));
INSERT INTO postroom_departures (email_id, move, region, at, state)
SELECT
    json_extract(value, '$.email_id'), json_extract(value, '$.move'), json_extract(value, '$.region'), :now,
    json_extract(value, '$.state')
FROM json_each(:departures);

-- How many are on their way, by region, and since when.
-- name: open_departures
SELECT region, count(*), min(at)
FROM postroom_departures
WHERE state IS NOT NULL
GROUP BY region
ORDER BY region;

-- The next that are on their way to a region, each with what its content takes.
-- name: departing
SELECT
    d.email_id, d.move, d.state,
    coalesce((SELECT sum(size) FROM postroom_contents WHERE email_id = d.email_id), 0)
FROM postroom_departures d
WHERE d.state IS NOT NULL AND d.region = :region AND d.email_id > :after
ORDER BY d.email_id
LIMIT :limit;

-- Those of these that are still on their way; the writer's transaction is the lock.
-- name: lock_departing
SELECT d.email_id, d.state
FROM json_each(:departures) AS wanted
CROSS JOIN postroom_departures d
    ON d.email_id = json_extract(wanted.value, '$.email_id') AND d.move = json_extract(wanted.value, '$.move')
WHERE d.state IS NOT NULL
ORDER BY d.email_id;

-- What these emails say, every version.
-- name: contents_of
SELECT email_id, version, {whole_content}
FROM postroom_contents
WHERE email_id IN (SELECT value FROM json_each(:ids))
ORDER BY email_id, version;

-- Which of these terms there are.
-- name: terms_of
SELECT t.term, t.email_id
FROM json_each(:terms) AS wanted
CROSS JOIN postroom_terms t
    ON t.term = json_extract(wanted.value, '$.term') AND t.email_id = json_extract(wanted.value, '$.email_id');

-- What these emails carry.
-- name: uses_of
SELECT digest, email_id
FROM postroom_attachment_uses
WHERE email_id IN (SELECT value FROM json_each(:ids))
ORDER BY digest, email_id;

-- The keys of these emails.
-- name: keys_of
SELECT k.workspace, k.key, k.email_id, k.fingerprint, k.created_at
FROM json_each(:keys) AS wanted
CROSS JOIN postroom_keys k
    ON k.workspace = json_extract(wanted.value, '$.workspace') AND k.key = json_extract(wanted.value, '$.key')
WHERE k.email_id = json_extract(wanted.value, '$.email_id');

-- The stories of these emails, each oldest first.
-- name: events_of
SELECT email_id, at, what, attempt, actor, detail
FROM postroom_events
WHERE email_id IN (SELECT value FROM json_each(:ids))
ORDER BY email_id, id;

-- Note that emails arrive; those of which nothing was decided before.
-- name: note_arrivals
INSERT INTO postroom_arrivals (email_id, move, region, at)
SELECT json_extract(value, '$.email_id'), json_extract(value, '$.move'), json_extract(value, '$.region'), :now
FROM json_each(:arrivals)
WHERE true
ON CONFLICT DO NOTHING
RETURNING email_id;

-- Of those that were just noted, some are not taken in.
-- name: refuse_arrivals
UPDATE postroom_arrivals
SET refused = n.refused
FROM (
    SELECT
        json_extract(value, '$.email_id') AS email_id, json_extract(value, '$.move') AS move,
        json_extract(value, '$.refused') AS refused
    FROM json_each(:refusals)
) AS n
WHERE postroom_arrivals.email_id = n.email_id AND postroom_arrivals.move = n.move;

-- What was decided.
-- name: arrivals
SELECT a.email_id, a.refused
FROM json_each(:arrivals) AS wanted
CROSS JOIN postroom_arrivals a
    ON a.email_id = json_extract(wanted.value, '$.email_id') AND a.move = json_extract(wanted.value, '$.move');

-- Take keys in; those that were free.
-- name: arrive_keys
INSERT INTO postroom_keys (workspace, key, email_id, fingerprint, created_at)
SELECT
    json_extract(value, '$.workspace'), json_extract(value, '$.key'), json_extract(value, '$.email_id'),
    json_extract(value, '$.fingerprint'), json_extract(value, '$.created_at')
FROM json_each(:keys)
WHERE true
ON CONFLICT DO NOTHING
RETURNING email_id;

-- Take emails in as they were elsewhere, with what they say, what they are found by and what happened to them.
-- name: arrive
INSERT INTO postroom_contents (email_id, version, {whole_content})
SELECT json_extract(value, '$.email_id'), json_extract(value, '$.version'), {whole_content_members}
FROM json_each(:contents);
INSERT INTO postroom_terms (term, email_id)
SELECT json_extract(value, '$.term'), json_extract(value, '$.email_id')
FROM json_each(:terms)
WHERE true
ON CONFLICT DO NOTHING;
INSERT INTO postroom_attachment_uses (digest, email_id)
SELECT json_extract(value, '$.digest'), json_extract(value, '$.email_id')
FROM json_each(:uses)
WHERE true
ON CONFLICT DO NOTHING;
INSERT INTO postroom_events (email_id, at, what, attempt, actor, detail)
SELECT
    json_extract(value, '$.email_id'), json_extract(value, '$.at'), json_extract(value, '$.what'),
    json_extract(value, '$.attempt'), json_extract(value, '$.actor'), json_extract(value, '$.detail')
FROM json_each(:events)
ORDER BY key;
INSERT INTO postroom_emails ({state})
SELECT {state_members}
FROM json_each(:emails);

-- They have arrived elsewhere: nothing is left of them here but where they went.
-- name: forget_departed
DELETE FROM postroom_terms
WHERE (term, email_id) IN (
    SELECT json_extract(value, '$.term'), json_extract(value, '$.email_id') FROM json_each(:terms)
);
DELETE FROM postroom_contents
WHERE email_id IN (SELECT json_extract(value, '$.email_id') FROM json_each(:departures));
DELETE FROM postroom_events
WHERE email_id IN (SELECT json_extract(value, '$.email_id') FROM json_each(:departures));
DELETE FROM postroom_keys
WHERE (workspace, key, email_id) IN (
    SELECT json_extract(value, '$.workspace'), json_extract(value, '$.key'), json_extract(value, '$.email_id')
    FROM json_each(:keys)
);
UPDATE postroom_departures
SET state = NULL
WHERE (email_id, move) IN (
    SELECT json_extract(value, '$.email_id'), json_extract(value, '$.move') FROM json_each(:departures)
);

-- Of these attachments, those that no email carries any more; the writer's transaction is the lock.
-- name: unused_of
SELECT a.digest
FROM postroom_attachments a
WHERE a.digest IN (SELECT value FROM json_each(:digests))
    AND NOT EXISTS (SELECT 1 FROM postroom_attachment_uses u WHERE u.digest = a.digest);

-- Tell the stream of emails that are not here any more.
-- name: note_departed
INSERT INTO postroom_changes (at, changes)
VALUES (:now, :changes);

-- They were not taken in elsewhere: put them back as they were.
-- name: put_back
INSERT INTO postroom_emails ({state})
SELECT {state_members}
FROM json_each(:emails)
WHERE EXISTS (
    SELECT 1
    FROM postroom_departures d
    WHERE d.email_id = json_extract(value, '$.id') AND d.state IS NOT NULL
);
DELETE FROM postroom_departures
WHERE email_id IN (SELECT json_extract(value, '$.id') FROM json_each(:emails)) AND state IS NOT NULL
RETURNING email_id;
