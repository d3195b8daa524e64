-- Campaigns, who sends them, who is in them, and when a workspace sends. Every query is about one workspace.

-- fragment: campaign
c.id, c.name, c.sequence_id, c.status, c.created_at, c.launched_at, c.paused_at, c.pause_reason, c.finished_at,
c.launched_to, c.carried_to

-- fragment: sender
s.id, s.name, s.address, s.reply_to, s.route, s.daily_quota, s.ramp_up, s.paused_at, s.pause_reason

-- When and how much the workspace sends; no row where nobody has said it.
-- name: sending_settings
SELECT settings, person_hours, bounce_limit, complaint_limit, limit_after, version, updated_at
FROM postroom.sending_settings
WHERE workspace = :workspace::text;

-- Change the settings, provided they are still those of this version, 0 being none; no row where they are not.
-- name: put_sending_settings
INSERT INTO postroom.sending_settings AS present (
    workspace, settings, person_hours, bounce_limit, complaint_limit, limit_after, version, updated_at
)
VALUES (
    :workspace::text, :settings::text, :person_hours::integer, :bounce_limit::double precision,
    :complaint_limit::double precision, :limit_after::integer, 1, {now}
)
ON CONFLICT (workspace) DO UPDATE
SET settings = excluded.settings,
    person_hours = excluded.person_hours,
    bounce_limit = excluded.bounce_limit,
    complaint_limit = excluded.complaint_limit,
    limit_after = excluded.limit_after,
    version = present.version + 1,
    updated_at = excluded.updated_at
WHERE present.version = :version::integer
RETURNING version;

-- Somebody who sends, new or changed. A pause stays.
-- name: put_sender
INSERT INTO postroom.senders (workspace, id, name, address, reply_to, route, daily_quota, ramp_up, created_at)
VALUES (
    :workspace::text, :id::text, :name::text, :address::text, :reply_to::text, :route::text, :daily_quota::integer,
    :ramp_up::text, {now}
)
ON CONFLICT (workspace, id) DO UPDATE
SET name = excluded.name,
    address = excluded.address,
    reply_to = excluded.reply_to,
    route = excluded.route,
    daily_quota = excluded.daily_quota,
    ramp_up = excluded.ramp_up;

-- Have nothing leave from a sender; one that is paused already stays so, since when and why it was.
-- name: pause_sender
UPDATE postroom.senders
SET paused_at = {now},
    pause_reason = :reason::text
WHERE workspace = :workspace::text AND id = :id::text AND paused_at IS NULL
RETURNING id;

-- Have mail leave from it again.
-- name: resume_sender
UPDATE postroom.senders
SET paused_at = NULL,
    pause_reason = NULL
WHERE workspace = :workspace::text AND id = :id::text;

-- Who sends running campaigns, by workspace.
-- name: running_senders
SELECT s.workspace, {sender}
FROM postroom.senders s
WHERE EXISTS (
    SELECT 1
    FROM postroom.campaign_senders named
    JOIN postroom.campaigns c ON c.workspace = named.workspace AND c.id = named.campaign_id
    WHERE named.workspace = s.workspace AND named.sender_id = s.id AND c.status = 'running'
)
ORDER BY s.workspace, s.id;

-- Who sends, by id.
-- name: senders
SELECT {sender}
FROM postroom.senders s
WHERE s.workspace = :workspace::text
ORDER BY s.id;

-- Who sends a campaign, as they were named.
-- name: senders_of_campaign
SELECT {sender}
FROM postroom.campaign_senders named
JOIN postroom.senders s ON s.workspace = named.workspace AND s.id = named.sender_id
WHERE named.workspace = :workspace::text AND named.campaign_id = :campaign::text
ORDER BY named.position;

-- A new draft; no row when the id is taken.
-- name: add_campaign
INSERT INTO postroom.campaigns (workspace, id, name, sequence_id, status, created_at)
VALUES (:workspace::text, :id::text, :name::text, :sequence::text, :status::text, {now})
ON CONFLICT DO NOTHING
RETURNING id;

