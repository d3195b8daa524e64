-- Campaigns, who sends them, who is in them, and when a workspace sends. Every query is about one workspace.

-- fragment: campaign
c.id, c.name, c.sequence_id, c.status, c.created_at, c.launched_at, c.paused_at, c.pause_reason, c.finished_at,
c.launched_to, c.carried_to

-- fragment: sender
s.id, s.name, s.address, s.reply_to, s.route, s.daily_quota, s.ramp_up, s.paused_at, s.pause_reason

-- When and how much the workspace sends; no row where nobody has said it.
-- name: sending_settings
SELECT settings, person_hours, bounce_limit, complaint_limit, limit_after, version, updated_at
FROM postroom_sending_settings
WHERE workspace = :workspace;

-- Change the settings, provided they are still those of this version, 0 being none; no row where they are not.
-- name: put_sending_settings
INSERT INTO postroom_sending_settings AS present (
    workspace, settings, person_hours, bounce_limit, complaint_limit, limit_after, version, updated_at
)
VALUES (:workspace, :settings, :person_hours, :bounce_limit, :complaint_limit, :limit_after, 1, :now)
ON CONFLICT (workspace) DO UPDATE
SET settings = excluded.settings,
    person_hours = excluded.person_hours,
    bounce_limit = excluded.bounce_limit,
    complaint_limit = excluded.complaint_limit,
    limit_after = excluded.limit_after,
    version = present.version + 1,
    updated_at = excluded.updated_at
WHERE present.version = :version
RETURNING version;

-- Somebody who sends, new or changed. A pause stays.
-- name: put_sender
INSERT INTO postroom_senders (workspace, id, name, address, reply_to, route, daily_quota, ramp_up, created_at)
VALUES (:workspace, :id, :name, :address, :reply_to, :route, :daily_quota, :ramp_up, :now)
ON CONFLICT (workspace, id) DO UPDATE
SET name = excluded.name,
    address = excluded.address,
    reply_to = excluded.reply_to,
    route = excluded.route,
    daily_quota = excluded.daily_quota,
    ramp_up = excluded.ramp_up;

-- Have nothing leave from a sender; one that is paused already stays so, since when and why it was.
-- name: pause_sender
UPDATE postroom_senders
SET paused_at = :now,
    pause_reason = :reason
WHERE workspace = :workspace AND id = :id AND paused_at IS NULL
RETURNING id;

-- Have mail leave from it again.
-- name: resume_sender
UPDATE postroom_senders
SET paused_at = NULL,
    pause_reason = NULL
WHERE workspace = :workspace AND id = :id;

-- Who sends running campaigns, by workspace.
-- name: running_senders
SELECT s.workspace, {sender}
FROM postroom_senders s
WHERE EXISTS (
    SELECT 1
    FROM postroom_campaign_senders named
    JOIN postroom_campaigns c ON c.workspace = named.workspace AND c.id = named.campaign_id
    WHERE named.workspace = s.workspace AND named.sender_id = s.id AND c.status = 'running'
)
ORDER BY s.workspace, s.id;

-- Who sends, by id.
-- name: senders
SELECT {sender}
FROM postroom_senders s
WHERE s.workspace = :workspace
ORDER BY s.id;

-- Who sends a campaign, as they were named.
-- name: senders_of_campaign
SELECT {sender}
FROM postroom_campaign_senders named
JOIN postroom_senders s ON s.workspace = named.workspace AND s.id = named.sender_id
WHERE named.workspace = :workspace AND named.campaign_id = :campaign
ORDER BY named.position;

-- A new draft; no row when the id is taken.
-- name: add_campaign
INSERT INTO postroom_campaigns (workspace, id, name, sequence_id, status, created_at)
VALUES (:workspace, :id, :name, :sequence, :status, :now)
ON CONFLICT DO NOTHING
RETURNING id;

