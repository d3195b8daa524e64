-- Every question Postroom asks SQLite. The same names stand in ../postgres/queries.sql.
-- SQLite has no writing CTEs, so a verb may be several statements; the writer's transaction holds them together.
-- It has one writer at a time and no row locks, so nothing needs SKIP LOCKED or FOR UPDATE.
-- Instants are microseconds since 1970; `:now` always comes from the caller, because all share one machine's clock.
-- The fields of an email are declared in ../fields.py: `{given}` and `{content}` are what an enqueue stores as it is.

-- fragment: stored
{stored_fields}

-- fragment: residual
(:status IS NULL OR e.status = :status)
    AND (:kind IS NULL OR e.kind = :kind)
    AND (:workspace IS NULL OR e.workspace = :workspace)
    AND (:workspaces IS NULL OR e.workspace IN (SELECT value FROM json_each(:workspaces)))
    AND (:since IS NULL OR e.created_at >= :since)
    AND (:until IS NULL OR e.created_at < :until)
    AND (:reply_code IS NULL OR e.reply_code = :reply_code)
    AND (:subject IS NULL OR instr(lower(c.subject), :subject) > 0)
    AND NOT EXISTS (
        SELECT 1
        FROM json_each(:terms) AS wanted
        WHERE NOT EXISTS (SELECT 1 FROM postroom_terms t WHERE t.term = wanted.value AND t.email_id = e.id)
    )

-- Of an email of more than `:whole` octets the content stays where it is, and its size says so.
-- fragment: claimed_columns
{claimed_fields}, CASE WHEN c.size <= :whole THEN c.text END, CASE WHEN c.size <= :whole THEN c.html END,
:now, CASE WHEN c.size > :whole THEN c.size ELSE 0 END

-- Emails that may enter: those without a key, and those whose key is theirs.
-- fragment: accepted
FROM json_each(:emails) AS incoming
WHERE json_extract(value, '$.key') IS NULL
    OR EXISTS (
        SELECT 1
        FROM postroom_keys k
        WHERE k.workspace = json_extract(value, '$.workspace')
            AND k.key = json_extract(value, '$.key')
            AND k.email_id = json_extract(value, '$.id')
    )

-- Take emails in. A key that is there already leaves its email out.
-- name: enqueue
INSERT INTO postroom_keys (workspace, key, email_id, fingerprint, created_at)
SELECT
    json_extract(value, '$.workspace'), json_extract(value, '$.key'), json_extract(value, '$.id'),
    json_extract(value, '$.fingerprint'), :now
FROM json_each(:emails)
WHERE json_extract(value, '$.key') IS NOT NULL
ON CONFLICT DO NOTHING;
INSERT INTO postroom_contents (email_id, {content}, terms)
SELECT json_extract(value, '$.id'), {content_members}, json_extract(value, '$.terms')
{accepted};
INSERT INTO postroom_terms (term, email_id)
SELECT term.value, accepted.id
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.terms') AS terms {accepted}) AS accepted,
    json_each(accepted.terms) AS term;
INSERT INTO postroom_attachment_uses (digest, email_id)
SELECT attachment.value, accepted.id
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.attachments') AS attachments {accepted}) AS accepted,
    json_each(accepted.attachments) AS attachment;
INSERT INTO postroom_tallies (minute, name, change)
SELECT :now / 60000000 * 60000000, 'enqueued', count(*)
{accepted}
HAVING count(*) > 0;
INSERT INTO postroom_emails (
    id, status, due_at, created_at, lease_token, leased_until, worker, key, {given}
)
SELECT
    json_extract(value, '$.id'), json_extract(value, '$.status'), coalesce(json_extract(value, '$.due_at'), :now), :now,
    json_extract(value, '$.lease_seconds') IS NOT NULL,
    CAST(:now + json_extract(value, '$.lease_seconds') * 1000000 AS INTEGER), json_extract(value, '$.worker'),
    json_extract(value, '$.key'), {given_members}
{accepted}
RETURNING id;

