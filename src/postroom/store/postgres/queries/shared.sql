-- What the questions that Postroom asks PostgreSQL have in common. They stand beside this file, by noun;
-- the same names stand in ../../sqlite/queries.
-- `:now` is null in production: the database's clock decides. Tests pass a time of their own.
-- Lists travel as one JSON text, because every driver can send a text.
-- The fields of an email are declared in ../../fields.py: `{given}` and `{content}` are what an enqueue stores as it is.

-- fragment: now
coalesce((:now::text)::timestamptz, statement_timestamp())

-- fragment: stored
{stored_fields}

-- fragment: waiting
status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL

-- The routes that are asked about: those of `:routes`, or every one on which something waits. These are found by hops
-- along the index, one probe for each, however much waits.
-- fragment: asked_routes
hops (route) AS (
    SELECT ''
    WHERE :routes::text IS NULL
    UNION ALL
    SELECT (SELECT min(route) FROM postroom.emails WHERE {waiting} AND route > hops.route)
    FROM hops
    WHERE hops.route IS NOT NULL
),
asked (route) AS MATERIALIZED (
    SELECT json_array_elements_text((:routes::text)::json)
    UNION ALL
    SELECT route
    FROM hops
    WHERE route > ''
)

-- What histories, stream and terms say of emails that were `moved` from one route to another. The default route is no term.
-- fragment: rerouted
new_events AS (
    INSERT INTO postroom.events (email_id, at, what, attempt, actor, detail)
    SELECT id, {now}, 'rerouted', attempts, :actor::text, :detail::text
    FROM moved
    ORDER BY id
),
new_changes AS (
    INSERT INTO postroom.changes (at, changes)
    SELECT {now}, json_agg(json_build_array(id, 'rerouted', attempts, kind, workspace))::text
    FROM moved
    HAVING count(*) > 0
),
old_terms AS (
    DELETE FROM postroom.terms
    WHERE term = 'route:' || :route::text AND email_id = ANY (ARRAY (SELECT id FROM moved))
),
new_terms AS (
    INSERT INTO postroom.terms (term, email_id)
    SELECT 'route:' || :onto::text, id
    FROM moved
    WHERE :onto::text <> 'default'
    ON CONFLICT DO NOTHING
)

-- Of an email of more than `:whole` octets the content stays where it is, and its size says so. Whether anybody at all is
-- not to be mailed is looked up once: nearly always nobody is, and then no worker has to ask about these.
-- fragment: claimed_columns
{claimed_fields}, CASE WHEN c.size <= :whole::bigint THEN c.text END, CASE WHEN c.size <= :whole::bigint THEN c.html END,
{now}, CASE WHEN c.size > :whole::bigint THEN c.size ELSE 0 END, EXISTS (SELECT FROM postroom.suppressions)

-- Claims that are still ours, locked in one order: a settle of the same emails goes by it too, so neither waits for the
-- other for ever. `IS TRUE` keeps the planner on the primary key, whatever it believes of statuses.
-- fragment: still_ours
mine AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset((:claims::text)::json) AS m (id uuid, token bigint)
),
ours AS MATERIALIZED (
    SELECT e.id, e.status
    FROM postroom.emails e
    JOIN mine ON mine.id = e.id
    WHERE e.id = ANY (ARRAY (SELECT id FROM mine)) AND e.lease_token = mine.token
        AND (e.status IN ('queued', 'sending')) IS TRUE
    ORDER BY e.id
    FOR UPDATE OF e
)

-- A prospect as it is read, `p` being the table.
-- fragment: prospect
p.id, p.address, p.name, p.fields, p.timezone, p.language
