-- The mail of launched campaigns: whose turn it is, what became of it, and what counts against quotas. Every query is
-- about one workspace, but for those that look for one with something to do, and those that go by the ids of emails.

-- fragment: mail
m.email_id, m.key, m.campaign_id, m.prospect_id, m.sequence_id, m.sequence_version, m.step, m.number, m.sender_id,
m.state, m.due_day, m.planned_at, m.not_before, m.day, m.left_at, m.subject, m.message_id, m.email_status,
m.doubted, m.reason

-- An email of a campaign that asks for its turn again. One in doubt does so where a person has had it sent after all,
-- and that came back: by itself it is held.
-- fragment: asks_again
(e.status IN ('pending', 'retrying') OR (e.status = 'in_doubt' AND e.due_at IS NOT NULL))

-- A workspace whose time has come, held until the transaction ends; none of those that were passed over just now.
-- name: due_pace
SELECT p.workspace, p.last_at, p.gap_us
FROM postroom_paces p
WHERE p.next_at <= :now
    AND p.workspace NOT IN (SELECT value FROM json_each(:passed))
ORDER BY p.next_at
LIMIT 1;

-- A workspace with mail, or people on the list, of which something is to be concluded, held likewise. However many
-- people there are, of each workspace only the first is read. None of those whose settings could not be read just now.
-- name: moved_pace
WITH RECURSIVE covered (workspace) AS (
    SELECT min(c.workspace) FROM postroom_covered_prospects c
    UNION ALL
    SELECT (SELECT min(c.workspace) FROM postroom_covered_prospects c WHERE c.workspace > covered.workspace)
    FROM covered
    WHERE covered.workspace IS NOT NULL
)
SELECT p.workspace, p.last_at, p.gap_us
FROM postroom_paces p
WHERE p.workspace IN (
    SELECT m.workspace FROM postroom_campaign_mails m WHERE m.moved
    UNION ALL
    SELECT covered.workspace FROM covered
)
    AND p.workspace NOT IN (SELECT value FROM json_each(:unread))
LIMIT 1;

-- When the next workspace has its turn.
-- name: next_pace
SELECT min(next_at)
FROM postroom_paces
WHERE next_at IS NOT NULL AND workspace NOT IN (SELECT value FROM json_each(:passed));

-- Whether anything is to be done now.
-- name: campaigns_due
SELECT EXISTS (SELECT 1 FROM postroom_paces WHERE next_at <= :now)
    OR EXISTS (SELECT 1 FROM postroom_campaign_mails WHERE moved)
    OR EXISTS (SELECT 1 FROM postroom_covered_prospects);

-- Have a workspace looked at now. Whoever says so holds it until the transaction ends.
-- name: ring
INSERT INTO postroom_paces (workspace, next_at)
VALUES (:workspace, :now)
ON CONFLICT (workspace) DO UPDATE
SET next_at = excluded.next_at;

-- The pace of a workspace.
-- name: find_pace
SELECT p.workspace, p.last_at, p.gap_us
FROM postroom_paces p
WHERE p.workspace = :workspace;

-- Since when the workspace should have been looked at; null where it has its time to come, or waits for a bell.
-- name: pace_due
SELECT p.next_at
FROM postroom_paces p
WHERE p.workspace = :workspace;

-- Workspaces with a running campaign that should have been looked at before, and were not.
-- name: unserved_paces
SELECT p.workspace, p.next_at
FROM postroom_paces p
WHERE p.next_at < :before
    AND EXISTS (SELECT 1 FROM postroom_campaigns c WHERE c.workspace = p.workspace AND c.status = 'running')
ORDER BY p.next_at;

-- When to look again, after nothing has left …
-- name: rest_pace
UPDATE postroom_paces
SET next_at = :next_at
WHERE workspace = :workspace;

-- … and after a mail has.
-- name: move_pace
UPDATE postroom_paces
SET last_at = :last_at,
    gap_us = :gap_us,
    next_at = :next_at
WHERE workspace = :workspace;

-- Mail whose email stands otherwise than before. What a settle is just writing comes the next time.
-- name: moved_mails
SELECT {mail},
    (SELECT e.dead_reason FROM postroom_emails e WHERE e.id = m.email_id),
    (SELECT {asks_again} FROM postroom_emails e WHERE e.id = m.email_id)
FROM postroom_campaign_mails m
WHERE m.workspace = :workspace AND m.moved
ORDER BY m.email_id
LIMIT :limit;