-- Take one email in that has no key and carries nothing: the same as `enqueue`, without the detours.
-- name: enqueue_one
INSERT INTO postroom_contents (email_id, {content}, terms)
VALUES (:id, {content_parameters}, :terms);
INSERT INTO postroom_terms (term, email_id)
SELECT value, :id
FROM json_each(:terms);
INSERT INTO postroom_tallies (minute, name, change)
VALUES (:now / 60000000 * 60000000, 'enqueued', 1);
INSERT INTO postroom_emails (id, status, due_at, created_at, {given})
VALUES (:id, 'pending', coalesce(:due_at, :now), :now, {given_parameters});

-- The tally of emails that arrived row by row.
-- name: copied
INSERT INTO postroom_tallies (minute, name, change)
VALUES (:now / 60000000 * 60000000, 'enqueued', :count);

-- The clock that due times are compared with.
-- name: clock
SELECT :now;

-- Who came first under these keys.
-- name: first_under_key
SELECT k.workspace, k.key, k.email_id, k.fingerprint
FROM json_each(:keys) AS wanted
JOIN postroom_keys k
    ON k.workspace = json_extract(wanted.value, '$.workspace') AND k.key = json_extract(wanted.value, '$.key');

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

-- What UPDATE … RETURNING cannot do here is join: the ids of a claim wait in a table of the connection's own.
-- name: prepare_connection
CREATE TEMP TABLE IF NOT EXISTS postroom_picked (id TEXT NOT NULL PRIMARY KEY, worker TEXT) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS postroom_outcomes (
    id TEXT, status TEXT, due_at INTEGER, attempts INTEGER, dead_reason TEXT, last_error TEXT, reply_code INTEGER,
    reply TEXT, outcomes TEXT, doubts INTEGER, takeovers INTEGER, event TEXT, detail TEXT
);

-- fragment: waiting
status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL

-- What was picked is read when others may write again: what somebody has taken over in the meantime is theirs.
-- Two tables in one term, for a term about emails alone has SQLite read all of them first, to make a filter of them.
-- fragment: still_ours
e.worker = iif(postroom_picked.id > '', :worker, NULL)

-- CROSS JOIN keeps SQLite from starting with all emails. LEFT JOIN: an email whose content is gone is its claimer's to
-- settle, not nobody's.
-- fragment: picked
SELECT {claimed_columns}, postroom_picked.worker
FROM postroom_picked
CROSS JOIN postroom_emails e ON e.id = postroom_picked.id
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE {still_ours}

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

-- Take the emails whose turn it is, each lane up to its share; what a lane leaves unused goes to the next one.
-- `…_open` is 0 for a lane of which nothing is wanted, whatever the others leave, else 1.
-- name: claim
DELETE FROM postroom_picked;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND priority = 0 AND due_at <= :now
ORDER BY due_at, id
LIMIT :urgent_open * :urgent;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND priority = 1 AND due_at <= :now
ORDER BY due_at, id
LIMIT :normal_open * (:urgent + :normal - (SELECT count(*) FROM postroom_picked));
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND priority = 2 AND due_at <= :now
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
{picked}
ORDER BY e.priority, e.due_at, e.id;

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

