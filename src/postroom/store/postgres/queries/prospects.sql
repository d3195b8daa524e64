-- Who can be written to. Every query is about one workspace.

-- Those of these addresses, in lower case, that are known.
-- name: prospects_by_address
SELECT p.normal_address, {prospect}
FROM postroom.prospects p
WHERE p.workspace = :workspace::text
    AND p.normal_address = ANY (ARRAY (SELECT json_array_elements_text((:addresses::text)::json)));

-- Those of these ids that are known.
-- name: prospects_by_id
SELECT p.normal_address, {prospect}
FROM postroom.prospects p
WHERE p.workspace = :workspace::text
    AND p.id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)));

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

-- Change prospects; the addresses of those that are there.
-- name: update_prospects
UPDATE postroom.prospects p
SET address = n.address,
    name = n.name,
    fields = n.fields,
    timezone = n.timezone,
    language = n.language,
    updated_at = {now}
FROM json_to_recordset((:prospects::text)::json) AS n (
    id text, address text, name text, fields text, timezone text, language text
)
WHERE p.workspace = :workspace::text AND p.id = n.id
RETURNING p.normal_address;

-- How many there are.
-- name: count_prospects
SELECT count(*)
FROM postroom.prospects
WHERE workspace = :workspace::text;