-- The mails of one enrolment, step by step.
-- name: mails_of_enrolment
SELECT {mail}
FROM postroom_campaign_mails m
WHERE m.workspace = :workspace AND m.campaign_id = :campaign AND m.number = :number
ORDER BY m.step;

-- All mails to one prospect, of whatever campaign of the workspace: the latest that were written down.
-- name: mails_of_prospect
SELECT m.changed_at, {mail}
FROM postroom_campaign_mails m
WHERE m.workspace = :workspace AND m.prospect_id = :prospect
ORDER BY m.email_id DESC
LIMIT :limit;

-- A mail as it stands from now on; nothing is left to be concluded of it.
-- name: put_mail
UPDATE postroom_campaign_mails
SET state = :state,
    due_day = :due_day,
    planned_at = :planned_at,
    not_before = :not_before,
    day = :day,
    left_at = :left_at,
    subject = :subject,
    message_id = :message_id,
    email_status = :email_status,
    doubted = :doubted,
    moved = 0,
    reason = :reason,
    changed_at = :now
WHERE email_id = :id;

-- What was said the last time that an email failed, provided that was since it was handed out.
-- name: last_failure
SELECT h.detail
FROM postroom_events h
WHERE h.email_id = :id AND h.what = 'failed' AND h.at >= :since
ORDER BY h.id DESC
LIMIT 1;

-- fragment: stopped_mails
UPDATE postroom_campaign_mails
SET state = 'stopped',
    reason = :reason,
    changed_at = :now

-- Stop what has not left of the mail to a prospect, of one campaign or, where none is named, of the workspace …
-- name: stop_mails_of_prospect
{stopped_mails}
WHERE workspace = :workspace AND prospect_id = :prospect
    AND (:campaign IS NULL OR campaign_id = :campaign)
    AND state IN ('waiting', 'ready')
RETURNING campaign_id, email_id;

-- … or of some enrolments of a campaign.
-- name: stop_mails_of_campaign
{stopped_mails}
WHERE workspace = :workspace AND campaign_id = :campaign
    AND number > :after AND number <= :upto
    AND state IN ('waiting', 'ready')
RETURNING number;

-- Stop the steps of one enrolment that come after one.
-- name: stop_following
UPDATE postroom_campaign_mails
SET state = 'stopped',
    reason = :reason,
    changed_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign AND number = :number
    AND step > :step AND state IN ('waiting', 'ready');

-- Where the enrolment of a mail stands.
-- fragment: status_of_enrolment
(
    SELECT n.status
    FROM postroom_enrolments n
    WHERE n.workspace = postroom_campaign_mails.workspace
        AND n.campaign_id = postroom_campaign_mails.campaign_id
        AND n.prospect_id = postroom_campaign_mails.prospect_id
)

-- Mail that was stopped for a reason, and has never left, waits again where its enrolment is open; of somebody who is
-- paused, also where it would have its turn.
-- fragment: revived_mails
UPDATE postroom_campaign_mails
SET state = CASE WHEN due_day IS NULL OR {status_of_enrolment} = 'paused' THEN 'waiting' ELSE 'ready' END,
    reason = CASE WHEN due_day IS NOT NULL AND {status_of_enrolment} = 'paused' THEN :paused END,
    changed_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign
    AND state = 'stopped' AND reason = :reason AND email_status IS NULL
    AND {status_of_enrolment} IN ('enrolled', 'active', 'paused')

-- Let such mail of some enrolments of a campaign wait again …
-- name: revive_mails
{revived_mails} AND number > :after AND number <= :upto
RETURNING number;

-- … or, where a mail before it has ended the enrolment, wait for that one to be sent after all, …
-- name: leave_stranded_mails
UPDATE postroom_campaign_mails
SET reason = :previous,
    changed_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign
    AND number > :after AND number <= :upto
    AND state = 'stopped' AND reason = :reason AND email_status IS NULL
    AND (
        SELECT n.ended_by_step
        FROM postroom_enrolments n
        WHERE n.workspace = postroom_campaign_mails.workspace
            AND n.campaign_id = postroom_campaign_mails.campaign_id
            AND n.prospect_id = postroom_campaign_mails.prospect_id
    ) < step;

-- … or of one enrolment.
-- name: revive_mails_of_enrolment
{revived_mails} AND number = :number;

-- Take the turn from a prospect for a while …
-- name: hold_mails
UPDATE postroom_campaign_mails
SET state = 'waiting',
    reason = :reason,
    changed_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign AND prospect_id = :prospect
    AND state = 'ready';

-- … and give it back.
-- name: unhold_mails
UPDATE postroom_campaign_mails
SET state = 'ready',
    reason = NULL,
    changed_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign AND prospect_id = :prospect
    AND state = 'waiting' AND due_day IS NOT NULL;

