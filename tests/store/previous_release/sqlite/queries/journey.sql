-- What workers asked before emails had routes. They run while the schema grows, and go on asking it.

-- name: prepare_connection
CREATE TEMP TABLE IF NOT EXISTS postroom_picked (id TEXT NOT NULL PRIMARY KEY, worker TEXT) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS postroom_outcomes (
    id TEXT, status TEXT, due_at INTEGER, attempts INTEGER, dead_reason TEXT, last_error TEXT, reply_code INTEGER,
    reply TEXT, outcomes TEXT, doubts INTEGER, takeovers INTEGER, event TEXT, detail TEXT
);

-- name: enqueue_one
INSERT INTO postroom_contents (email_id, subject, message_id, envelope, text, html, size, terms)
VALUES (:id, :subject, :message_id, :envelope, :text, :html, :size, :terms);
INSERT INTO postroom_terms (term, email_id)
SELECT value, :id
FROM json_each(:terms);
INSERT INTO postroom_tallies (minute, name, change)
VALUES (:now / 60000000 * 60000000, 'enqueued', 1);
INSERT INTO postroom_emails (id, status, due_at, created_at, priority, max_attempts, policy, on_doubt, sensitive, channel, kind, workspace, expires_at)
VALUES (:id, 'pending', coalesce(:due_at, :now), :now, :priority, :max_attempts, :policy, :on_doubt, :sensitive, :channel, :kind, :workspace, :expires_at);

-- name: claim
DELETE FROM postroom_picked;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL AND priority = 0 AND due_at <= :now
ORDER BY due_at, id
LIMIT :urgent_open * :urgent;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL AND priority = 1 AND due_at <= :now
ORDER BY due_at, id
LIMIT :normal_open * (:urgent + :normal - (SELECT count(*) FROM postroom_picked));
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL AND priority = 2 AND due_at <= :now
ORDER BY due_at, id
LIMIT :bulk_open * (:urgent + :normal + :bulk - (SELECT count(*) FROM postroom_picked));
UPDATE postroom_emails
SET status = 'sending',
    lease_token = lease_token + 1,
    leased_until = CAST(:now + :lease * 1000000 AS INTEGER),
    worker = :worker,
    dot_noted_at = NULL,
    last_attempt_at = :now
WHERE id IN (SELECT id FROM postroom_picked);
SELECT e.id, e.priority, e.due_at, e.attempts, e.max_attempts, e.lease_token, e.leased_until, e.dot_noted_at, e.doubts, e.takeovers, e.version, e.policy, e.on_doubt, e.sensitive, e.channel, e.kind, e.workspace, e.created_at, e.expires_at, e.outcomes, c.subject, c.message_id, c.envelope, CASE WHEN c.size <= :whole THEN c.text END, CASE WHEN c.size <= :whole THEN c.html END,
:now, CASE WHEN c.size > :whole THEN c.size ELSE 0 END, postroom_picked.worker
FROM postroom_picked
CROSS JOIN postroom_emails e ON e.id = postroom_picked.id
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.worker = iif(postroom_picked.id > '', :worker, NULL)
ORDER BY e.priority, e.due_at, e.id;

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
INSERT INTO postroom_events (email_id, at, what, attempt, detail)
SELECT id, :now, event, attempts, detail
FROM postroom_outcomes
WHERE event IS NOT NULL
ORDER BY id;
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
FROM postroom_outcomes;
