-- Moving emails to another region: what leaves here, and what arrives.

-- The next emails that can be found by a term, each with where it stands; `dismissed` where a person has dismissed it.
-- name: emails_of
SELECT
    found.email_id::text, coalesce(e.status, CASE WHEN d.id IS NOT NULL THEN 'dismissed' END),
    e.workspace, e.key, e.route, c.size, c.envelope, e.priority
FROM (
    SELECT email_id
    FROM postroom.terms
    WHERE term = :term::text AND email_id > :after::uuid
    ORDER BY email_id
    LIMIT :limit::bigint
) AS found
LEFT JOIN postroom.emails e ON e.id = found.email_id
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
LEFT JOIN postroom.dismissed d ON d.id = found.email_id
ORDER BY found.email_id;

-- Campaigns that are still to send a person something, or would be if they were launched.
-- name: campaigns_of
SELECT n.workspace, n.campaign_id
FROM postroom.prospects p
JOIN postroom.enrolments n ON n.workspace = p.workspace AND n.prospect_id = p.id
WHERE p.normal_address = :address::text AND n.status IN ('enrolled', 'active', 'paused')
ORDER BY n.workspace, n.campaign_id;

-- How the boxes of these emails begin.
-- name: boxes_of
SELECT u.email_id::text, substr(a.content, 1, :length::integer)
FROM postroom.attachment_uses u
JOIN postroom.attachments a ON a.digest = u.digest
WHERE u.email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
    AND u.digest > 'box' AND u.digest < 'bp';

-- Which of these are here already: waiting or finished, dismissed, or on their way from here.
-- name: present
SELECT id::text
FROM postroom.emails
WHERE id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
UNION ALL
SELECT id::text
FROM postroom.dismissed
WHERE id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
UNION ALL
SELECT email_id::text
FROM postroom.departures
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid)) AND state IS NOT NULL;

-- Which of these have left for another region, arrived or not.
-- name: departed
SELECT email_id::text
FROM postroom.departures
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid));

-- Lock whole rows of state, in the order in which acts do.
-- name: lock_whole
SELECT {whole_state}
FROM postroom.emails e
WHERE e.id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY e.id
FOR UPDATE;

-- Take locked emails out of everybody's reach.
-- name: depart
WITH leaving AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:departures::text)::json) AS n (email_id uuid, move uuid, region text, state text)
),
gone AS (
    DELETE FROM postroom.emails
    WHERE id = ANY (ARRAY (SELECT email_id FROM leaving))
    RETURNING id
)
INSERT INTO postroom.departures (email_id, move, region, at, state)
SELECT leaving.email_id, leaving.move, leaving.region, {now}, leaving.state
FROM leaving
JOIN gone ON gone.id = leaving.email_id;

-- How many are on their way, by region, and since when.
-- name: open_departures
SELECT region, count(*), min(at)
FROM postroom.departures
WHERE state IS NOT NULL
GROUP BY region
ORDER BY region;

-- The next that are on their way to a region, each with what its content takes.
-- name: departing
SELECT d.email_id::text, d.move::text, d.state, coalesce(c.size, 0)
FROM (
    SELECT email_id, move, state
    FROM postroom.departures
    WHERE state IS NOT NULL AND region = :region::text AND email_id > :after::uuid
    ORDER BY email_id
    LIMIT :limit::bigint
) AS d
CROSS JOIN LATERAL (
    SELECT sum(size)::bigint AS size
    FROM postroom.contents
    WHERE email_id = d.email_id
) AS c
ORDER BY d.email_id;

-- Lock those of these that are still on their way.
-- name: lock_departing
SELECT d.email_id::text, d.state
FROM json_to_recordset((:departures::text)::json) AS wanted (email_id uuid, move uuid)
JOIN postroom.departures d ON d.email_id = wanted.email_id AND d.move = wanted.move
WHERE d.state IS NOT NULL
ORDER BY d.email_id
FOR UPDATE OF d;

-- What these emails say, every version.
-- name: contents_of
SELECT email_id::text, version, {whole_content}
FROM postroom.contents
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY email_id, version;

-- Which of these terms there are.
-- name: terms_of
SELECT wanted.term, wanted.email_id::text
FROM json_to_recordset((:terms::text)::json) AS wanted (term text, email_id uuid)
CROSS JOIN LATERAL (
    SELECT
    FROM postroom.terms t
    WHERE t.term = wanted.term AND t.email_id = wanted.email_id
    LIMIT 1
) AS found;

-- What these emails carry.
-- name: uses_of
SELECT digest, email_id::text
FROM postroom.attachment_uses
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY digest, email_id;

-- The keys of these emails.
-- name: keys_of
SELECT k.workspace, k.key, k.email_id::text, k.fingerprint, k.created_at
FROM json_to_recordset((:keys::text)::json) AS wanted (workspace text, key text, email_id uuid)
JOIN postroom.keys k
    ON k.workspace = wanted.workspace AND k.key = wanted.key AND k.email_id = wanted.email_id;

-- The stories of these emails, each oldest first.
-- name: events_of
SELECT email_id::text, at, what, attempt, actor, detail
FROM postroom.events
WHERE email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
ORDER BY email_id, id;