-- Emails that wait for another attempt, of the mail to a prospect …
-- name: emails_of_prospect
SELECT e.id
FROM postroom_campaign_mails m
CROSS JOIN postroom_emails e ON e.id = m.email_id
WHERE m.workspace = :workspace AND m.prospect_id = :prospect AND m.state = 'leaving'
    AND (:campaign IS NULL OR m.campaign_id = :campaign)
    AND {asks_again}
ORDER BY e.id;

-- … or of some enrolments of a campaign.
-- name: emails_of_campaign
SELECT e.id
FROM postroom_campaign_mails m
CROSS JOIN postroom_emails e ON e.id = m.email_id
WHERE m.workspace = :workspace AND m.campaign_id = :campaign
    AND m.number > :after AND m.number <= :upto AND m.state = 'leaving'
    AND {asks_again}
ORDER BY e.id;

-- Count for a window day: of the workspace, and of the sender.
-- name: count_mail
INSERT INTO postroom_campaign_days AS known (workspace, sender_id, day, used, accepted, doubted)
SELECT :workspace, named.sender, :day, :used, :accepted, :doubted
FROM (SELECT '' AS sender UNION ALL SELECT :sender) AS named
WHERE true
ON CONFLICT (workspace, sender_id, day) DO UPDATE
SET used = known.used + excluded.used,
    accepted = known.accepted + excluded.accepted,
    doubted = known.doubted + excluded.doubted;

-- What counts on a day, and on how many days before it mail was accepted: of the workspace, and of each sender.
-- name: mail_counts
SELECT sender_id,
    sum(CASE WHEN day = :day THEN used ELSE 0 END),
    sum(CASE WHEN day < :day AND accepted > 0 THEN 1 ELSE 0 END)
FROM postroom_campaign_days
WHERE workspace = :workspace
GROUP BY sender_id;

-- Whose turn it is: follow-ups that are due, the oldest first, then new prospects; campaigns by their launch, prospects
-- by their enrolment. One probe of the index for each running campaign and sender.
-- name: next_mail
SELECT {mail}
FROM (
    SELECT c.launched_at, c.id, (
        SELECT first.email_id
        FROM postroom_campaign_mails first
        WHERE first.workspace = :workspace AND first.campaign_id = c.id AND first.sender_id = sender.value
            AND first.follow_up = lane.value AND first.state = 'ready'
            AND first.due_day <= :day
            AND (first.not_before IS NULL OR first.not_before <= :now)
        ORDER BY first.due_day, first.number
        LIMIT 1
    ) AS email_id
    FROM postroom_campaigns c
    CROSS JOIN json_each(:senders) AS sender
    CROSS JOIN json_each('[0, 1]') AS lane
    WHERE c.workspace = :workspace AND c.status = 'running'
) AS turn
JOIN postroom_campaign_mails m ON m.email_id = turn.email_id
ORDER BY m.follow_up DESC, m.due_day, turn.launched_at, turn.id, m.number
LIMIT 1;

-- A mail that has left before, came back, and is due again. One of which something is still to be concluded counts yet.
-- name: next_retry
SELECT {mail}
FROM postroom_campaign_mails m
CROSS JOIN postroom_emails e ON e.id = m.email_id
CROSS JOIN postroom_campaigns c ON c.workspace = m.workspace AND c.id = m.campaign_id
CROSS JOIN postroom_enrolments n
    ON n.workspace = m.workspace AND n.campaign_id = m.campaign_id AND n.prospect_id = m.prospect_id
WHERE m.workspace = :workspace AND m.state = 'leaving' AND NOT m.moved
    AND {asks_again} AND e.due_at <= :now
    AND (m.not_before IS NULL OR m.not_before <= :now)
    AND e.route IN (SELECT value FROM json_each(:routes))
    AND m.sender_id IN (SELECT value FROM json_each(:senders))
    AND c.status = 'running' AND n.status = 'active'
ORDER BY e.due_at, e.id
LIMIT 1;

-- Take such an email in hand.
-- name: claim_mail
DELETE FROM postroom_picked;
INSERT INTO postroom_picked (id)
SELECT e.id
FROM postroom_emails e
WHERE e.id = :id AND {asks_again};
UPDATE postroom_emails
SET status = 'sending',
    lease_token = lease_token + 1,
    leased_until = CAST(:now + :lease * 1000000 AS INTEGER),
    worker = :worker,
    dot_noted_at = NULL,
    last_attempt_at = :now
