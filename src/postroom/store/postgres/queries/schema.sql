-- The database itself.

-- The clock that due times are compared with.
-- name: clock
SELECT {now};

-- What was applied of the schema.
-- name: applied_migrations
SELECT version, checksum
FROM postroom.migrations;
