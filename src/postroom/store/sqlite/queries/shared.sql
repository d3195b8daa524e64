-- What the questions that Postroom asks SQLite have in common. They stand beside this file, by noun;
-- the same names stand in ../../postgres/queries.
-- SQLite has no writing CTEs, so a verb may be several statements; the writer's transaction holds them together.
-- It has one writer at a time and no row locks, so nothing needs SKIP LOCKED or FOR UPDATE.
-- Instants are microseconds since 1970; `:now` always comes from the caller, because all share one machine's clock.
-- The fields of an email are declared in ../../fields.py: `{given}` and `{content}` are what an enqueue stores as it is.

-- fragment: stored
{stored_fields}

-- Of an email of more than `:whole` octets the content stays where it is, and its size says so. Whether anybody at all is
-- not to be mailed is looked up once: nearly always nobody is, and then no worker has to ask about these.
-- fragment: claimed_columns
{claimed_fields}, CASE WHEN c.size <= :whole THEN c.text END, CASE WHEN c.size <= :whole THEN c.html END,
:now, CASE WHEN c.size > :whole THEN c.size ELSE 0 END, EXISTS (SELECT 1 FROM postroom_suppressions WHERE id > '')

-- fragment: waiting
status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL

-- The routes that are asked about: those of `:routes`, or every one on which something waits. These are found by hops
-- along the index, one probe for each, however much waits.
-- fragment: asked_routes
hops (route) AS (
    SELECT ''
    WHERE :routes IS NULL
    UNION ALL
    SELECT (SELECT min(route) FROM postroom_emails WHERE {waiting} AND route > hops.route)
    FROM hops
    WHERE hops.route IS NOT NULL
),
asked (route) AS MATERIALIZED (
    SELECT value
    FROM json_each(:routes)
    UNION ALL
    SELECT route
    FROM hops
    WHERE route > ''
)

-- Move what was picked to another route, with what histories, stream and terms say of it. The default route is no term.
-- fragment: reroute
INSERT INTO postroom_events (email_id, at, what, attempt, actor, detail)
SELECT e.id, :now, 'rerouted', e.attempts, :actor, :detail
FROM postroom_picked
CROSS JOIN postroom_emails e ON e.id = postroom_picked.id
ORDER BY e.id;
INSERT INTO postroom_changes (at, changes)
SELECT :now, json_group_array(json_array(e.id, 'rerouted', e.attempts, e.kind, e.workspace))
FROM postroom_picked
CROSS JOIN postroom_emails e ON e.id = postroom_picked.id
GROUP BY 1;
DELETE FROM postroom_terms
WHERE term = 'route:' || :route AND email_id IN (SELECT id FROM postroom_picked);
INSERT OR IGNORE INTO postroom_terms (term, email_id)
SELECT 'route:' || :onto, id
FROM postroom_picked
WHERE :onto <> 'default';
UPDATE postroom_emails
SET route = :onto
WHERE id IN (SELECT id FROM postroom_picked)

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

-- Claims as the worker names them.
-- fragment: claims
(SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.token') AS token FROM json_each(:claims)) AS mine

-- A prospect as it is read, `p` being the table.
-- fragment: prospect
p.id, p.address, p.name, p.fields, p.timezone, p.language