WHERE id IN (SELECT id FROM postroom_picked);
{picked};

-- What is to come, where nobody has a turn now: the first due day, the first that was set aside, the first retry.
-- name: next_turns
SELECT
    (
        SELECT min(found.due_day)
        FROM (
            SELECT (
                SELECT min(m.due_day)
                FROM postroom_campaign_mails m
                WHERE m.workspace = :workspace AND m.campaign_id = c.id AND m.sender_id = s.id
                    AND m.follow_up = 1 AND m.state = 'ready' AND m.due_day > :day
            ) AS due_day
            FROM postroom_campaigns c
            JOIN postroom_senders s ON s.workspace = c.workspace
            WHERE c.workspace = :workspace AND c.status = 'running'
        ) AS found
    ),
    (
        SELECT min(m.not_before)
        FROM postroom_campaign_mails m
        WHERE m.workspace = :workspace AND m.state = 'ready' AND m.not_before > :now
    ),
    (
        SELECT min(max(e.due_at, coalesce(m.not_before, e.due_at)))
        FROM postroom_campaign_mails m
        CROSS JOIN postroom_emails e ON e.id = m.email_id
        WHERE m.workspace = :workspace AND m.state = 'leaving'
            AND {asks_again}
    );

-- When a person was last handed a mail of a campaign, beside this one.
-- name: last_mail_to
SELECT max(left_at)
FROM postroom_campaign_mails
WHERE workspace = :workspace AND prospect_id = :prospect AND state IN ('leaving', 'sent')
    AND email_id <> :beside;

-- What decides, at the last moment, whether a mail may leave.
-- name: standing_of_mail
SELECT m.workspace, m.sender_id, m.day, m.left_at, c.status, n.status, s.paused_at, p.last_at
FROM postroom_campaign_mails m
JOIN postroom_campaigns c ON c.workspace = m.workspace AND c.id = m.campaign_id
JOIN postroom_enrolments n
    ON n.workspace = m.workspace AND n.campaign_id = m.campaign_id AND n.prospect_id = m.prospect_id
JOIN postroom_senders s ON s.workspace = m.workspace AND s.id = m.sender_id
JOIN postroom_paces p ON p.workspace = m.workspace
WHERE m.email_id = :id;

-- Have a mail leave now, and the next keep its distance from that.
-- name: take_place
UPDATE postroom_paces
SET last_at = max(coalesce(last_at, :now), :now)
WHERE workspace = (SELECT m.workspace FROM postroom_campaign_mails m WHERE m.email_id = :id);

-- When a mail has left is when it came to its dot.
-- name: leaves_now
UPDATE postroom_campaign_mails
SET left_at = :now
WHERE email_id = :id;

-- Where an enrolment stands from now on, provided it stands where it is believed to.
-- name: set_enrolment
UPDATE postroom_enrolments
SET status = :status,
    reason = NULL,
    updated_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign AND prospect_id = :prospect
    AND status IN (SELECT value FROM json_each(:was));

-- How far an enrolment has come, wherever it stands: its mail was sent on that day.
-- name: note_sent_step
UPDATE postroom_enrolments
SET next_step = :step + 1,
    last_sent_on = :day,
    updated_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign AND prospect_id = :prospect;

-- The mail of a step was given up, and ends an enrolment that is open …
-- name: end_enrolment_at_step
UPDATE postroom_enrolments
SET paused_before = (status = 'paused'),
    status = 'stopped',
    reason = :reason,
    ended_by_step = :step,
    updated_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign AND prospect_id = :prospect
    AND status IN ('enrolled', 'active', 'paused');

-- … which goes on if that mail is sent after all: one that this mail has ended, and that nothing else has since.
-- name: revive_enrolment
UPDATE postroom_enrolments
SET status = CASE WHEN paused_before THEN 'paused' ELSE 'active' END,
    reason = NULL,
    ended_by_step = NULL,
    updated_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign AND prospect_id = :prospect
    AND status = 'stopped' AND ended_by_step = :step AND reason = :reason
RETURNING number;

-- End the enrolments of a prospect: in one campaign or, where none is named, in the workspace. What is said of a person
-- holds for those too that a cancelled campaign or a dead step has ended: these go on when somebody launches it again or
-- retries the step, and this person is not to be among them. Said again, it ends nothing.
-- name: end_enrolments_of_prospect
UPDATE postroom_enrolments
SET status = :status,
    reason = :reason,
    ended_by_step = NULL,
    updated_at = :now
