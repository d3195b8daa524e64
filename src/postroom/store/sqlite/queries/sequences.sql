-- What campaigns write, step by step. Every query is about one workspace.

-- A new sequence at its first version; no row when the id is taken.
-- name: add_sequence
INSERT INTO postroom_sequences (workspace, id, name, version, created_at)
VALUES (:workspace, :id, :name, 1, :now)
ON CONFLICT DO NOTHING
RETURNING id;

-- One sequence; the writer's transaction is the lock.
-- name: lock_sequence
SELECT id, name, version, created_at
FROM postroom_sequences
WHERE workspace = :workspace AND id = :id;

-- One sequence.
-- name: find_sequence
SELECT id, name, version, created_at
FROM postroom_sequences
WHERE workspace = :workspace AND id = :id;

-- All sequences, by id, and how many steps the newest version of each has.
-- name: sequences
SELECT s.id, s.name, s.version, s.created_at, count(t.number)
FROM postroom_sequences s
LEFT JOIN postroom_steps t ON t.workspace = s.workspace AND t.sequence_id = s.id AND t.version = s.version
WHERE s.workspace = :workspace
GROUP BY s.id, s.name, s.version, s.created_at
ORDER BY s.id;

-- A version with its steps.
-- name: add_sequence_version
INSERT INTO postroom_sequence_versions (workspace, sequence_id, version, created_at)
VALUES (:workspace, :sequence, :version, :now);
INSERT INTO postroom_steps (workspace, sequence_id, version, number, delay_days, subject, text, html, template)
SELECT
    :workspace, :sequence, :version, json_extract(value, '$.number'), json_extract(value, '$.delay_days'),
    json_extract(value, '$.subject'), json_extract(value, '$.text'), json_extract(value, '$.html'),
    json_extract(value, '$.template')
FROM json_each(:steps);

-- The sequence is at this version from now on.
-- name: set_sequence_version
UPDATE postroom_sequences
SET name = :name,
    version = :version
WHERE workspace = :workspace AND id = :id;

-- The version that the mails of a campaign were launched with; no row before the first of them.
-- name: version_in_launch
SELECT sequence_version
FROM postroom_campaign_mails
WHERE workspace = :workspace AND campaign_id = :campaign
ORDER BY number
LIMIT 1;

-- The steps of a version.
-- name: steps_of
SELECT number, delay_days, subject, text, html, template
FROM postroom_steps
WHERE workspace = :workspace AND sequence_id = :sequence AND version = :version
ORDER BY number;
