-- What only the campaign pages of the desk ask. Every query is about one workspace, but for the first,
-- and one that goes by the ids of emails.

-- Workspaces that have a campaign, or have said when they send.
-- name: campaign_workspaces
SELECT workspace FROM postroom_campaigns
UNION
SELECT workspace FROM postroom_sending_settings
ORDER BY workspace;

-- The mails of some campaigns by where they stand.
-- name: mails_of_campaigns
SELECT campaign_id, state, count(*)
FROM postroom_campaign_mails
WHERE workspace = :workspace
    AND campaign_id IN (SELECT value FROM json_each(:campaigns))
GROUP BY campaign_id, state;

-- The prospects of some campaigns by where they stand.
-- name: enrolments_of_campaigns
SELECT campaign_id, status, count(*)
FROM postroom_enrolments
WHERE workspace = :workspace
    AND campaign_id IN (SELECT value FROM json_each(:campaigns))
GROUP BY campaign_id, status;

-- The mails of one campaign, step by step of each version of its sequence that somebody was pinned to.
-- name: mails_by_step
SELECT sequence_id, sequence_version, step, state, count(*)
FROM postroom_campaign_mails
WHERE workspace = :workspace AND campaign_id = :campaign
GROUP BY sequence_id, sequence_version, step, state
ORDER BY sequence_version, step, state;

-- How many mails of a campaign were sent on which window day.
-- name: sent_by_day
SELECT day, count(*)
FROM postroom_campaign_mails
WHERE workspace = :workspace AND campaign_id = :campaign AND state = 'sent' AND day IS NOT NULL
GROUP BY day
ORDER BY day;

-- What has counted against the workspace's quota, day by day.
-- name: quota_by_day
SELECT day, used, accepted
FROM postroom_campaign_days
WHERE workspace = :workspace AND sender_id = ''
ORDER BY day;

-- The next enrolments behind a number that are as they are looked for; of so many, and not of all, so that a search
-- which finds nobody comes to an end. `:part` is any part of an address or a name, with its wildcards escaped.
-- name: enrolments_found
SELECT
    e.number, e.status, e.next_step, e.sequence_version, e.sender_id, e.last_sent_on, e.reason, {prospect}
FROM (
    SELECT *
    FROM postroom_enrolments
    WHERE workspace = :workspace AND campaign_id = :campaign AND number > :after
    ORDER BY number
    LIMIT :looked
) AS e
JOIN postroom_prospects p ON p.workspace = e.workspace AND p.id = e.prospect_id
WHERE (:status IS NULL OR e.status = :status)
    AND (
        :mail IS NULL
        OR EXISTS (
            SELECT 1
            FROM postroom_campaign_mails m
            WHERE m.workspace = e.workspace AND m.campaign_id = e.campaign_id AND m.number = e.number
                AND CASE :mail
                    WHEN 'waiting' THEN m.state IN ('waiting', 'ready', 'leaving')
                    WHEN 'in_doubt' THEN m.state = 'leaving' AND m.email_status = 'in_doubt'
                    ELSE m.state = :mail
                END
        )
    )
    AND (
        :part IS NULL
        OR p.normal_address LIKE '%' || :part || '%' ESCAPE '\'
        OR lower(p.name) LIKE '%' || :part || '%' ESCAPE '\'
    )
ORDER BY e.number
LIMIT :limit;

-- The enrolment of one prospect.
-- name: enrolment_of
SELECT
    e.number, e.status, e.next_step, e.sequence_version, e.sender_id, e.last_sent_on, e.reason, {prospect}
FROM postroom_enrolments e
JOIN postroom_prospects p ON p.workspace = e.workspace AND p.id = e.prospect_id
WHERE e.workspace = :workspace AND e.campaign_id = :campaign AND e.prospect_id = :prospect;

-- The mails that some emails are, as a list of what came back shows them.
-- name: mails_returned
SELECT m.email_id, m.workspace, m.campaign_id, m.prospect_id, p.address, m.step, m.subject, e.status, e.updated_at
FROM postroom_campaign_mails m
JOIN postroom_prospects p ON p.workspace = m.workspace AND p.id = m.prospect_id
LEFT JOIN postroom_enrolments e
    ON e.workspace = m.workspace AND e.campaign_id = m.campaign_id AND e.prospect_id = m.prospect_id
WHERE m.email_id IN (SELECT value FROM json_each(:ids));

-- Where one prospect stands in each campaign of the workspace, the latest first.
-- name: enrolments_of_prospect
SELECT e.campaign_id, c.name, e.status, e.reason, e.updated_at
FROM postroom_enrolments e
JOIN postroom_campaigns c ON c.workspace = e.workspace AND c.id = e.campaign_id
WHERE e.workspace = :workspace AND e.prospect_id = :prospect
ORDER BY e.updated_at DESC, e.campaign_id
LIMIT :limit;
