-- Whose turn it is, and what came of it: claims, leases, settles.

-- The emails of a route whose turn it is, each lane up to its share; what a lane leaves unused goes to the next one.
-- `…_open` is 0 for a lane of which nothing is wanted, whatever the others leave, else 1. None of them has been in doubt
-- more than `:doubts` times.
-- fragment: whose_turn
DELETE FROM postroom_picked;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND route = :route AND priority = 0 AND due_at <= :now AND doubts <= :doubts
ORDER BY due_at, id
LIMIT :urgent_open * :urgent;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND route = :route AND priority = 1 AND due_at <= :now AND doubts <= :doubts
ORDER BY due_at, id
LIMIT :normal_open * (:urgent + :normal - (SELECT count(*) FROM postroom_picked));
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND route = :route AND priority = 2 AND due_at <= :now AND doubts <= :doubts
ORDER BY due_at, id
LIMIT :bulk_open * (:urgent + :normal + :bulk - (SELECT count(*) FROM postroom_picked))

-- fragment: take
UPDATE postroom_emails
SET status = 'sending',
    lease_token = lease_token + 1,
    leased_until = CAST(:now + :lease * 1000000 AS INTEGER),
    worker = :worker,
    dot_noted_at = NULL,
    last_attempt_at = :now
WHERE id IN (SELECT id FROM postroom_picked)

-- Take the emails of a route whose turn it is.
-- name: claim
{whose_turn};
{take};
{picked};

-- The same for another route, by which they leave from now on.
-- name: claim_onto
{whose_turn};
{reroute};
{take};
{picked};

-- Take over emails whose owner let the lease run out, or is known to be dead. They come with a new token; the caller
-- must settle them.
-- name: take_over
DELETE FROM postroom_picked;
INSERT INTO postroom_picked (id, worker)
SELECT id, worker
FROM postroom_emails
WHERE status = 'sending' AND status NOT IN ('sent', 'cancelled') AND (leased_until < min(:now, coalesce(:believed, :now)) OR worker = :dead)
ORDER BY id
LIMIT :limit;
UPDATE postroom_emails
SET lease_token = lease_token + 1,
    leased_until = CAST(:now + :lease * 1000000 AS INTEGER),
    worker = :worker
WHERE id IN (SELECT id FROM postroom_picked);
{picked}
ORDER BY e.id;

-- Lengthen the leases that are still ours.
-- name: renew
UPDATE postroom_emails
SET leased_until = CAST(:now + :lease * 1000000 AS INTEGER)
FROM {claims}
WHERE postroom_emails.id = mine.id AND lease_token = mine.token AND status = 'sending'
RETURNING id, leased_until;

-- Note that the final dot of these emails may be about to leave.
-- name: note_dots
UPDATE postroom_emails
SET dot_noted_at = :now
FROM {claims}
WHERE postroom_emails.id = mine.id AND lease_token = mine.token AND status = 'sending'
RETURNING id;

-- Give back emails that were claimed and not tried; they are due as before.
-- name: release
UPDATE postroom_emails
SET status = CASE WHEN doubts > 0 THEN 'in_doubt' WHEN attempts = 0 THEN 'pending' ELSE 'retrying' END,
    leased_until = NULL,
    worker = NULL,
    dot_noted_at = NULL
FROM {claims}
WHERE postroom_emails.id = mine.id AND lease_token = mine.token AND status IN ('queued', 'sending')
RETURNING id;

-- Put emails back that were claimed and not tried; they are due then, and their history says why.
-- name: defer
INSERT INTO postroom_events (email_id, at, what, attempt, detail)
SELECT e.id, :now, 'deferred', e.attempts, :detail
FROM {claims}
CROSS JOIN postroom_emails e ON e.id = mine.id
WHERE e.lease_token = mine.token AND e.status IN ('queued', 'sending')
ORDER BY e.id;
INSERT INTO postroom_changes (at, changes)
SELECT :now, json_group_array(json_array(e.id, 'deferred', e.attempts, e.kind, e.workspace))
FROM {claims}
CROSS JOIN postroom_emails e ON e.id = mine.id
WHERE e.lease_token = mine.token AND e.status IN ('queued', 'sending')
GROUP BY 1;
UPDATE postroom_emails
SET status = CASE WHEN doubts > 0 THEN 'in_doubt' WHEN attempts = 0 THEN 'pending' ELSE 'retrying' END,
    due_at = :until,
    leased_until = NULL,
    worker = NULL,
    dot_noted_at = NULL
FROM {claims}
WHERE postroom_emails.id = mine.id AND lease_token = mine.token AND status IN ('queued', 'sending')
RETURNING id;

