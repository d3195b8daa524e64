-- Emails that a broker's messages name, and news of the dead.

-- SQLite does so anyway.
-- name: run_as_written
SELECT 1;

-- Lease due emails to a scheduler, which will name them in messages to a broker; each lane has a queue of its own.
-- Routes take turns: the oldest of each, then the second of each, as far as the seats of the lane go.
-- name: reserve
DELETE FROM postroom_picked;
WITH RECURSIVE {asked_routes}
INSERT INTO postroom_picked (id)
SELECT e.id
FROM asked
CROSS JOIN json_each((
    SELECT json_group_array(id)
    FROM (
        SELECT id
        FROM postroom_emails
        WHERE {waiting} AND route = asked.route AND priority = 0 AND due_at <= :now
        ORDER BY due_at, id
        LIMIT :urgent
    )
)) AS turn
CROSS JOIN postroom_emails e ON e.id = turn.value
ORDER BY turn.key, e.due_at, e.id
LIMIT :urgent;
WITH RECURSIVE {asked_routes}
INSERT INTO postroom_picked (id)
SELECT e.id
FROM asked
CROSS JOIN json_each((
    SELECT json_group_array(id)
    FROM (
        SELECT id
        FROM postroom_emails
        WHERE {waiting} AND route = asked.route AND priority = 1 AND due_at <= :now
        ORDER BY due_at, id
        LIMIT :normal
    )
)) AS turn
CROSS JOIN postroom_emails e ON e.id = turn.value
ORDER BY turn.key, e.due_at, e.id
LIMIT :normal;
WITH RECURSIVE {asked_routes}
INSERT INTO postroom_picked (id)
SELECT e.id
FROM asked
CROSS JOIN json_each((
    SELECT json_group_array(id)
    FROM (
        SELECT id
        FROM postroom_emails
        WHERE {waiting} AND route = asked.route AND priority = 2 AND due_at <= :now
        ORDER BY due_at, id
        LIMIT :bulk
    )
)) AS turn
CROSS JOIN postroom_emails e ON e.id = turn.value
ORDER BY turn.key, e.due_at, e.id
LIMIT :bulk;
UPDATE postroom_emails
SET status = 'queued',
    lease_token = lease_token + 1,
    leased_until = CAST(:now + :lease * 1000000 AS INTEGER),
    worker = :worker,
    last_queued_at = NULL
WHERE id IN (SELECT id FROM postroom_picked);
SELECT e.id, e.lease_token, e.priority, e.attempts, e.max_attempts, e.leased_until
FROM postroom_picked
CROSS JOIN postroom_emails e ON e.id = postroom_picked.id
WHERE {still_ours}
ORDER BY e.priority, e.due_at, e.id;

-- The broker has confirmed the messages of these. Whoever has claimed one meanwhile has noted that too.
-- name: confirm_queued
UPDATE postroom_emails
SET last_queued_at = :now
FROM {claims}
WHERE postroom_emails.id = mine.id AND lease_token = mine.token AND status = 'queued'
RETURNING id;

