-- Who can be written to. Every query is about one workspace.

-- Nothing to say: SQLite plans by its indexes, whatever the tables hold.
-- name: plan_afresh
SELECT 1;

-- Those of these addresses, in lower case, that are known.
-- name: prospects_by_address
SELECT p.normal_address, {prospect}
FROM postroom_prospects p
WHERE p.workspace = :workspace
    AND p.normal_address IN (SELECT value FROM json_each(:addresses));

-- Those of these ids that are known.
-- name: prospects_by_id
SELECT p.normal_address, {prospect}
FROM postroom_prospects p
WHERE p.workspace = :workspace
    AND p.id IN (SELECT value FROM json_each(:ids));

-- Take prospects in; the addresses of those whose id and address were free.
-- name: add_prospects
INSERT INTO postroom_prospects (
    workspace, id, address, normal_address, name, fields, timezone, language, created_at, updated_at
)
SELECT
    :workspace, json_extract(value, '$.id'), json_extract(value, '$.address'), json_extract(value, '$.normal_address'),
    json_extract(value, '$.name'), json_extract(value, '$.fields'), json_extract(value, '$.timezone'),
    json_extract(value, '$.language'), :now, :now
FROM json_each(:prospects)
WHERE true
ON CONFLICT DO NOTHING
RETURNING normal_address;

-- Change prospects; the addresses of those that are there. With the limit, which is none, SQLite does not take the list
-- apart: else it goes through the whole workspace for each of its lines.
-- name: update_prospects
UPDATE postroom_prospects
SET address = n.address,
    name = n.name,
    fields = n.fields,
    timezone = n.timezone,
    language = n.language,
    updated_at = :now
FROM (
    SELECT
        :workspace AS workspace, json_extract(value, '$.id') AS id, json_extract(value, '$.address') AS address,
        json_extract(value, '$.name') AS name, json_extract(value, '$.fields') AS fields,
        json_extract(value, '$.timezone') AS timezone, json_extract(value, '$.language') AS language
    FROM json_each(:prospects)
    LIMIT -1
) AS n
WHERE postroom_prospects.workspace = n.workspace AND postroom_prospects.id = n.id
RETURNING normal_address;

-- How many there are.
-- name: count_prospects
SELECT count(*)
FROM postroom_prospects
WHERE workspace = :workspace;
