-- The database itself.

-- The clock that due times are compared with.
-- name: clock
SELECT {now};

-- Whose database this is.
-- name: deployment
SELECT name, id, stamped_at
FROM postroom.deployment;

-- Say whose database this is, if nobody has.
-- name: stamp_deployment
INSERT INTO postroom.deployment (place, name)
VALUES (1, :name::text)
ON CONFLICT (place) DO NOTHING;

-- Say that it is somebody else's from now on.
-- name: restamp_deployment
INSERT INTO postroom.deployment AS d (place, name)
VALUES (1, :name::text)
ON CONFLICT (place) DO UPDATE
SET name = excluded.name, id = excluded.id, stamped_at = excluded.stamped_at
RETURNING name, id, stamped_at;
