-- What only the campaign pages of the desk ask. Every query is about one workspace, but for the first,
-- and one that goes by the ids of emails.

-- Workspaces that have a campaign, or have said when they send.
-- name: campaign_workspaces
SELECT workspace FROM postroom.campaigns
UNION
SELECT workspace FROM postroom.sending_settings
ORDER BY workspace;

-- The mails of some campaigns by where they stand.
-- name: mails_of_campaigns
SELECT campaign_id, state, count(*)
FROM postroom.campaign_mails
WHERE workspace = :workspace::text
    AND campaign_id IN (SELECT json_array_elements_text((:campaigns::text)::json))
GROUP BY campaign_id, state;

-- The prospects of some campaigns by where they stand.
-- name: enrolments_of_campaigns
SELECT campaign_id, status, count(*)
FROM postroom.enrolments
WHERE workspace = :workspace::text
    AND campaign_id IN (SELECT json_array_elements_text((:campaigns::text)::json))
GROUP BY campaign_id, status;

-- The mails of one campaign, step by step of each version of its sequence that somebody was pinned to.
-- name: mails_by_step
SELECT sequence_id, sequence_version, step, state, count(*)
FROM postroom.campaign_mails
WHERE workspace = :workspace::text AND campaign_id = :campaign::text
GROUP BY sequence_id, sequence_version, step, state
ORDER BY sequence_version, step, state;

-- How many mails of a campaign were sent on which window day.
-- name: sent_by_day
SELECT day::text, count(*)
FROM postroom.campaign_mails
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND state = 'sent' AND day IS NOT NULL
GROUP BY day
ORDER BY day;

-- What has counted against the workspace's quota, day by day.
-- name: quota_by_day
SELECT day::text, used, accepted
FROM postroom.campaign_days
WHERE workspace = :workspace::text AND sender_id = ''
ORDER BY day;

-- The next enrolments behind a number that are as they are looked for; of so many, and not of all, so that a search
-- which finds nobody comes to an end. `:part` is any part of an address or a name, with its wildcards escaped.
-- name: enrolments_found
SELECT
    e.number, e.status, e.next_step, e.sequence_version, e.sender_id, e.last_sent_on::text, e.reason, {prospect}
FROM (
    SELECT *
    FROM postroom.enrolments
    WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND number > :after::bigint
    ORDER BY number
    LIMIT :looked::bigint
) AS e
JOIN postroom.prospects p ON p.workspace = e.workspace AND p.id = e.prospect_id
WHERE (:status::text IS NULL OR e.status = :status::text)
    AND (
        :mail::text IS NULL
        OR EXISTS (
            SELECT 1
            FROM postroom.campaign_mails m
            WHERE m.workspace = e.workspace AND m.campaign_id = e.campaign_id AND m.number = e.number
                AND CASE :mail::text
                    WHEN 'waiting' THEN m.state IN ('waiting', 'ready', 'leaving')
                    WHEN 'in_doubt' THEN m.state = 'leaving' AND m.email_status = 'in_doubt'
                    ELSE m.state = :mail::text
                END
        )
    )
    AND (
        :part::text IS NULL
        OR p.normal_address LIKE '%' || :part::text || '%' ESCAPE '\'
        OR lower(p.name) LIKE '%' || :part::text || '%' ESCAPE '\'
    )
ORDER BY e.number
LIMIT :limit::bigint;

-- The enrolment of one prospect.
-- name: enrolment_of
SELECT
    e.number, e.status, e.next_step, e.sequence_version, e.sender_id, e.last_sent_on::text, e.reason, {prospect}
FROM postroom.enrolments e
JOIN postroom.prospects p ON p.workspace = e.workspace AND p.id = e.prospect_id
WHERE e.workspace = :workspace::text AND e.campaign_id = :campaign::text AND e.prospect_id = :prospect::text;

-- The mails that some emails are, as a list of what came back shows them.
-- name: mails_returned
SELECT m.email_id::text, m.workspace, m.campaign_id, m.prospect_id, p.address, m.step, m.subject, e.status, e.updated_at
FROM postroom.campaign_mails m
JOIN postroom.prospects p ON p.workspace = m.workspace AND p.id = m.prospect_id
LEFT JOIN postroom.enrolments e
    ON e.workspace = m.workspace AND e.campaign_id = m.campaign_id AND e.prospect_id = m.prospect_id
WHERE m.email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid));

-- Where one prospect stands in each campaign of the workspace, the latest first.
-- name: enrolments_of_prospect
SELECT e.campaign_id, c.name, e.status, e.reason, e.updated_at
FROM postroom.enrolments e
JOIN postroom.campaigns c ON c.workspace = e.workspace AND c.id = e.campaign_id
WHERE e.workspace = :workspace::text AND e.prospect_id = :prospect::text
ORDER BY e.updated_at DESC, e.campaign_id
LIMIT :limit::bigint;