-- Nobody sends it any more, until somebody is named.
-- name: drop_campaign_senders
DELETE FROM postroom.campaign_senders
WHERE workspace = :workspace::text AND campaign_id = :campaign::text;

-- Who sends a campaign.
-- name: add_campaign_senders
INSERT INTO postroom.campaign_senders (workspace, campaign_id, sender_id, position)
SELECT :workspace::text, :campaign::text, named.id, named.place
FROM json_array_elements_text((:senders::text)::json) WITH ORDINALITY AS named (id, place);

-- One campaign.
-- name: find_campaign
SELECT {campaign}
FROM postroom.campaigns c
WHERE c.workspace = :workspace::text AND c.id = :id::text;

-- One campaign, held until the transaction ends: enrolments get their numbers one after another.
-- name: lock_campaign
SELECT {campaign}
FROM postroom.campaigns c
WHERE c.workspace = :workspace::text AND c.id = :id::text
FOR UPDATE;

-- A campaign of which what was done to it has not come to all of its people.
-- name: campaign_to_carry
SELECT {campaign}
FROM postroom.campaigns c
WHERE c.workspace = :workspace::text AND c.carried_to IS NOT NULL
LIMIT 1;

-- The next campaigns by id.
-- name: campaigns_after
SELECT {campaign}
FROM postroom.campaigns c
WHERE c.workspace = :workspace::text AND c.id > :after::text
ORDER BY c.id
LIMIT :limit::bigint;

-- Enrol prospects in the order in which they are named; those that were not enrolled before. Who was leaves a gap in the
-- numbers, and the index of the conflict is the one that is asked: which of three would do, no statistics tell a table
-- that has just been filled.
-- name: enrol
INSERT INTO postroom.enrolments (workspace, campaign_id, prospect_id, number, status, updated_at)
SELECT
    :workspace::text, :campaign::text, named.id,
    named.place + coalesce((
        SELECT max(number)
        FROM postroom.enrolments
        WHERE workspace = :workspace::text AND campaign_id = :campaign::text
    ), 0),
    :status::text, {now}
FROM json_array_elements_text((:prospects::text)::json) WITH ORDINALITY AS named (id, place)
CROSS JOIN LATERAL (
    SELECT
    FROM postroom.prospects p
    WHERE p.workspace = :workspace::text AND p.id = named.id
    LIMIT 1
) AS known
ON CONFLICT (workspace, campaign_id, prospect_id) DO NOTHING
RETURNING prospect_id;

-- The next enrolments behind a number, with whom they are about.
-- name: enrolments_after
SELECT
    e.number, e.status, e.next_step, e.sequence_version, e.sender_id, e.last_sent_on::text, e.reason, {prospect}
FROM (
    SELECT *
    FROM postroom.enrolments
    WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND number > :after::bigint
    ORDER BY number
    LIMIT :limit::bigint
) AS e
CROSS JOIN LATERAL (
    SELECT *
    FROM postroom.prospects
    WHERE workspace = e.workspace AND id = e.prospect_id
    LIMIT 1
) AS p
ORDER BY e.number;

-- How many of a campaign stand where.
-- name: count_enrolments
SELECT status, count(*)
FROM postroom.enrolments
WHERE workspace = :workspace::text AND campaign_id = :campaign::text
GROUP BY status;