-- Note that emails arrive; those of which nothing was decided before. Who notes the same at the same time waits here.
-- name: note_arrivals
INSERT INTO postroom.arrivals (email_id, move, region, at)
SELECT email_id, move, region, {now}
FROM json_to_recordset((:arrivals::text)::json) AS n (email_id uuid, move uuid, region text)
ORDER BY email_id
ON CONFLICT DO NOTHING
RETURNING email_id::text;

-- Of those that were just noted, some are not taken in.
-- name: refuse_arrivals
UPDATE postroom.arrivals a
SET refused = n.refused
FROM json_to_recordset((:refusals::text)::json) AS n (email_id uuid, move uuid, refused text)
WHERE a.email_id = n.email_id AND a.move = n.move;

-- What was decided.
-- name: arrivals
SELECT a.email_id::text, a.refused
FROM json_to_recordset((:arrivals::text)::json) AS wanted (email_id uuid, move uuid)
JOIN postroom.arrivals a ON a.email_id = wanted.email_id AND a.move = wanted.move;

-- Take keys in; those that were free. In key order, as an enqueue does.
-- name: arrive_keys
INSERT INTO postroom.keys (workspace, key, email_id, fingerprint, created_at)
SELECT workspace, key, email_id, fingerprint, created_at
FROM json_to_recordset((:keys::text)::json) AS n (
    workspace text, key text, email_id uuid, fingerprint text, created_at timestamptz
)
ORDER BY workspace, key, email_id
ON CONFLICT DO NOTHING
RETURNING email_id::text;

-- Take emails in as they were elsewhere, with what they say, what they are found by and what happened to them.
-- name: arrive
WITH new_contents AS (
    INSERT INTO postroom.contents (email_id, version, {whole_content})
    SELECT email_id, version, {whole_content}
    FROM json_to_recordset((:contents::text)::json) AS n (email_id uuid, version smallint, {whole_content_record})
),
new_terms AS (
    INSERT INTO postroom.terms (term, email_id)
    SELECT term, email_id
    FROM json_to_recordset((:terms::text)::json) AS n (term text, email_id uuid)
    ON CONFLICT DO NOTHING
),
new_uses AS (
    INSERT INTO postroom.attachment_uses (digest, email_id)
    SELECT digest, email_id
    FROM json_to_recordset((:uses::text)::json) AS n (digest text, email_id uuid)
    ON CONFLICT DO NOTHING
),
new_events AS (
    INSERT INTO postroom.events (email_id, at, what, attempt, actor, detail)
    SELECT email_id, at, what, attempt, actor, detail
    FROM ROWS FROM (
        json_to_recordset((:events::text)::json) AS (
            email_id uuid, at timestamptz, what text, attempt integer, actor text, detail text
        )
    ) WITH ORDINALITY AS n (email_id, at, what, attempt, actor, detail, place)
    ORDER BY place
)
INSERT INTO postroom.emails ({state})
SELECT {state}
FROM json_to_recordset((:emails::text)::json) AS n ({state_record});

-- They have arrived elsewhere: nothing is left of them here but where they went.
-- name: forget_departed
WITH gone AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:departures::text)::json) AS n (email_id uuid, move uuid)
),
-- By their places in the table, as `forget` does.
gone_terms AS (
    DELETE FROM postroom.terms
    WHERE ctid = ANY (ARRAY (
        SELECT found.place
        FROM json_to_recordset((:terms::text)::json) AS theirs (term text, email_id uuid)
        CROSS JOIN LATERAL (
            SELECT t.ctid AS place
            FROM postroom.terms t
            WHERE t.term = theirs.term AND t.email_id = theirs.email_id
            LIMIT 1
        ) AS found
    ))
),
gone_contents AS (
    DELETE FROM postroom.contents
    WHERE email_id = ANY (ARRAY (SELECT email_id FROM gone))
),
gone_events AS (
    DELETE FROM postroom.events
    WHERE email_id = ANY (ARRAY (SELECT email_id FROM gone))
),
gone_keys AS (
    DELETE FROM postroom.keys k
    USING json_to_recordset((:keys::text)::json) AS theirs (workspace text, key text, email_id uuid)
    WHERE k.workspace = theirs.workspace AND k.key = theirs.key AND k.email_id = theirs.email_id
)
UPDATE postroom.departures d
SET state = NULL
FROM gone
WHERE d.email_id = gone.email_id AND d.move = gone.move;

-- Of these attachments, those that no email seems to carry any more, locked. Those a running enqueue holds are skipped.
-- name: unused_of
SELECT a.digest
FROM postroom.attachments a
WHERE a.digest = ANY (ARRAY (SELECT json_array_elements_text((:digests::text)::json)))
    AND NOT EXISTS (SELECT FROM postroom.attachment_uses u WHERE u.digest = a.digest)
FOR UPDATE SKIP LOCKED;

-- Tell the stream of emails that are not here any more.
-- name: note_departed
INSERT INTO postroom.changes (at, changes)
VALUES ({now}, :changes::text);

-- They were not taken in elsewhere: put them back as they were.
-- name: put_back
WITH back AS (
    DELETE FROM postroom.departures
    WHERE email_id = ANY (ARRAY (SELECT id FROM json_to_recordset((:emails::text)::json) AS n (id uuid)))
        AND state IS NOT NULL
    RETURNING email_id
)
INSERT INTO postroom.emails ({state})
SELECT {state}
FROM json_to_recordset((:emails::text)::json) AS n ({state_record})
WHERE id IN (SELECT email_id FROM back)
RETURNING id::text;
