-- How many there are of what, without counting finished rows.

-- Append changes to be summed.
-- name: tally
INSERT INTO postroom_tallies (minute, name, change)
SELECT :now / 60000000 * 60000000, json_extract(value, '$.name'), json_extract(value, '$.change')
FROM json_each(:changes);

-- How many emails wait, by status, from the index of the unfinished, however many have finished; and what has been
-- counted along the way.
-- name: count_unfinished
SELECT 'row', status, count(*)
FROM postroom_emails
WHERE status NOT IN ('sent', 'cancelled')
GROUP BY status
UNION ALL
SELECT 'row', 'moving', count(*)
FROM postroom_departures
WHERE state IS NOT NULL
UNION ALL
SELECT 'tally', name, sum(change)
FROM postroom_tallies
GROUP BY name;

-- Every row counted, finished ones too: for the check of the sum, not for a dashboard.
-- name: count_all
SELECT 'row', status, count(*)
FROM postroom_emails
GROUP BY status
UNION ALL
SELECT 'row', 'moving', count(*)
FROM postroom_departures
WHERE state IS NOT NULL
UNION ALL
SELECT 'tally', name, sum(change)
FROM postroom_tallies
GROUP BY name;

-- Sum up tallies: minutes for two days, hours for forty, then days. Gains and losses stay apart for the charts.
-- name: compact_tallies
CREATE TEMP TABLE IF NOT EXISTS postroom_sums (minute INTEGER, name TEXT, change INTEGER);
DELETE FROM postroom_sums;
INSERT INTO postroom_sums (minute, name, change)
SELECT
    CASE
        WHEN minute >= :now - 172800000000 THEN minute
        WHEN minute >= :now - 3456000000000 THEN minute / 3600000000 * 3600000000
        ELSE minute / 86400000000 * 86400000000
    END AS moment,
    name,
    sum(change)
FROM postroom_tallies
WHERE minute < :now / 60000000 * 60000000
GROUP BY moment, name, sign(change);
DELETE FROM postroom_tallies
WHERE minute < :now / 60000000 * 60000000;
INSERT INTO postroom_tallies (minute, name, change)
SELECT minute, name, change
FROM postroom_sums;

-- The writer's transaction is lock enough.
-- name: try_compaction
SELECT 1;

-- What happened per minute.
-- name: tallies_since
SELECT minute, name, sum(change)
FROM postroom_tallies
WHERE minute >= :since AND change > 0
GROUP BY minute, name
ORDER BY minute, name;

-- How many of the newest emails in an unfinished status were looked at, and how many belong to some workspaces.
-- name: count_unfinished_within
SELECT count(*), coalesce(sum(workspace IN (SELECT value FROM json_each(:workspaces))), 0)
FROM (
    SELECT workspace
    FROM postroom_emails
    WHERE status = :status AND status NOT IN ('sent', 'cancelled')
    ORDER BY id DESC
    LIMIT :limit
) AS newest;

-- The same among the cancelled.
-- name: count_cancelled_within
SELECT count(*), coalesce(sum(workspace IN (SELECT value FROM json_each(:workspaces))), 0)
FROM (
    SELECT workspace
    FROM postroom_emails
    WHERE status = 'cancelled'
    ORDER BY id DESC
    LIMIT :limit
) AS newest;

-- How many of the newest emails of one workspace were looked at, and how many of them were sent.
-- name: count_sent_within
SELECT count(*), coalesce(sum(e.status = 'sent'), 0)
FROM (
    SELECT email_id
    FROM postroom_terms
    WHERE term = :term
    ORDER BY email_id DESC
    LIMIT :limit
) AS newest
CROSS JOIN postroom_emails e ON e.id = newest.email_id;

-- The same for emails of no workspace, which is no term.
-- name: count_sent_without_workspace
SELECT count(*), coalesce(sum(status = 'sent' AND workspace = ''), 0)
FROM (
    SELECT status, workspace
    FROM postroom_emails
    ORDER BY id DESC
    LIMIT :limit
) AS newest;

-- What happened per hour: a day of minutes would be thousands of rows for one chart.
-- name: tallies_by_hour
SELECT minute / 3600000000 * 3600000000 AS hour, name, sum(change)
FROM postroom_tallies
WHERE minute >= :since AND change > 0
GROUP BY hour, name
ORDER BY hour, name;

-- What has ever happened. Losses are left out, so that the sums only grow.
-- name: totals
SELECT name, sum(change)
FROM postroom_tallies
WHERE change > 0
GROUP BY name;