-- Nobody sends it any more, until somebody is named.
-- name: drop_campaign_senders
DELETE FROM postroom_campaign_senders
WHERE workspace = :workspace AND campaign_id = :campaign;

-- Who sends a campaign.
-- name: add_campaign_senders
INSERT INTO postroom_campaign_senders (workspace, campaign_id, sender_id, position)
SELECT :workspace, :campaign, named.value, named.key
FROM json_each(:senders) AS named;

-- One campaign.
-- name: find_campaign
SELECT {campaign}
FROM postroom_campaigns c
WHERE c.workspace = :workspace AND c.id = :id;

-- One campaign; the writer's transaction is the lock.
-- name: lock_campaign
SELECT {campaign}
FROM postroom_campaigns c
WHERE c.workspace = :workspace AND c.id = :id;

-- A campaign of which what was done to it has not come to all of its people.
-- name: campaign_to_carry
SELECT {campaign}
FROM postroom_campaigns c
WHERE c.workspace = :workspace AND c.carried_to IS NOT NULL
LIMIT 1;

-- The next campaigns by id.
-- name: campaigns_after
SELECT {campaign}
FROM postroom_campaigns c
WHERE c.workspace = :workspace AND c.id > :after
ORDER BY c.id
LIMIT :limit;

-- Enrol prospects in the order in which they are named; those that were not enrolled before. Who was leaves a gap in the
-- numbers.
-- name: enrol
INSERT INTO postroom_enrolments (workspace, campaign_id, prospect_id, number, status, updated_at)
SELECT
    :workspace, :campaign, named.value,
    named.key + 1 + coalesce((
        SELECT max(number)
        FROM postroom_enrolments
        WHERE workspace = :workspace AND campaign_id = :campaign
    ), 0),
    :status, :now
FROM json_each(:prospects) AS named
CROSS JOIN postroom_prospects p ON p.workspace = :workspace AND p.id = named.value
WHERE true
ON CONFLICT (workspace, campaign_id, prospect_id) DO NOTHING
RETURNING prospect_id;

-- The next enrolments behind a number, with whom they are about.
-- name: enrolments_after
SELECT
    e.number, e.status, e.next_step, e.sequence_version, e.sender_id, e.last_sent_on, e.reason, {prospect}
FROM postroom_enrolments e
JOIN postroom_prospects p ON p.workspace = e.workspace AND p.id = e.prospect_id
WHERE e.workspace = :workspace AND e.campaign_id = :campaign AND e.number > :after
ORDER BY e.number
LIMIT :limit;

-- How many of a campaign stand where.
-- name: count_enrolments
SELECT status, count(*)
FROM postroom_enrolments
WHERE workspace = :workspace AND campaign_id = :campaign
GROUP BY status;

-- Who gets nothing of a launch, counted by reason: it passes over who has ended, who is on the list of those not to be
-- mailed, who has mail of the sequence already; and what it writes for who is paused waits. Of one person only the first
-- reason counts.
-- name: left_out
WITH sorted_out AS MATERIALIZED (  -- else the reason is found out again wherever it is named
    SELECT CASE
        WHEN e.reason LIKE 'suppressed%' THEN 'suppressed'
        WHEN e.status NOT IN ('enrolled', 'paused') THEN e.status
        WHEN EXISTS (
            SELECT 1
            FROM postroom_suppressions s
            WHERE s.address = p.normal_address
                AND (s.expires_at IS NULL OR s.expires_at > :now)
                AND (
                    s.scope = 'all'
                    OR (s.workspace = :workspace AND (s.scope = 'workspace' OR s.kind = :kind))
                )
        ) THEN 'suppressed'
        WHEN EXISTS (
            SELECT 1
            FROM postroom_campaign_mails m
            WHERE m.workspace = :workspace AND m.prospect_id = e.prospect_id AND m.sequence_id = :sequence
        ) THEN 'already_scheduled'
        WHEN e.status = 'paused' THEN e.status
    END AS reason
    FROM postroom_enrolments e
    CROSS JOIN postroom_prospects p ON p.workspace = e.workspace AND p.id = e.prospect_id
    WHERE e.workspace = :workspace AND e.campaign_id = :campaign
)
SELECT reason, count(*)
FROM sorted_out
WHERE reason IS NOT NULL
GROUP BY reason
ORDER BY reason;

