-- What campaigns write, step by step. Every query is about one workspace.

-- A new sequence at its first version; no row when the id is taken.
-- name: add_sequence
INSERT INTO postroom.sequences (workspace, id, name, version, created_at)
VALUES (:workspace::text, :id::text, :name::text, 1, {now})
ON CONFLICT DO NOTHING
RETURNING id;

-- One sequence, held until the transaction ends.
-- name: lock_sequence
SELECT id, name, version, created_at
FROM postroom.sequences
WHERE workspace = :workspace::text AND id = :id::text
FOR UPDATE;

-- One sequence.
-- name: find_sequence
SELECT id, name, version, created_at
FROM postroom.sequences
WHERE workspace = :workspace::text AND id = :id::text;

-- All sequences, by id, and how many steps the newest version of each has.
-- name: sequences
SELECT s.id, s.name, s.version, s.created_at, count(t.number)
FROM postroom.sequences s
LEFT JOIN postroom.steps t ON t.workspace = s.workspace AND t.sequence_id = s.id AND t.version = s.version
WHERE s.workspace = :workspace::text
GROUP BY s.id, s.name, s.version, s.created_at
ORDER BY s.id;

-- A version with its steps.
-- name: add_sequence_version
WITH version AS (
    INSERT INTO postroom.sequence_versions (workspace, sequence_id, version, created_at)
    VALUES (:workspace::text, :sequence::text, :version::integer, {now})
)
INSERT INTO postroom.steps (workspace, sequence_id, version, number, delay_days, subject, text, html, template)
SELECT
    :workspace::text, :sequence::text, :version::integer, n.number, n.delay_days, n.subject, n.text, n.html, n.template
FROM json_to_recordset((:steps::text)::json) AS n (
    number integer, delay_days integer, subject text, text text, html text, template text
);

-- The sequence is at this version from now on.
-- name: set_sequence_version
UPDATE postroom.sequences
SET name = :name::text,
    version = :version::integer
WHERE workspace = :workspace::text AND id = :id::text;

-- The version that the mails of a campaign were launched with; no row before the first of them.
-- name: version_in_launch
SELECT sequence_version
FROM postroom.campaign_mails
WHERE workspace = :workspace::text AND campaign_id = :campaign::text
ORDER BY number
LIMIT 1;

-- The steps of a version.
-- name: steps_of
SELECT number, delay_days, subject, text, html, template
FROM postroom.steps
WHERE workspace = :workspace::text AND sequence_id = :sequence::text AND version = :version::integer
ORDER BY number;
