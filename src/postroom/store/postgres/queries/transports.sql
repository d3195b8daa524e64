-- How each way out is doing.

-- The state of a transport, locked: breaker and rate are shared by all workers.
-- name: lock_transport
INSERT INTO postroom.transports (name, updated_at)
VALUES (:name::text, {now})
ON CONFLICT DO NOTHING;
SELECT state, reason, since, next_probe_at, step, failures, failed_at, arrival, {now}
FROM postroom.transports
WHERE name = :name::text
FOR UPDATE;

-- What was learnt of a transport.
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

-- How far ahead the rate of a transport is reserved.
-- name: change_arrival
UPDATE postroom.transports
SET arrival = :arrival::bigint
WHERE name = :name::text;

-- How every transport is doing.
-- name: transports
SELECT name, state, reason, since, next_probe_at, step, failures, failed_at, {now}
FROM postroom.transports
ORDER BY name;

-- People.
