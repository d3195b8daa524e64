-- How many there are of what, without counting finished rows.

-- Append changes to be summed.
-- name: tally
INSERT INTO postroom.tallies (minute, name, change)
SELECT date_trunc('minute', {now}), n.name, n.change
FROM json_to_recordset((:changes::text)::json) AS n (name text, change bigint);

-- How many emails wait, by status, from the index of the unfinished, however many have finished; and what has been
-- counted along the way. One statement, because two would see two moments and miss what moved between them.
-- name: count_unfinished
SELECT 'row', status, count(*)
FROM postroom.emails
WHERE status NOT IN ('sent', 'cancelled')
GROUP BY status
UNION ALL
SELECT 'row', 'moving', count(*)
FROM postroom.departures
WHERE state IS NOT NULL
UNION ALL
SELECT 'tally', name, sum(change)::bigint
FROM postroom.tallies
GROUP BY name;

-- Every row counted, finished ones too: for the check of the sum, not for a dashboard.
-- name: count_all
SELECT 'row', status, count(*)
FROM postroom.emails
GROUP BY status
UNION ALL
SELECT 'row', 'moving', count(*)
FROM postroom.departures
WHERE state IS NOT NULL
UNION ALL
SELECT 'tally', name, sum(change)::bigint
FROM postroom.tallies
GROUP BY name;

-- Sum up tallies: minutes for two days, hours for forty, then days. Gains and losses stay apart for the charts.
-- name: compact_tallies
WITH gone AS (
    DELETE FROM postroom.tallies
    WHERE minute < date_trunc('minute', {now})
    RETURNING *
)
INSERT INTO postroom.tallies (minute, name, change)
SELECT
    CASE
        WHEN minute >= {now} - interval '2 days' THEN minute
        WHEN minute >= {now} - interval '40 days' THEN date_trunc('hour', minute)
        ELSE date_trunc('day', minute)
    END AS moment,
    name,
    sum(change)
FROM gone
GROUP BY moment, name, sign(change);

-- Only one compaction at a time: a second one would wait for rows that are about to vanish.
-- name: try_compaction
SELECT pg_try_advisory_xact_lock(hashtext('postroom.compaction'));

-- What happened per minute.
-- name: tallies_since
SELECT minute, name, sum(change)::bigint
FROM postroom.tallies
WHERE minute >= :since::timestamptz AND change > 0
GROUP BY minute, name
ORDER BY minute, name;

-- How many of the newest emails in an unfinished status were looked at, and how many belong to some workspaces.
-- name: count_unfinished_within
SELECT count(*), count(*) FILTER (WHERE workspace = ANY (ARRAY (SELECT json_array_elements_text((:workspaces::text)::json))))
FROM (
    SELECT workspace
    FROM postroom.emails
    WHERE status = :status::text AND status NOT IN ('sent', 'cancelled')
    ORDER BY id DESC
    LIMIT :limit::bigint
) AS newest;

-- The same among the cancelled.
-- name: count_cancelled_within
SELECT count(*), count(*) FILTER (WHERE workspace = ANY (ARRAY (SELECT json_array_elements_text((:workspaces::text)::json))))
FROM (
    SELECT workspace
    FROM postroom.emails
    WHERE status = 'cancelled'
    ORDER BY id DESC
    LIMIT :limit::bigint
) AS newest;

-- How many of the newest emails of one workspace were looked at, and how many of them were sent.
-- name: count_sent_within
SELECT count(*), count(*) FILTER (WHERE e.status = 'sent')
FROM (
    SELECT email_id
    FROM postroom.terms
    WHERE term = :term::text
    ORDER BY email_id DESC
    LIMIT :limit::bigint
) AS newest
JOIN postroom.emails e ON e.id = newest.email_id;

-- The same for emails of no workspace, which is no term.
-- name: count_sent_without_workspace
SELECT count(*), count(*) FILTER (WHERE status = 'sent' AND workspace = '')
FROM (
    SELECT status, workspace
    FROM postroom.emails
    ORDER BY id DESC
    LIMIT :limit::bigint
) AS newest;

-- What happened per hour: a day of minutes would be thousands of rows for one chart.
-- name: tallies_by_hour
SELECT date_trunc('hour', minute) AS hour, name, sum(change)::bigint
FROM postroom.tallies
WHERE minute >= :since::timestamptz AND change > 0
GROUP BY hour, name
ORDER BY hour, name;

-- What has ever happened. Losses are left out, so that the sums only grow.
-- name: totals
SELECT name, sum(change)::bigint
FROM postroom.tallies
WHERE change > 0
GROUP BY name;
