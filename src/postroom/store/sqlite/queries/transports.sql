-- How each way out is doing. Its row goes by the route's name.

-- The state of a route: breaker and rate are shared by all workers.
-- name: lock_transport
INSERT INTO postroom_transports (name, updated_at)
VALUES (:name, :now)
ON CONFLICT DO NOTHING;
SELECT state, reason, since, next_probe_at, step, failures, failed_at, arrival, :now
FROM postroom_transports
WHERE name = :name;

-- Say where a route leads. Workers before there were routes knew a server by its own name: a new route that leads there
-- takes on how it stood, so that what was paused stays so.
-- name: name_transport
INSERT INTO postroom_transports (
    name, server, state, reason, since, next_probe_at, step, failures, failed_at, arrival, updated_at
)
SELECT :name, :server, state, reason, since, next_probe_at, step, failures, failed_at, arrival, :now
FROM postroom_transports
WHERE name = :server
ON CONFLICT DO NOTHING;
INSERT INTO postroom_transports (name, server, updated_at)
VALUES (:name, :server, :now)
ON CONFLICT (name) DO UPDATE SET server = excluded.server;

-- What was learnt of a route.
-- name: change_transport
UPDATE postroom_transports
SET state = :state,
    reason = :reason,
    since = :since,
    next_probe_at = :next_probe_at,
    step = :step,
    failures = :failures,
    failed_at = :failed_at,
    updated_at = :now
WHERE name = :name;

-- How far ahead the rate of a route is reserved.
-- name: change_arrival
UPDATE postroom_transports
SET arrival = :arrival
WHERE name = :name;

-- How every route is doing; a server under its own name only while no route leads there.
-- name: transports
SELECT name, server, state, reason, since, next_probe_at, step, failures, failed_at, :now
FROM postroom_transports t
WHERE server <> '' OR NOT EXISTS (SELECT 1 FROM postroom_transports route WHERE route.server = t.name)
ORDER BY name;