-- Who gets nothing of a launch, counted by reason: it passes over who has ended, who is on the list of those not to be
-- mailed, who has mail of the sequence already; and what it writes for who is paused waits. Of one person only the first
-- reason counts.
-- name: left_out
-- One probe for each person: EXISTS would be made into a set of all that the workspace has.
SELECT sorted_out.reason, count(*)
FROM (
    SELECT CASE
        WHEN e.reason LIKE 'suppressed%' THEN 'suppressed'
        WHEN e.status NOT IN ('enrolled', 'paused') THEN e.status
        WHEN listed.there THEN 'suppressed'
        WHEN scheduled.there THEN 'already_scheduled'
        WHEN e.status = 'paused' THEN e.status
    END AS reason
    FROM postroom.enrolments e
    JOIN postroom.prospects p ON p.workspace = e.workspace AND p.id = e.prospect_id
    LEFT JOIN LATERAL (
        SELECT true AS there
        FROM postroom.suppressions s
        WHERE s.address = p.normal_address
            AND (s.expires_at IS NULL OR s.expires_at > {now})
            AND (
                s.scope = 'all'
                OR (s.workspace = :workspace::text AND (s.scope = 'workspace' OR s.kind = :kind::text))
            )
        LIMIT 1
    ) AS listed ON true
    LEFT JOIN LATERAL (
        SELECT true AS there
        FROM postroom.campaign_mails m
        WHERE m.workspace = :workspace::text AND m.prospect_id = p.id AND m.sequence_id = :sequence::text
        LIMIT 1
    ) AS scheduled ON true
    WHERE e.workspace = :workspace::text AND e.campaign_id = :campaign::text
) AS sorted_out
WHERE sorted_out.reason IS NOT NULL
GROUP BY sorted_out.reason
ORDER BY sorted_out.reason;

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
FROM postroom.enrolments e
WHERE e.workspace = :workspace::text AND e.campaign_id = :campaign::text AND e.number <= :number::bigint
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
FROM postroom.campaigns c
JOIN postroom.enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id
WHERE c.workspace = :workspace::text AND c.id = :campaign::text
GROUP BY became
ORDER BY became;

-- How many are still to get which step, and since when they wait for it, in the campaigns of some statuses, in the
-- order in which these were launched.
-- name: progress_of_campaigns
SELECT
    c.launched_at, c.id, c.sequence_id, e.sequence_version, e.next_step, e.last_sent_on::text, count(*)
FROM postroom.campaigns c
JOIN postroom.enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id
WHERE c.workspace = :workspace::text
    AND c.status = :status::text
    AND e.status = :enrolled::text
GROUP BY c.launched_at, c.id, c.sequence_id, e.sequence_version, e.next_step, e.last_sent_on
ORDER BY c.launched_at, c.id, e.sequence_version, e.next_step, e.last_sent_on;

-- The same of one campaign that does not run, as if it went on now: resumed, with those whom its launch had still to
-- reach; or launched again after it was cancelled, with those whom that has ended and of whom something can still leave.
-- Who was paused stays so. One probe for each: EXISTS would be made into a join, as for a relaunch.
-- name: progress_if_it_went_on
SELECT
    c.launched_at, c.id, c.sequence_id, e.sequence_version, e.next_step, e.last_sent_on::text, count(*)
FROM postroom.campaigns c
JOIN postroom.enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id
WHERE c.workspace = :workspace::text AND c.id = :campaign::text
    AND (
        (c.status = 'paused' AND e.status IN ('enrolled', 'active'))
        OR (
            c.status = 'cancelled' AND e.status = 'stopped' AND e.reason = :reason::text AND NOT e.paused_before
            AND (
                e.sequence_version IS NULL
                OR (
                    SELECT m.email_id
                    FROM postroom.campaign_mails m
                    WHERE m.workspace = e.workspace AND m.campaign_id = e.campaign_id AND m.number = e.number
                        AND m.step = e.next_step
                        AND m.state = 'stopped' AND m.reason = :reason::text AND m.email_status IS NULL
                    LIMIT 1
                ) IS NOT NULL
            )
        )
    )
GROUP BY c.launched_at, c.id, c.sequence_id, e.sequence_version, e.next_step, e.last_sent_on
ORDER BY c.launched_at, c.id, e.sequence_version, e.next_step, e.last_sent_on;