-- Claims as the worker names them.
-- fragment: claims
(SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.token') AS token FROM json_each(:claims)) AS mine

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

-- Lease due emails to a scheduler, which will name them in messages to a broker; each lane has a queue of its own.
-- name: reserve
DELETE FROM postroom_picked;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND priority = 0 AND due_at <= :now
ORDER BY due_at, id
LIMIT :urgent;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND priority = 1 AND due_at <= :now
ORDER BY due_at, id
LIMIT :normal;
INSERT INTO postroom_picked (id)
SELECT id
FROM postroom_emails
WHERE {waiting} AND priority = 2 AND due_at <= :now
ORDER BY due_at, id
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
{picked}
ORDER BY e.priority, e.due_at, e.id;

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
RETURNING id;

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
RETURNING id, attempts;

-- Reserved, and found to have used up their attempts: what was said last stays.
-- name: give_up
INSERT INTO postroom_events (email_id, at, what, attempt, detail)
SELECT e.id, :now, 'failed', e.attempts, '{"outcome":"dead","dead_reason":"max_attempts"}'
FROM {claims}
CROSS JOIN postroom_emails e ON e.id = mine.id
WHERE e.lease_token = mine.token AND e.status = 'queued'
ORDER BY e.id;
INSERT INTO postroom_tallies (minute, name, change)
SELECT :now / 60000000 * 60000000, 'died', count(*)
FROM {claims}
CROSS JOIN postroom_emails e ON e.id = mine.id
WHERE e.lease_token = mine.token AND e.status = 'queued'
HAVING count(*) > 0;
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
SELECT
    EXISTS (SELECT 1 FROM postroom_emails WHERE {waiting} AND due_at <= :now),
    EXISTS (SELECT 1 FROM postroom_emails WHERE status = 'queued' AND status NOT IN ('sent', 'cancelled'));

-- What emails, history and counts say of outcomes. One row names the settled, for each row costs the reading thread its
-- turn.
-- fragment: told
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

-- Look at emails before an act; the writer's transaction is the lock.
-- name: lock
SELECT e.id, e.status, e.attempts, e.max_attempts, e.outcomes, e.version, e.doubts, e.due_at
FROM postroom_emails e
WHERE e.id IN (SELECT value FROM json_each(:ids))
ORDER BY e.id;

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

-- Write down who did what.
-- name: record
INSERT INTO postroom_events (email_id, at, what, attempt, actor, detail)
SELECT
    json_extract(value, '$.email_id'), :now, json_extract(value, '$.what'), json_extract(value, '$.attempt'),
    json_extract(value, '$.actor'), json_extract(value, '$.detail')
FROM json_each(:events);

-- Append changes to be summed.
-- name: tally
INSERT INTO postroom_tallies (minute, name, change)
SELECT :now / 60000000 * 60000000, json_extract(value, '$.name'), json_extract(value, '$.change')
FROM json_each(:changes);

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

-- Remove emails altogether. Their keys stay; so do the events of dismissed ones, until they are swept.
-- name: forget
DELETE FROM postroom_terms
WHERE (term, email_id) IN (
    SELECT term.value, c.email_id
    FROM json_each(:ids) AS gone
    JOIN postroom_contents c ON c.email_id = gone.value,
        -- Damaged ones are left behind: no list finds an email by them that is not there.
        json_each(iif(json_valid(c.terms), c.terms, '[]')) AS term
);
DELETE FROM postroom_contents
WHERE email_id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_attachment_uses
WHERE email_id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_events
WHERE :events AND email_id IN (SELECT value FROM json_each(:ids));
DELETE FROM postroom_emails
WHERE id IN (SELECT value FROM json_each(:ids))
RETURNING id;

-- One email.
-- name: get
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = :id;

-- The content of one version of an email.
-- name: content
SELECT c.subject, c.message_id, c.envelope, c.text, c.html, c.terms
FROM postroom_contents c
WHERE c.email_id = :id AND c.version = :version;

-- The story of these emails, oldest first. CROSS JOIN keeps SQLite from walking through all events by id.
-- name: history
SELECT v.email_id, v.at, v.what, v.attempt, v.actor, v.detail
FROM json_each(:ids) AS wanted
CROSS JOIN postroom_events v ON v.email_id = wanted.value
ORDER BY v.id;

-- Newest first, by id alone. LEFT JOIN, because an email whose content is gone is an email all the same.
-- name: list_newest
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id < :before AND e.id >= :after
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit;

-- Newest first within an unfinished status.
-- name: list_by_status
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.status = :driving AND e.status NOT IN ('sent', 'cancelled')
    AND e.id < :before AND e.id >= :after
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit;

-- Newest first among the cancelled, who are few beside those that were sent.
-- name: list_cancelled
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.status = 'cancelled'
    AND e.id < :before AND e.id >= :after
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit;

-- Newest first among the sent, however many newer ones still wait.
-- name: list_sent
SELECT {stored}
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.status = 'sent'
    AND e.id < :before AND e.id >= :after
    AND {residual}
ORDER BY e.id DESC
LIMIT :limit;

-- Newest first among the emails with one exact term.
-- name: list_by_term
SELECT {stored}
FROM postroom_terms driving
CROSS JOIN postroom_emails e ON e.id = driving.email_id
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE driving.term = :driving
    AND driving.email_id < :before AND driving.email_id >= :after
    AND {residual}
ORDER BY driving.email_id DESC
LIMIT :limit;

-- How many emails wait, by status, from the index of the unfinished, however many have finished; and what has been
-- counted along the way.
-- name: count_unfinished
SELECT 'row', status, count(*)
FROM postroom_emails
WHERE status NOT IN ('sent', 'cancelled')
GROUP BY status
UNION ALL
SELECT 'tally', name, sum(change)
FROM postroom_tallies
GROUP BY name;

-- Every row counted, finished ones too: for the check of the sum, not for a dashboard.
-- name: count_all
SELECT 'row', status, count(*)
FROM postroom_emails
GROUP BY status
UNION ALL
SELECT 'tally', name, sum(change)
FROM postroom_tallies
GROUP BY name;

-- How long the oldest due email has waited.
-- name: oldest_due
SELECT min(due_at)
FROM (
    SELECT (
        SELECT due_at
        FROM postroom_emails
        WHERE {waiting} AND priority = lane.value AND due_at <= :now
        ORDER BY due_at, id
        LIMIT 1
    ) AS due_at
    FROM json_each('[0, 1, 2]') AS lane
);

-- How many emails are due, from the index of what waits.
-- name: due
SELECT count(*)
FROM postroom_emails
WHERE {waiting} AND due_at <= :now;

-- When the next email comes due, this side of the future or beyond.
-- name: next_due
SELECT min(due_at)
FROM (
    SELECT (
        SELECT due_at
        FROM postroom_emails
        WHERE {waiting} AND priority = lane.value
        ORDER BY due_at, id
        LIMIT 1
    ) AS due_at
    FROM json_each('[0, 1, 2]') AS lane
);

-- Finished emails past their keep, oldest first. The id bound keeps the scan off younger rows.
-- name: prunable
SELECT e.id, e.status
FROM postroom_emails e
WHERE e.id < :younger
    AND e.status IN (SELECT value FROM json_each(:statuses))
    AND e.finished_at < :before
ORDER BY e.id
LIMIT :limit;

-- Everything about these emails, for the archive.
-- name: archive
SELECT {stored}, c.text, c.html
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id IN (SELECT value FROM json_each(:ids))
ORDER BY e.id;

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

-- Keys past their keep whose email is gone.
-- name: sweep_keys
DELETE FROM postroom_keys
WHERE (workspace, key) IN (
    SELECT k.workspace, k.key
    FROM postroom_keys k
    WHERE k.created_at < :before
        AND NOT EXISTS (SELECT 1 FROM postroom_emails e WHERE e.id = k.email_id)
    LIMIT :limit
)
RETURNING email_id;

-- Events past their keep whose email is gone.
-- name: sweep_events
DELETE FROM postroom_events
WHERE id IN (
    SELECT v.id
    FROM postroom_events v
    WHERE v.at < :before
        AND NOT EXISTS (SELECT 1 FROM postroom_emails e WHERE e.id = v.email_id)
    ORDER BY v.id
    LIMIT :limit
)
RETURNING id;

-- Sum up tallies: minutes for two days, hours for forty, then days. Gains and losses stay apart for the charts.
-- name: compact_tallies
CREATE TEMP TABLE IF NOT EXISTS postroom_sums (minute INTEGER, name TEXT, change INTEGER);
DELETE FROM postroom_sums;
INSERT INTO postroom_sums (minute, name, change)
SELECT
    CASE
        WHEN minute >= :now - 172800000000 THEN minute
        WHEN minute >= :now - 3456000000000 THEN minute / 3600000000 * 3600000000
        ELSE minute / 86400000000 * 86400000000
    END AS moment,
    name,
    sum(change)
FROM postroom_tallies
WHERE minute < :now / 60000000 * 60000000
GROUP BY moment, name, sign(change);
DELETE FROM postroom_tallies
WHERE minute < :now / 60000000 * 60000000;
INSERT INTO postroom_tallies (minute, name, change)
SELECT minute, name, change
FROM postroom_sums;

-- The writer's transaction is lock enough.
-- name: try_compaction
SELECT 1;

-- What happened per minute.
-- name: tallies_since
SELECT minute, name, sum(change)
FROM postroom_tallies
WHERE minute >= :since AND change > 0
GROUP BY minute, name
ORDER BY minute, name;

-- A sign of life.
-- name: heartbeat
INSERT INTO postroom_workers (name, role, host, version, started_at, seen_at, in_flight, rate, broker)
VALUES (:name, :role, :host, :version, :now, :now, :in_flight, :rate, :broker)
ON CONFLICT (name) DO UPDATE
SET seen_at = excluded.seen_at, in_flight = excluded.in_flight, rate = excluded.rate, broker = excluded.broker;

-- The last word of a worker that stops.
-- name: retire_worker
DELETE FROM postroom_workers
WHERE name = :name OR seen_at < :now - 86400000000;

-- Who works here.
-- name: workers
SELECT name, role, host, version, started_at, seen_at, in_flight, rate, broker
FROM postroom_workers
ORDER BY name;

-- The state of a transport: breaker and rate are shared by all workers.
-- name: lock_transport
INSERT INTO postroom_transports (name, updated_at)
VALUES (:name, :now)
ON CONFLICT DO NOTHING;
SELECT state, reason, since, next_probe_at, step, failures, failed_at, arrival, :now
FROM postroom_transports
WHERE name = :name;

-- What was learnt of a transport.
-- name: change_transport
UPDATE postroom_transports
SET state = :state,
    reason = :reason,
    since = :since,
    next_probe_at = :next_probe_at,
    step = :step,
    failures = :failures,
    failed_at = :failed_at,
    updated_at = :now
WHERE name = :name;

-- How far ahead the rate of a transport is reserved.
-- name: change_arrival
UPDATE postroom_transports
SET arrival = :arrival
WHERE name = :name;

-- How every transport is doing.
-- name: transports
SELECT name, state, reason, since, next_probe_at, step, failures, failed_at, :now
FROM postroom_transports
ORDER BY name;

-- People.

-- fragment: person
p.id, p.name, p.role, p.workspaces

-- The key of keyed hashes: the one that is there, or this one from now on.
-- name: people_secret
INSERT INTO postroom_people_secrets (name, value)
VALUES (:name, :value)
ON CONFLICT DO NOTHING;
SELECT value
FROM postroom_people_secrets
WHERE name = :name;

-- A new person; no row when the name is taken.
-- name: add_person
INSERT INTO postroom_people (id, name, role, workspaces, password, created_at)
VALUES (:id, :name, :role, :workspaces, :password, :now)
ON CONFLICT DO NOTHING
RETURNING id;

-- The person of a name.
-- name: find_person
SELECT {person}, p.password, p.created_at
FROM postroom_people p
WHERE p.name = :name;

-- Everybody.
-- name: people
SELECT {person}, p.password, p.created_at
FROM postroom_people p
ORDER BY p.name;

-- A new password ends every sign-in and every code.
-- name: change_password
DELETE FROM postroom_sessions
WHERE person_id = :id;
DELETE FROM postroom_codes
WHERE person_id = :id;
UPDATE postroom_people
SET password = :password
WHERE id = :id
RETURNING id;

-- A person may do something else from now on. What was begun under the old role ends.
-- name: change_role
DELETE FROM postroom_sessions
WHERE person_id = :id;
DELETE FROM postroom_codes
WHERE person_id = :id;
UPDATE postroom_people
SET role = :role,
    workspaces = :workspaces
WHERE id = :id
RETURNING id;

-- A person goes, with sign-ins, codes and tokens.
-- name: remove_person
DELETE FROM postroom_people
WHERE id = :id
RETURNING id;

-- What is remembered of a name that was typed. The writer's transaction is lock enough.
-- name: lock_door
DELETE FROM postroom_doors
WHERE updated_at < :now - 345600000000 AND name <> :name;
INSERT INTO postroom_doors (name, updated_at)
VALUES (:name, :now)
ON CONFLICT DO NOTHING;
SELECT failures, locks, failed_at, locked_until, :now
FROM postroom_doors
WHERE name = :name;

-- What is to be remembered of it.
-- name: change_door
UPDATE postroom_doors
SET failures = :failures,
    locks = :locks,
    failed_at = :failed_at,
    locked_until = :locked_until,
    updated_at = :now
WHERE name = :name;

-- A sign-in begins, or begins anew once it is complete; those whose time is up go.
-- name: begin_session
DELETE FROM postroom_sessions
WHERE expires_at <= :now;
INSERT INTO postroom_sessions (digest, person_id, stage, created_at, expires_at)
VALUES (:digest, :person, :stage, :now, :now + :seconds * 1000000);

-- The session of a token, if its time is not up.
-- name: find_session
SELECT {person}, s.stage, s.expires_at
FROM postroom_sessions s
JOIN postroom_people p ON p.id = s.person_id
WHERE s.digest = :digest AND s.expires_at > :now;

-- A sign-out. The codes of a sign-in go with it.
-- name: end_session
DELETE FROM postroom_codes
WHERE session = :digest AND ended_at IS NOT NULL AND made_at < :now - 3600000000;
UPDATE postroom_codes
SET ended_at = coalesce(ended_at, :now)
WHERE session = :digest;
DELETE FROM postroom_sessions
WHERE digest = :digest
RETURNING digest;

-- Every sign-in of a person, or only those that were not completed.
-- name: end_sessions
DELETE FROM postroom_sessions
WHERE person_id = :person AND (:stage IS NULL OR stage = :stage)
RETURNING digest;

-- A new code, which ends those before it; one in the mail does not end one from the host.
-- The times of codes stay for an hour, to be counted.
-- name: put_code
DELETE FROM postroom_codes
WHERE person_id = :person AND made_at < :now - 3600000000;
UPDATE postroom_codes
SET ended_at = coalesce(ended_at, :now)
WHERE person_id = :person AND (session IS NOT NULL OR :session IS NULL);
INSERT INTO postroom_codes (id, person_id, session, digest, made_at, expires_at)
VALUES (:id, :person, :session, :digest, :now, :now + :seconds * 1000000);

-- When codes were mailed within the hour.
-- name: codes_sent
SELECT made_at
FROM postroom_codes
WHERE person_id = :person AND session IS NOT NULL AND made_at > :now - 3600000000
ORDER BY made_at;

-- Count a try at the codes that are good for this sign-in, before they are looked at; no row when there is none left.
-- name: try_code
UPDATE postroom_codes
SET tries = tries + 1
WHERE person_id = :person
    AND (session = :session OR session IS NULL)
    AND ended_at IS NULL
    AND expires_at > :now
    AND tries < :tries
RETURNING id, session, digest, tries;

-- The code was used, or tried too often.
-- name: end_codes
UPDATE postroom_codes
SET ended_at = coalesce(ended_at, :now)
WHERE person_id = :person;

-- A new token.
-- name: add_token
INSERT INTO postroom_tokens (id, digest, person_id, label, scope, workspaces, created_at, expires_at)
VALUES (:id, :digest, :person, :label, :scope, :workspaces, :now, :expires_at);

-- The token that was shown, if its time is not up.
-- name: find_token
SELECT t.id, t.label, t.scope, t.workspaces, t.created_at, t.expires_at, {person}
FROM postroom_tokens t
JOIN postroom_people p ON p.id = t.person_id
WHERE t.digest = :digest AND (t.expires_at IS NULL OR t.expires_at > :now);

-- The tokens of a person.
-- name: tokens
SELECT t.id, t.label, t.scope, t.workspaces, t.created_at, t.expires_at, {person}
FROM postroom_tokens t
JOIN postroom_people p ON p.id = t.person_id
WHERE t.person_id = :person
ORDER BY t.id;

-- A token is good no more.
-- name: revoke_token
DELETE FROM postroom_tokens
WHERE id = :id AND person_id = :person
RETURNING id;

-- Somebody did something.
-- name: write_audit
INSERT INTO postroom_audit (at, actor, what, address, detail)
VALUES (:now, :actor, :what, :address, :detail);

-- The newest line of the audit log.
-- name: newest_audit
SELECT coalesce(max(id), 0)
FROM postroom_audit;

-- Who did what, newest first, between two lines.
-- name: read_audit
SELECT id, at, actor, what, address, detail
FROM postroom_audit
WHERE id < :before
    AND id > :after
    AND (:actor IS NULL OR actor = :actor)
    AND (:what IS NULL OR what = :what)
ORDER BY id DESC
LIMIT :limit;

-- The desk.

-- The versions of an email's content, in short.
-- name: versions
SELECT version, subject, envelope, size
FROM postroom_contents
WHERE email_id = :id
ORDER BY version;

-- What the newest dead emails died of. Errors that begin alike are told apart no further here.
-- name: failures
SELECT dead_reason, reply_code, beginning, count(*) AS emails, max(id)
FROM (
    SELECT id, dead_reason, reply_code, workspace, substr(last_error, 1, 120) AS beginning
    FROM postroom_emails
    WHERE status = 'dead' AND status NOT IN ('sent', 'cancelled')
    ORDER BY id DESC
    LIMIT :limit
) AS newest
WHERE :workspaces IS NULL OR workspace IN (SELECT value FROM json_each(:workspaces))
GROUP BY dead_reason, reply_code, beginning
ORDER BY emails DESC;

-- How many of the newest emails in an unfinished status were looked at, and how many belong to some workspaces.
-- name: count_unfinished_within
SELECT count(*), coalesce(sum(workspace IN (SELECT value FROM json_each(:workspaces))), 0)
FROM (
    SELECT workspace
    FROM postroom_emails
    WHERE status = :status AND status NOT IN ('sent', 'cancelled')
    ORDER BY id DESC
    LIMIT :limit
) AS newest;

-- The same among the cancelled.
-- name: count_cancelled_within
SELECT count(*), coalesce(sum(workspace IN (SELECT value FROM json_each(:workspaces))), 0)
FROM (
    SELECT workspace
    FROM postroom_emails
    WHERE status = 'cancelled'
    ORDER BY id DESC
    LIMIT :limit
) AS newest;

-- How many of the newest emails of one workspace were looked at, and how many of them were sent.
-- name: count_sent_within
SELECT count(*), coalesce(sum(e.status = 'sent'), 0)
FROM (
    SELECT email_id
    FROM postroom_terms
    WHERE term = :term
    ORDER BY email_id DESC
    LIMIT :limit
) AS newest
CROSS JOIN postroom_emails e ON e.id = newest.email_id;

-- The same for emails of no workspace, which is no term.
-- name: count_sent_without_workspace
SELECT count(*), coalesce(sum(status = 'sent' AND workspace = ''), 0)
FROM (
    SELECT status, workspace
    FROM postroom_emails
    ORDER BY id DESC
    LIMIT :limit
) AS newest;

-- How long the oldest due email of some workspaces has waited, among those whose turn comes first in each lane.
-- name: oldest_due_within
SELECT min(due_at)
FROM (
    SELECT due_at, workspace
    FROM (
        SELECT due_at, workspace FROM postroom_emails
        WHERE {waiting} AND priority = 0 AND due_at <= :now ORDER BY due_at, id LIMIT :limit
    )
    UNION ALL
    SELECT due_at, workspace
    FROM (
        SELECT due_at, workspace FROM postroom_emails
        WHERE {waiting} AND priority = 1 AND due_at <= :now ORDER BY due_at, id LIMIT :limit
    )
    UNION ALL
    SELECT due_at, workspace
    FROM (
        SELECT due_at, workspace FROM postroom_emails
        WHERE {waiting} AND priority = 2 AND due_at <= :now ORDER BY due_at, id LIMIT :limit
    )
) AS first
WHERE workspace IN (SELECT value FROM json_each(:workspaces));

-- Where these emails belong and stand.
-- name: placed
SELECT id, workspace, status
FROM postroom_emails
WHERE id IN (SELECT value FROM json_each(:ids));

-- The emails under a key in whichever workspace. Hops from workspace to workspace along the index of keys.
-- name: under_key_anywhere
WITH RECURSIVE workspaces (workspace) AS (
    SELECT min(workspace)
    FROM postroom_keys
    UNION ALL
    SELECT (SELECT min(k.workspace) FROM postroom_keys k WHERE k.workspace > w.workspace)
    FROM workspaces w
    WHERE w.workspace IS NOT NULL
)
SELECT k.workspace, k.email_id
FROM workspaces w
CROSS JOIN postroom_keys k ON k.workspace = w.workspace AND k.key = :key
ORDER BY k.email_id DESC;

-- What happened per hour: a day of minutes would be thousands of rows for one chart.
-- name: tallies_by_hour
SELECT minute / 3600000000 * 3600000000 AS hour, name, sum(change)
FROM postroom_tallies
WHERE minute >= :since AND change > 0
GROUP BY hour, name
ORDER BY hour, name;

-- What was applied of the schema.
-- name: applied_migrations
SELECT version, checksum
FROM postroom_migrations;

-- Where a list that looks at so many emails would end.
-- name: edge_newest
SELECT id
FROM postroom_emails
WHERE id < :before
ORDER BY id DESC
LIMIT 1 OFFSET :offset;

-- The same within an unfinished status.
-- name: edge_by_status
SELECT id
FROM postroom_emails
WHERE status = :driving AND status NOT IN ('sent', 'cancelled') AND id < :before
ORDER BY id DESC
LIMIT 1 OFFSET :offset;

-- The same among the cancelled.
-- name: edge_cancelled
SELECT id
FROM postroom_emails
WHERE status = 'cancelled' AND id < :before
ORDER BY id DESC
LIMIT 1 OFFSET :offset;

-- The same among the sent.
-- name: edge_sent
SELECT id
FROM postroom_emails
WHERE status = 'sent' AND id < :before
ORDER BY id DESC
LIMIT 1 OFFSET :offset;

-- The same among the emails with one exact term.
-- name: edge_by_term
SELECT email_id
FROM postroom_terms
WHERE term = :driving AND email_id < :before
ORDER BY email_id DESC
LIMIT 1 OFFSET :offset;

-- Metrics.

-- What has ever happened. Losses are left out, so that the sums only grow.
-- name: totals
SELECT name, sum(change)
FROM postroom_tallies
WHERE change > 0
GROUP BY name;
