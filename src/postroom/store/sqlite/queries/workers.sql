-- Signs of life.

-- A sign of life.
-- name: heartbeat
INSERT INTO postroom_workers (name, role, host, version, started_at, seen_at, in_flight, rate, broker)
VALUES (:name, :role, :host, :version, :now, :now, :in_flight, :rate, :broker)
ON CONFLICT (name) DO UPDATE
SET seen_at = excluded.seen_at, in_flight = excluded.in_flight, rate = excluded.rate, broker = excluded.broker;

-- The last word of a worker that stops.
-- name: retire_worker
DELETE FROM postroom_workers
WHERE name = :name OR seen_at < :now - 86400000000;

-- Who works here.
-- name: workers
SELECT name, role, host, version, started_at, seen_at, in_flight, rate, broker
FROM postroom_workers
ORDER BY name;
