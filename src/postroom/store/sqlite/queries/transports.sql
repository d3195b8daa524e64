-- How each way out is doing.

-- The state of a transport: breaker and rate are shared by all workers.
-- name: lock_transport
INSERT INTO postroom_transports (name, updated_at)
VALUES (:name, :now)
ON CONFLICT DO NOTHING;
SELECT state, reason, since, next_probe_at, step, failures, failed_at, arrival, :now
FROM postroom_transports
WHERE name = :name;

-- What was learnt of a transport.
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

-- How far ahead the rate of a transport is reserved.
-- name: change_arrival
UPDATE postroom_transports
SET arrival = :arrival
WHERE name = :name;

-- How every transport is doing.
-- name: transports
SELECT name, state, reason, since, next_probe_at, step, failures, failed_at, :now
FROM postroom_transports
ORDER BY name;

-- People.