-- Why a launch has passed over somebody whom it has gone through.
-- fragment: passed_over_for
CASE
            WHEN e.reason LIKE 'suppressed%' THEN 'suppressed'
            WHEN e.reason = 'already_scheduled' THEN e.reason
            ELSE e.status
        END

-- What became of those whom launches have gone through: they have mail, or were passed over for a reason.
-- name: gone_through
SELECT
    CASE
        WHEN e.sequence_version IS NOT NULL THEN 'already_scheduled'
        ELSE {passed_over_for}
    END AS became,
    count(*)
FROM postroom_enrolments e
WHERE e.workspace = :workspace AND e.campaign_id = :campaign AND e.number <= :number
GROUP BY became
ORDER BY became;

-- What the launch of a campaign has come to for its people: it was to reach them yet, has launched them, or has passed
-- over them for a reason. Of nobody ought it to be unknown.
-- name: headcount
SELECT
    CASE
        WHEN e.number > c.launched_to AND e.sequence_version IS NULL THEN 'not_reached'
        WHEN e.number > c.launched_to THEN NULL
        WHEN e.sequence_version IS NOT NULL THEN 'launched'
        WHEN e.status NOT IN ('enrolled', 'active', 'paused') THEN {passed_over_for}
    END AS became,
    count(*)
FROM postroom_campaigns c
JOIN postroom_enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id
WHERE c.workspace = :workspace AND c.id = :campaign
GROUP BY became
ORDER BY became;

-- How many are still to get which step, and since when they wait for it, in the campaigns of some statuses, in the
-- order in which these were launched.
-- name: progress_of_campaigns
SELECT
    c.launched_at, c.id, c.sequence_id, e.sequence_version, e.next_step, e.last_sent_on, count(*)
FROM postroom_campaigns c
JOIN postroom_enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id
WHERE c.workspace = :workspace
    AND c.status = :status
    AND e.status = :enrolled
GROUP BY c.launched_at, c.id, c.sequence_id, e.sequence_version, e.next_step, e.last_sent_on
ORDER BY c.launched_at, c.id, e.sequence_version, e.next_step, e.last_sent_on;

-- The same of one campaign that does not run, as if it went on now: resumed, with those whom its launch had still to
-- reach; or launched again after it was cancelled, with those whom that has ended and of whom something can still leave.
-- Who was paused stays so. One probe for each: EXISTS would be made into a join, as for a relaunch.
-- name: progress_if_it_went_on
SELECT
    c.launched_at, c.id, c.sequence_id, e.sequence_version, e.next_step, e.last_sent_on, count(*)
FROM postroom_campaigns c
JOIN postroom_enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id
WHERE c.workspace = :workspace AND c.id = :campaign
    AND (
        (c.status = 'paused' AND e.status IN ('enrolled', 'active'))
        OR (
            c.status = 'cancelled' AND e.status = 'stopped' AND e.reason = :reason AND NOT e.paused_before
            AND (
                e.sequence_version IS NULL
                OR (
                    SELECT m.email_id
                    FROM postroom_campaign_mails m
                    WHERE m.workspace = e.workspace AND m.campaign_id = e.campaign_id AND m.number = e.number
                        AND m.step = e.next_step
                        AND m.state = 'stopped' AND m.reason = :reason AND m.email_status IS NULL
                    LIMIT 1
                ) IS NOT NULL
            )
        )
    )
GROUP BY c.launched_at, c.id, c.sequence_id, e.sequence_version, e.next_step, e.last_sent_on
ORDER BY c.launched_at, c.id, e.sequence_version, e.next_step, e.last_sent_on;