-- Messages as a sender read them.
-- fragment: messages
(SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.attempt') AS attempt FROM json_each(:messages)) AS m

-- Take the emails that messages name, if they are still queued for that very attempt.
-- name: claim_queued
DELETE FROM postroom_picked;
INSERT OR IGNORE INTO postroom_picked (id)
SELECT e.id
FROM {messages}
CROSS JOIN postroom_emails e ON e.id = m.id
WHERE e.status = 'queued' AND e.attempts = m.attempt - 1;
UPDATE postroom_emails
SET status = 'sending',
    lease_token = lease_token + 1,
    leased_until = CAST(:now + :lease * 1000000 AS INTEGER),
    worker = :worker,
    dot_noted_at = NULL,
    last_attempt_at = :now,
    last_queued_at = coalesce(last_queued_at, :now)
WHERE id IN (SELECT id FROM postroom_picked);
{picked};

-- Become the owner of the email that a message names, if it is still queued for that very attempt, and read nothing of
-- it: reading may be what kills.
-- name: own_queued
UPDATE postroom_emails
SET status = 'sending',
    lease_token = lease_token + 1,
    leased_until = CAST(:now + :lease * 1000000 AS INTEGER),
    worker = :worker,
    dot_noted_at = NULL,
    last_attempt_at = :now,
    last_queued_at = coalesce(last_queued_at, :now)
WHERE id = :id AND attempts = :attempt - 1 AND status = 'queued'
RETURNING id, lease_token;

-- What an owner sends.
-- name: read_owned
SELECT {claimed_columns}, NULL
FROM postroom_emails e
CROSS JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = :id AND e.lease_token = :token AND e.status = 'sending';

-- Make emails due again whose messages somebody holds and cannot serve.
-- name: unqueue
UPDATE postroom_emails
SET status = CASE WHEN doubts > 0 THEN 'in_doubt' WHEN attempts = 0 THEN 'pending' ELSE 'retrying' END,
    leased_until = NULL,
    worker = NULL
FROM {messages}
WHERE postroom_emails.id = m.id AND status = 'queued' AND attempts = m.attempt - 1
RETURNING id, route;

-- Make emails due again whose message was not heard of before the lease ran out.
-- name: requeue
UPDATE postroom_emails
SET status = CASE WHEN doubts > 0 THEN 'in_doubt' WHEN attempts = 0 THEN 'pending' ELSE 'retrying' END,
    leased_until = NULL,
    worker = NULL
WHERE id IN (
    SELECT id
    FROM postroom_emails
    WHERE status = 'queued' AND status NOT IN ('sent', 'cancelled') AND leased_until < :now
    ORDER BY id
    LIMIT :limit
)
RETURNING id, attempts, route;

-- Reserved, and found to have used up their attempts: what was said last stays.
-- name: give_up
INSERT INTO postroom_events (email_id, at, what, attempt, detail)
SELECT e.id, :now, 'failed', e.attempts, '{"outcome":"dead","dead_reason":"max_attempts"}'
FROM {claims}
CROSS JOIN postroom_emails e ON e.id = mine.id
WHERE e.lease_token = mine.token AND e.status = 'queued'
ORDER BY e.id;
INSERT INTO postroom_changes (at, changes)
SELECT :now, json_group_array(json_array(e.id, 'dead', e.attempts, e.kind, e.workspace))
FROM {claims}
CROSS JOIN postroom_emails e ON e.id = mine.id
WHERE e.lease_token = mine.token AND e.status = 'queued'
GROUP BY 1;
INSERT INTO postroom_tallies (minute, name, change)
SELECT :now / 60000000 * 60000000, 'died', count(*)
FROM {claims}
CROSS JOIN postroom_emails e ON e.id = mine.id
WHERE e.lease_token = mine.token AND e.status = 'queued'
GROUP BY 2;
UPDATE postroom_emails
SET status = 'dead',
    dead_reason = 'max_attempts',
    due_at = NULL,
    finished_at = :now,
    leased_until = NULL,
    worker = NULL
FROM {claims}
WHERE postroom_emails.id = mine.id AND lease_token = mine.token AND status = 'queued'
RETURNING id;

-- The dead that nobody was told of.
-- name: unannounced
SELECT id, lease_token, dead_reason, attempts, last_error, finished_at
FROM postroom_emails
WHERE status = 'dead' AND announced_at IS NULL
ORDER BY id
LIMIT :limit;

-- They were told of.
-- name: announced
UPDATE postroom_emails
SET announced_at = :now
FROM {claims}
WHERE postroom_emails.id = mine.id AND lease_token = mine.token AND status = 'dead'
RETURNING id;

-- Whether a broker has anything to carry, or may have.
-- name: awaiting_dispatch
WITH RECURSIVE {asked_routes}
SELECT
    EXISTS (
        SELECT 1
        FROM asked
        CROSS JOIN json_each('[0, 1, 2]') AS lane
        CROSS JOIN postroom_emails e ON e.route = asked.route AND e.priority = lane.value
        WHERE {waiting} AND due_at <= :now
    ),
    EXISTS (
        SELECT 1
        FROM postroom_emails
        WHERE status = 'queued' AND status NOT IN ('sent', 'cancelled')
            AND (:routes IS NULL OR route IN (SELECT value FROM json_each(:routes)))
    );