WHERE workspace = :workspace AND prospect_id = :prospect
    AND (:campaign IS NULL OR campaign_id = :campaign)
    AND status IN ('enrolled', 'active', 'paused', 'stopped')
    AND (status, reason, ended_by_step) IS NOT (:status, :reason, NULL)
RETURNING campaign_id, prospect_id;

-- End those of a campaign that are open, some by their numbers, and remember who was paused.
-- name: end_enrolments_of_campaign
UPDATE postroom_enrolments
SET paused_before = (status = 'paused'),
    status = :status,
    reason = :reason,
    updated_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign
    AND number > :after AND number <= :upto
    AND status IN ('enrolled', 'active', 'paused');

-- Whom a cancelled campaign has ended, some by their numbers.
-- fragment: was_cancelled
e.workspace = :workspace AND e.campaign_id = :campaign
    AND e.number > :after AND e.number <= :upto
    AND e.status = 'stopped' AND e.reason = :reason

-- fragment: mails_of_it
FROM postroom_campaign_mails m
WHERE m.workspace = e.workspace AND m.campaign_id = e.campaign_id AND m.number = e.number

-- Launched again, those have completed it whose last mail was sent nevertheless, …
-- name: complete_cancelled
UPDATE postroom_enrolments AS e
SET status = 'completed',
    reason = NULL,
    updated_at = :now
WHERE {was_cancelled}
    AND (
        SELECT m.state
        {mails_of_it}
        ORDER BY m.step DESC
        LIMIT 1
    ) = 'sent';

-- … those go on of whose mail something can still leave, or that were not launched then; who was paused is so again; …
-- name: revive_enrolments
UPDATE postroom_enrolments AS e
SET status = CASE
        WHEN paused_before THEN 'paused'
        WHEN sequence_version IS NULL THEN 'enrolled'
        ELSE 'active'
    END,
    reason = NULL,
    ended_by_step = NULL,
    updated_at = :now
WHERE {was_cancelled}
    AND (
        e.sequence_version IS NULL
        OR (
            SELECT m.email_id
            {mails_of_it}
                AND (m.state = 'leaving' OR m.due_day IS NOT NULL)
                AND (
                    m.state IN ('waiting', 'ready', 'leaving')
                    OR (m.state = 'stopped' AND m.reason = :reason AND m.email_status IS NULL)
                )
            LIMIT 1
        ) IS NOT NULL
    );

-- … and the others were ended by the mail that was the last to have its turn: sent after all, it lets them go on.
-- name: end_stranded
UPDATE postroom_enrolments AS e
SET (reason, ended_by_step) = (
        SELECT coalesce(m.reason, e.reason), m.step
        {mails_of_it} AND m.due_day IS NOT NULL
        ORDER BY m.step DESC
        LIMIT 1
    ),
    updated_at = :now
WHERE {was_cancelled} AND e.ended_by_step IS NULL;

-- Whoever is still to get something, and of whose mail nothing can leave: there ought to be nobody.
-- name: count_stranded
SELECT count(*)
FROM postroom_enrolments e
WHERE e.workspace = :workspace AND e.campaign_id = :campaign
    AND e.status IN ('active', 'paused') AND e.sequence_version IS NOT NULL
    AND (
        SELECT m.email_id
        {mails_of_it}
            AND (m.state IN ('ready', 'leaving') OR (m.state = 'waiting' AND m.due_day IS NOT NULL))
        LIMIT 1
    ) IS NULL;

-- Mails that wait for somebody who is to get nothing more: there ought to be none.
-- name: count_left_over
SELECT count(*)
FROM postroom_campaign_mails m
WHERE m.workspace = :workspace AND m.campaign_id = :campaign AND m.state IN ('waiting', 'ready')
    AND (
        SELECT e.status
        FROM postroom_enrolments e
        WHERE e.workspace = m.workspace AND e.campaign_id = m.campaign_id AND e.prospect_id = m.prospect_id
    ) NOT IN ('enrolled', 'active', 'paused');

-- Who is still to get something of a campaign that is over: there ought to be nobody. One that was cancelled is over when
-- that has come to all of them; of a draft, which has launched nobody, nobody need end.
-- name: count_open_after_end
SELECT c.status, count(*)
FROM postroom_campaigns c
JOIN postroom_enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id
WHERE c.workspace = :workspace AND c.id = :campaign
    AND (c.status = 'completed' OR (c.status = 'cancelled' AND c.carried_to IS NULL AND c.launched_to > 0))
    AND e.status IN ('enrolled', 'active', 'paused')
GROUP BY c.status;

-- Where an enrolment stands; without a version, a launch has still to reach it.
-- name: find_enrolment
SELECT status, sequence_version, reason
FROM postroom_enrolments
WHERE workspace = :workspace AND campaign_id = :campaign AND prospect_id = :prospect;

