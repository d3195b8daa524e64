-- Who can be written to. Every query is about one workspace.

-- Until the transaction ends, statements are planned for the tables as they are now. A plan that was made on the first
-- rows of an import may take an index that does for few, and is kept for the next hundred thousand.
-- name: plan_afresh
SET LOCAL plan_cache_mode TO force_custom_plan;

-- Those of these addresses, in lower case, that are known. They are looked up one by one, for the limit lets nothing else
-- be done: before PostgreSQL knows how much one workspace has, it takes that for little, and reads it all.
-- name: prospects_by_address
SELECT found.*
FROM json_array_elements_text((:addresses::text)::json) AS wanted (address)
CROSS JOIN LATERAL (
    SELECT p.normal_address, {prospect}
    FROM postroom.prospects p
    WHERE p.workspace = :workspace::text AND p.normal_address = wanted.address
    LIMIT 1
) AS found;

-- Those of these ids that are known.
-- name: prospects_by_id
SELECT found.*
FROM json_array_elements_text((:ids::text)::json) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT p.normal_address, {prospect}
    FROM postroom.prospects p
    WHERE p.workspace = :workspace::text AND p.id = wanted.id
    LIMIT 1
) AS found;

-- Take prospects in; the addresses of those whose id and address were free. In the order of addresses, so that two who take
-- the same ones in wait for each other and not crosswise.
-- name: add_prospects
INSERT INTO postroom.prospects (
    workspace, id, address, normal_address, name, fields, timezone, language, created_at, updated_at
)
SELECT
    :workspace::text, n.id, n.address, n.normal_address, n.name, n.fields, n.timezone, n.language, {now}, {now}
FROM json_to_recordset((:prospects::text)::json) AS n (
    id text, address text, normal_address text, name text, fields text, timezone text, language text
)
ORDER BY n.normal_address
ON CONFLICT DO NOTHING
RETURNING normal_address;

-- Change prospects; the addresses of those that are there. Written as an insert that always meets what is there, so that
-- each is looked up by its id.
-- name: update_prospects
INSERT INTO postroom.prospects (
    workspace, id, address, normal_address, name, fields, timezone, language, created_at, updated_at
)
SELECT
    :workspace::text, n.id, n.address, before.normal_address, n.name, n.fields, n.timezone, n.language,
    before.created_at, {now}
FROM json_to_recordset((:prospects::text)::json) AS n (
    id text, address text, name text, fields text, timezone text, language text
)
CROSS JOIN LATERAL (
    SELECT p.normal_address, p.created_at
    FROM postroom.prospects p
    WHERE p.workspace = :workspace::text AND p.id = n.id
    LIMIT 1
) AS before
ORDER BY before.normal_address
ON CONFLICT (workspace, id) DO UPDATE
SET address = excluded.address,
    name = excluded.name,
    fields = excluded.fields,
    timezone = excluded.timezone,
    language = excluded.language,
    updated_at = excluded.updated_at
RETURNING normal_address;

-- How many there are.
-- name: count_prospects
SELECT count(*)
FROM postroom.prospects
WHERE workspace = :workspace::text;
