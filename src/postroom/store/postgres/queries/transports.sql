-- How each way out is doing. Its row goes by the route's name.

-- The state of a route, locked: breaker and rate are shared by all workers.
-- name: lock_transport
INSERT INTO postroom.transports (name, updated_at)
VALUES (:name::text, {now})
ON CONFLICT DO NOTHING;
SELECT state, reason, since, next_probe_at, step, failures, failed_at, arrival, {now}
FROM postroom.transports
WHERE name = :name::text
FOR UPDATE;

-- Say where a route leads. Workers before there were routes knew a server by its own name: a new route that leads there
-- takes on how it stood, so that what was paused stays so.
-- name: name_transport
INSERT INTO postroom.transports (
    name, server, state, reason, since, next_probe_at, step, failures, failed_at, arrival, updated_at
)
SELECT :name::text, :server::text, state, reason, since, next_probe_at, step, failures, failed_at, arrival, {now}
FROM postroom.transports
WHERE name = :server::text
ON CONFLICT DO NOTHING;
INSERT INTO postroom.transports (name, server, updated_at)
VALUES (:name::text, :server::text, {now})
ON CONFLICT (name) DO UPDATE SET server = excluded.server;

-- What was learnt of a route.
-- name: change_transport
UPDATE postroom.transports
SET state = :state::text,
    reason = :reason::text,
    since = :since::timestamptz,
    next_probe_at = :next_probe_at::timestamptz,
    step = :step::int,
    failures = :failures::int,
    failed_at = :failed_at::timestamptz,
    updated_at = {now}
WHERE name = :name::text;

-- How far ahead the rate of a route is reserved.
-- name: change_arrival
UPDATE postroom.transports
SET arrival = :arrival::bigint
WHERE name = :name::text;

-- How every route is doing; a server under its own name only while no route leads there.
-- name: transports
SELECT name, server, state, reason, since, next_probe_at, step, failures, failed_at, {now}
FROM postroom.transports t
WHERE server <> '' OR NOT EXISTS (SELECT FROM postroom.transports route WHERE route.server = t.name)
ORDER BY name;