-- The campaign is over if nobody of it is still to get something, and nobody is to be brought back; its row if so.
-- name: complete_campaign
UPDATE postroom_campaigns AS c
SET status = 'completed',
    finished_at = :now
WHERE c.workspace = :workspace AND c.id = :campaign AND c.status IN ('running', 'paused')
    AND c.carried_to IS NULL
    AND NOT EXISTS (
        SELECT 1
        FROM postroom_enrolments e
        WHERE e.workspace = c.workspace AND e.campaign_id = c.id AND e.status IN ('enrolled', 'active', 'paused')
    )
RETURNING id;

-- Somebody of a campaign that was over is to get something after all.
-- name: reopen_campaign
UPDATE postroom_campaigns
SET status = 'running',
    finished_at = NULL
WHERE workspace = :workspace AND id = :campaign AND status = 'completed';

-- Where a campaign stands from now on.
-- name: set_campaign
UPDATE postroom_campaigns
SET status = :status,
    launched_at = CASE WHEN :status = 'running' THEN coalesce(launched_at, :now) ELSE launched_at END,
    paused_at = CASE WHEN :status = 'paused' THEN :now END,
    pause_reason = :reason,
    finished_at = CASE WHEN :status = 'cancelled' THEN :now END
WHERE workspace = :workspace AND id = :campaign;

-- What is done to a campaign is still to come to all of its people, …
-- name: carry_from_the_beginning
UPDATE postroom_campaigns
SET carried_to = 0,
    carried_mails = 0,
    carried_people = 0
WHERE workspace = :workspace AND id = :campaign;

-- … some at a time: up to whom the next of them go, null where there are none, …
-- name: end_of_batch
SELECT max(number)
FROM (
    SELECT number
    FROM postroom_enrolments
    WHERE workspace = :workspace AND campaign_id = :campaign AND number > :after
    ORDER BY number
    LIMIT :limit
) AS batch;

-- … until it has.
-- name: carried_to
UPDATE postroom_campaigns
SET carried_to = :number,
    carried_mails = carried_mails + :mails,
    carried_people = carried_people + :people
WHERE workspace = :workspace AND id = :campaign;

-- How many mails it has concerned, and how many people.
-- name: carried
SELECT carried_mails, carried_people
FROM postroom_campaigns
WHERE workspace = :workspace AND id = :campaign;

-- To how many people it has not come yet.
-- name: count_to_carry
SELECT count(*)
FROM postroom_campaigns c
JOIN postroom_enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id AND e.number > c.carried_to
WHERE c.workspace = :workspace AND c.id = :campaign;

-- How far the launch of a campaign has come.
-- name: launched_to
UPDATE postroom_campaigns
SET launched_to = :number
WHERE workspace = :workspace AND id = :campaign;

-- Who has, or had, mail of a sequence already.
-- name: scheduled_already
SELECT DISTINCT m.prospect_id
FROM json_each(:prospects) AS named
CROSS JOIN postroom_campaign_mails m ON m.workspace = :workspace AND m.prospect_id = named.value
WHERE m.sequence_id = :sequence;

-- Settle what the launch has decided of enrolments.
-- name: pin_enrolments
DELETE FROM postroom_picked;
INSERT OR IGNORE INTO postroom_picked (id, worker)
SELECT json_extract(value, '$.prospect'), value
FROM json_each(:enrolments);
UPDATE postroom_enrolments
SET status = (SELECT json_extract(worker, '$.status') FROM postroom_picked WHERE id = prospect_id),
    sequence_version = (SELECT json_extract(worker, '$.version') FROM postroom_picked WHERE id = prospect_id),
    sender_id = (SELECT json_extract(worker, '$.sender') FROM postroom_picked WHERE id = prospect_id),
    reason = (SELECT json_extract(worker, '$.reason') FROM postroom_picked WHERE id = prospect_id),
    updated_at = :now
WHERE workspace = :workspace AND campaign_id = :campaign AND prospect_id IN (SELECT id FROM postroom_picked);

-- When mails are to leave, by the forecast. Each is looked up by itself, and changed by its primary key.
-- name: plan_mails
DELETE FROM postroom_picked;
INSERT OR IGNORE INTO postroom_picked (id, worker)
SELECT m.email_id, json_extract(slot.value, '$.at')
FROM json_each(:slots) AS slot
CROSS JOIN postroom_campaign_mails m
    ON m.workspace = :workspace AND m.campaign_id = json_extract(slot.value, '$.campaign')
    AND m.number = json_extract(slot.value, '$.number') AND m.step = json_extract(slot.value, '$.step');
