-- The database itself.

-- The clock that due times are compared with.
-- name: clock
SELECT :now;

-- What UPDATE … RETURNING cannot do here is join: the ids of a claim wait in a table of the connection's own.
-- name: prepare_connection
CREATE TEMP TABLE IF NOT EXISTS postroom_picked (id TEXT NOT NULL PRIMARY KEY, worker TEXT) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS postroom_outcomes (
    id TEXT, status TEXT, due_at INTEGER, attempts INTEGER, dead_reason TEXT, last_error TEXT, reply_code INTEGER,
    reply TEXT, outcomes TEXT, doubts INTEGER, takeovers INTEGER, event TEXT, detail TEXT
);

-- Whose database this is.
-- name: deployment
SELECT name, id, stamped_at
FROM postroom_deployment;

-- Say whose database this is, if nobody has.
-- name: stamp_deployment
INSERT INTO postroom_deployment (place, name)
VALUES (1, :name)
ON CONFLICT (place) DO NOTHING;

-- Say that it is somebody else's from now on.
-- name: restamp_deployment
INSERT INTO postroom_deployment (place, name)
VALUES (1, :name)
ON CONFLICT (place) DO UPDATE
SET name = excluded.name, id = excluded.id, stamped_at = excluded.stamped_at
RETURNING name, id, stamped_at;