-- What emails, history, stream and counts say of outcomes. One row names the settled, for each row costs the reading thread its
-- turn.
-- fragment: told
INSERT INTO postroom_events (email_id, at, what, attempt, detail)
SELECT id, :now, event, attempts, detail
FROM postroom_outcomes
WHERE event IS NOT NULL
ORDER BY id;
INSERT INTO postroom_changes (at, changes)
SELECT :now, json_group_array(json_array(e.id, postroom_outcomes.status, postroom_outcomes.attempts, e.kind, e.workspace))
FROM postroom_outcomes
CROSS JOIN postroom_emails e ON e.id = postroom_outcomes.id
GROUP BY 1;
INSERT INTO postroom_tallies (minute, name, change)
SELECT
    :now / 60000000 * 60000000,
    CASE status WHEN 'sent' THEN 'sent' WHEN 'dead' THEN 'died' WHEN 'in_doubt' THEN 'doubted' ELSE 'retried' END AS name,
    count(*)
FROM postroom_outcomes
GROUP BY name;
UPDATE postroom_emails
SET status = postroom_outcomes.status,
    due_at = postroom_outcomes.due_at,
    attempts = postroom_outcomes.attempts,
    dead_reason = postroom_outcomes.dead_reason,
    last_error = postroom_outcomes.last_error,
    reply_code = postroom_outcomes.reply_code,
    reply = postroom_outcomes.reply,
    outcomes = postroom_outcomes.outcomes,
    doubts = postroom_outcomes.doubts,
    takeovers = postroom_outcomes.takeovers,
    sent_at = CASE WHEN postroom_outcomes.status = 'sent' THEN :now END,
    finished_at = CASE WHEN postroom_outcomes.status IN ('sent', 'dead') THEN :now END,
    leased_until = NULL,
    worker = NULL,
    dot_noted_at = NULL
FROM postroom_outcomes
WHERE postroom_emails.id = postroom_outcomes.id;
SELECT json_group_array(id)
FROM postroom_outcomes

-- Record what came of attempts. The fence: only the holder of the newest claim settles; or of the one before it, whose
-- email was taken over and put in doubt, was not claimed since, and is now known to have been sent.
-- The outcomes are read once into columns.
-- name: settle
DELETE FROM postroom_outcomes;
INSERT INTO postroom_outcomes
SELECT
    e.id, json_extract(o.value, '$.status'), json_extract(o.value, '$.due_at'), json_extract(o.value, '$.attempts'),
    json_extract(o.value, '$.dead_reason'), json_extract(o.value, '$.last_error'),
    json_extract(o.value, '$.reply_code'), json_extract(o.value, '$.reply'), json_extract(o.value, '$.outcomes'),
    json_extract(o.value, '$.doubts'), json_extract(o.value, '$.takeovers'), json_extract(o.value, '$.event'),
    json_extract(o.value, '$.detail')
FROM json_each(:outcomes) AS o
JOIN postroom_emails e
    ON e.id = json_extract(o.value, '$.id')
    AND (
        (e.status = 'sending' AND e.lease_token = json_extract(o.value, '$.token'))
        OR (
            e.status = 'in_doubt' AND e.lease_token = json_extract(o.value, '$.token') + 1
            AND json_extract(o.value, '$.status') = 'sent'
        )
    );
{told};

-- Record again what was accepted and then forgotten: no claim and no act has gone past the token under which it was
-- sent. The owner of that very claim settles it by itself. One that another has claimed anew may have left twice.
-- name: recall
DELETE FROM postroom_outcomes;
INSERT INTO postroom_outcomes
SELECT
    e.id, 'sent', NULL, json_extract(k.value, '$.attempts'), NULL, json_extract(k.value, '$.last_error'),
    json_extract(k.value, '$.reply_code'), json_extract(k.value, '$.reply'), json_extract(k.value, '$.outcomes'),
    e.doubts + (e.status = 'sending'), e.takeovers, 'sent',
    json_extract(k.value, CASE e.status WHEN 'sending' THEN '$.second_copy' ELSE '$.detail' END)
FROM json_each(:accepted) AS k
JOIN postroom_emails e
    ON e.id = json_extract(k.value, '$.id')
    AND e.version = json_extract(k.value, '$.version')
    AND (
        (
            e.status IN ('pending', 'queued', 'retrying', 'in_doubt')
            AND e.lease_token <= json_extract(k.value, '$.token')
        )
        OR (e.status = 'in_doubt' AND e.lease_token = json_extract(k.value, '$.token') + 1)
        OR (e.status = 'sending' AND e.lease_token < json_extract(k.value, '$.token'))
        OR (
            e.status = 'sending' AND e.lease_token = json_extract(k.value, '$.token')
            AND e.worker IS NOT json_extract(k.value, '$.worker')
        )
    );
{told};