UPDATE postroom_campaign_mails
SET planned_at = CAST((SELECT worker FROM postroom_picked WHERE id = email_id) AS INTEGER)
WHERE email_id IN (SELECT id FROM postroom_picked) AND state IN ('waiting', 'ready');

-- Nobody knows any more when these mails leave: those of some enrolments of a campaign, by their numbers.
-- name: forget_planned
UPDATE postroom_campaign_mails
SET planned_at = NULL
WHERE workspace = :workspace AND campaign_id = :campaign
    AND number > :after AND number <= :until
    AND state IN ('waiting', 'ready') AND planned_at IS NOT NULL;

-- The mails of a campaign by where they stand, and why.
-- name: campaign_totals
SELECT state, CASE WHEN state IN ('stopped', 'dead') THEN reason END, count(*)
FROM postroom_campaign_mails
WHERE workspace = :workspace AND campaign_id = :campaign
GROUP BY 1, 2;

-- How many steps the versions have that somebody of a campaign was pinned to.
-- name: steps_by_version
SELECT s.version, count(*)
FROM postroom_campaigns c
JOIN postroom_steps s ON s.workspace = c.workspace AND s.sequence_id = c.sequence_id
WHERE c.workspace = :workspace AND c.id = :campaign
GROUP BY s.version;

-- Where what is counted for a day differs from the mails that count; apart from these there is what was left in doubt.
-- name: miscounted_days
SELECT sender_id, day, sum(noted_used), sum(used), sum(noted_accepted), sum(accepted)
FROM (
    SELECT sender_id, day, used - doubted AS noted_used, accepted AS noted_accepted, 0 AS used, 0 AS accepted
    FROM postroom_campaign_days
    WHERE workspace = :workspace
    UNION ALL
    SELECT '', day, 0, 0, 1, CASE WHEN state = 'sent' THEN 1 ELSE 0 END
    FROM postroom_campaign_mails
    WHERE workspace = :workspace AND day IS NOT NULL
    UNION ALL
    SELECT sender_id, day, 0, 0, 1, CASE WHEN state = 'sent' THEN 1 ELSE 0 END
    FROM postroom_campaign_mails
    WHERE workspace = :workspace AND day IS NOT NULL
) AS both_ways
GROUP BY sender_id, day
HAVING sum(noted_used) <> sum(used) OR sum(noted_accepted) <> sum(accepted);

-- The next mails of a campaign that have not come to their end, with whom they are for.
-- name: waiting_mails
SELECT {mail}, n.status, e.status, e.due_at
FROM postroom_campaign_mails m
JOIN postroom_enrolments n
    ON n.workspace = m.workspace AND n.campaign_id = m.campaign_id AND n.prospect_id = m.prospect_id
LEFT JOIN postroom_emails e ON e.id = m.email_id
WHERE m.workspace = :workspace AND m.campaign_id = :campaign
    AND (m.number, m.step) > (:number, :step)
    AND m.state IN ('waiting', 'ready', 'leaving')
ORDER BY m.number, m.step
LIMIT :limit;

-- When the last mail of a campaign is to leave that can still leave, by the forecast: the times are written in their
-- order, so where that one has none, others may lack theirs.
-- name: last_planned
SELECT planned_at
FROM postroom_campaign_mails
WHERE workspace = :workspace AND campaign_id = :campaign AND state IN ('waiting', 'ready')
ORDER BY number DESC, step DESC
LIMIT 1;

-- Those of the running campaigns who are still to get something, in the order of enrolment: as the plan reads them.
-- name: to_be_planned
SELECT m.number, m.step, m.due_day, m.sequence_version
FROM postroom_campaign_mails m
WHERE m.workspace = :workspace AND m.campaign_id = :campaign AND m.number > :after
    AND m.state IN ('waiting', 'ready', 'leaving')
    AND m.due_day IS NOT NULL AND m.follow_up = :follow_up
ORDER BY m.number
LIMIT :limit;

-- Hold the campaigns of workspaces: those that are named, and those of some emails. In one order, and before anything
-- else that a transaction locks.
-- name: hold_paces
SELECT p.workspace
FROM postroom_paces p
WHERE p.workspace IN (
    SELECT value FROM json_each(:workspaces)
    UNION ALL
    SELECT e.workspace FROM postroom_emails e WHERE e.id IN (SELECT value FROM json_each(:emails))
    UNION ALL
    SELECT m.workspace FROM postroom_campaign_mails m WHERE m.email_id IN (SELECT value FROM json_each(:emails))
)
ORDER BY p.workspace;

