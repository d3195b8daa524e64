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

-- What was applied of the schema.
-- name: applied_migrations
SELECT version, checksum
FROM postroom_migrations;
