-- Signs of life.

-- A sign of life.
-- name: heartbeat
INSERT INTO postroom.workers AS w (name, role, host, version, started_at, seen_at, in_flight, rate, broker)
VALUES (
    :name::text, :role::text, :host::text, :version::text, {now}, {now}, :in_flight::int, :rate::real, :broker::text
)
ON CONFLICT (name) DO UPDATE
SET seen_at = excluded.seen_at, in_flight = excluded.in_flight, rate = excluded.rate, broker = excluded.broker;

-- The last word of a worker that stops.
-- name: retire_worker
DELETE FROM postroom.workers
WHERE name = :name::text OR seen_at < {now} - interval '1 day';

-- Who works here.
-- name: workers
SELECT name, role, host, version, started_at, seen_at, in_flight, rate, broker
FROM postroom.workers
ORDER BY name;