-- The mails that some emails are, with whom they are for.
-- name: mails_that_are
SELECT m.email_id, m.workspace, m.campaign_id, m.prospect_id, p.normal_address, m.message_id
FROM postroom_campaign_mails m
JOIN postroom_prospects p ON p.workspace = m.workspace AND p.id = m.prospect_id
WHERE m.email_id IN (SELECT value FROM json_each(:ids));

-- Who has these addresses: in one workspace, or, where none is named, in all.
-- name: prospects_at
SELECT known.workspace, known.id, known.normal_address
FROM json_each(:wanted) AS wanted
CROSS JOIN postroom_prospects known INDEXED BY postroom_prospects_everywhere
    ON known.normal_address = wanted.value ->> 'address'
    AND (wanted.value ->> 'workspace' IS NULL OR known.workspace = wanted.value ->> 'workspace');

-- Prospects whom an entry covers, and of whom that is still to be concluded.
-- name: covered_prospects
SELECT c.id, c.prospect_id, p.normal_address
FROM postroom_covered_prospects c
LEFT JOIN postroom_prospects p ON p.workspace = c.workspace AND p.id = c.prospect_id
WHERE c.workspace = :workspace
ORDER BY c.prospect_id
LIMIT :limit;

-- It is concluded of these notes …
-- name: forget_covered
DELETE FROM postroom_covered_prospects
WHERE id IN (SELECT value FROM json_each(:ids));

-- … and of all that there are about a prospect.
-- name: forget_covered_of
DELETE FROM postroom_covered_prospects
WHERE workspace = :workspace AND prospect_id = :prospect;

-- Leave somebody alone until a day, in all campaigns of a workspace; who is away longer already stays so.
-- name: set_aside_until
UPDATE postroom_campaign_mails
SET not_before = :until,
    reason = CASE WHEN reason = :paused THEN reason ELSE :reason END,
    changed_at = :now
WHERE workspace = :workspace AND prospect_id = :prospect AND state IN ('waiting', 'ready')
    AND (not_before IS NULL OR not_before < :until)
RETURNING campaign_id;

-- Note at a mail what came back about it; its row if that is new.
-- name: note_returned
UPDATE postroom_campaign_mails
SET bounced = bounced OR :bounced,
    complained = complained OR :complained,
    refused = refused OR :refused
WHERE email_id = :id
    AND ((:bounced AND NOT bounced) OR (:complained AND NOT complained))
RETURNING left_at;

-- What was said to an email that was refused, and whom it was for; nothing while somebody else has it in hand.
-- name: refusal
SELECT e.reply, c.envelope
FROM postroom_emails e
LEFT JOIN postroom_contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = :id;

-- Count mail of a campaign that was sent, bounced or complained about, unless it left before the count began.
-- name: count_campaign
UPDATE postroom_campaigns
SET sent = sent + :sent,
    bounced = bounced + :bounced,
    complained = complained + :complained
WHERE workspace = :workspace AND id = :campaign
    AND (counted_from IS NULL OR counted_from <= :left_at)
RETURNING sent, bounced, complained;

-- What is counted of a campaign.
-- name: campaign_count
SELECT sent, bounced, complained
FROM postroom_campaigns
WHERE workspace = :workspace AND id = :campaign;

-- Count from now on.
-- name: count_anew
UPDATE postroom_campaigns
SET sent = 0,
    bounced = 0,
    complained = 0,
    counted_from = :now
WHERE workspace = :workspace AND id = :campaign;

-- A campaign pauses itself; of one that is paused already, the reason is the latest.
-- name: pause_itself
UPDATE postroom_campaigns
SET status = 'paused',
    paused_at = coalesce(paused_at, :now),
    pause_reason = :reason
WHERE workspace = :workspace AND id = :campaign AND status IN ('running', 'paused');

-- What is counted of a campaign, beside what its mails say.
-- name: miscounted_campaign
SELECT c.sent, c.bounced, c.complained,
    count(*) FILTER (WHERE m.state = 'sent') + count(*) FILTER (WHERE m.refused),
    count(*) FILTER (WHERE m.bounced),
    count(*) FILTER (WHERE m.complained)
FROM postroom_campaigns c
LEFT JOIN postroom_campaign_mails m
    ON m.workspace = c.workspace AND m.campaign_id = c.id
    AND (c.counted_from IS NULL OR c.counted_from <= m.left_at)
WHERE c.workspace = :workspace AND c.id = :campaign
GROUP BY c.workspace, c.id;
