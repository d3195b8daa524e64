-- The mail of launched campaigns: whose turn it is, what became of it, and what counts against quotas. Every query is
-- about one workspace, but for those that look for one with something to do, and those that go by the ids of emails.

-- fragment: mail
m.email_id::text, m.key, m.campaign_id, m.prospect_id, m.sequence_id, m.sequence_version, m.step, m.number, m.sender_id,
m.state, m.due_day::text, m.planned_at, m.not_before, m.day::text, m.left_at, m.subject, m.message_id, m.email_status,
m.doubted, m.reason

-- An email of a campaign that asks for its turn again. One in doubt does so where a person has had it sent after all,
-- and that came back: by itself it is held.
-- fragment: asks_again
(e.status IN ('pending', 'retrying') OR (e.status = 'in_doubt' AND e.due_at IS NOT NULL))

-- A workspace whose time has come, held until the transaction ends; none of those that were passed over just now.
-- name: due_pace
SELECT p.workspace, p.last_at, p.gap_us
FROM postroom.paces p
WHERE p.next_at <= {now}
    AND p.workspace NOT IN (SELECT json_array_elements_text((:passed::text)::json))
ORDER BY p.next_at
LIMIT 1
FOR UPDATE SKIP LOCKED;

-- A workspace with mail, or people on the list, of which something is to be concluded, held likewise. However many
-- people there are, of each workspace only the first is read. None of those whose settings could not be read just now.
-- name: moved_pace
WITH RECURSIVE covered (workspace) AS (
    SELECT min(c.workspace) FROM postroom.covered_prospects c
    UNION ALL
    SELECT (SELECT min(c.workspace) FROM postroom.covered_prospects c WHERE c.workspace > covered.workspace)
    FROM covered
    WHERE covered.workspace IS NOT NULL
)
SELECT p.workspace, p.last_at, p.gap_us
FROM postroom.paces p
WHERE p.workspace IN (
    SELECT m.workspace FROM postroom.campaign_mails m WHERE m.moved
    UNION ALL
    SELECT covered.workspace FROM covered
)
    AND p.workspace NOT IN (SELECT json_array_elements_text((:unread::text)::json))
LIMIT 1
FOR UPDATE SKIP LOCKED;

-- When the next workspace has its turn.
-- name: next_pace
SELECT min(next_at)
FROM postroom.paces
WHERE next_at IS NOT NULL AND workspace NOT IN (SELECT json_array_elements_text((:passed::text)::json));

-- Whether anything is to be done now.
-- name: campaigns_due
SELECT EXISTS (SELECT FROM postroom.paces WHERE next_at <= {now})
    OR EXISTS (SELECT FROM postroom.campaign_mails WHERE moved)
    OR EXISTS (SELECT FROM postroom.covered_prospects);

-- Have a workspace looked at now. Whoever says so holds it until the transaction ends.
-- name: ring
INSERT INTO postroom.paces (workspace, next_at)
VALUES (:workspace::text, {now})
ON CONFLICT (workspace) DO UPDATE
SET next_at = excluded.next_at;

-- The pace of a workspace.
-- name: find_pace
SELECT p.workspace, p.last_at, p.gap_us
FROM postroom.paces p
WHERE p.workspace = :workspace::text;

-- Since when the workspace should have been looked at; null where it has its time to come, or waits for a bell.
-- name: pace_due
SELECT p.next_at
FROM postroom.paces p
WHERE p.workspace = :workspace::text;

-- Workspaces with a running campaign that should have been looked at before, and were not.
-- name: unserved_paces
SELECT p.workspace, p.next_at
FROM postroom.paces p
WHERE p.next_at < (:before::text)::timestamptz
    AND EXISTS (SELECT 1 FROM postroom.campaigns c WHERE c.workspace = p.workspace AND c.status = 'running')
ORDER BY p.next_at;

-- When to look again, after nothing has left …
-- name: rest_pace
UPDATE postroom.paces
SET next_at = (:next_at::text)::timestamptz
WHERE workspace = :workspace::text;

-- … and after a mail has.
-- name: move_pace
UPDATE postroom.paces
SET last_at = (:last_at::text)::timestamptz,
    gap_us = :gap_us::bigint,
    next_at = (:next_at::text)::timestamptz
WHERE workspace = :workspace::text;

-- Mail whose email stands otherwise than before. What a settle is just writing comes the next time.
-- name: moved_mails
SELECT {mail},
    (SELECT e.dead_reason FROM postroom.emails e WHERE e.id = m.email_id),
    (SELECT {asks_again} FROM postroom.emails e WHERE e.id = m.email_id)
FROM postroom.campaign_mails m
WHERE m.workspace = :workspace::text AND m.moved
ORDER BY m.email_id
LIMIT :limit::bigint
FOR UPDATE SKIP LOCKED;

-- The mails of one enrolment, step by step.
-- name: mails_of_enrolment
SELECT {mail}
FROM postroom.campaign_mails m
WHERE m.workspace = :workspace::text AND m.campaign_id = :campaign::text AND m.number = :number::bigint
ORDER BY m.step;

-- All mails to one prospect, of whatever campaign of the workspace: the latest that were written down.
-- The order is one that the primary key cannot give: few are theirs.
-- name: mails_of_prospect
SELECT m.changed_at, {mail}
FROM postroom.campaign_mails m
WHERE m.workspace = :workspace::text AND m.prospect_id = :prospect::text
ORDER BY m.email_id DESC NULLS LAST
LIMIT :limit::bigint;

-- A mail as it stands from now on; nothing is left to be concluded of it.
-- name: put_mail
UPDATE postroom.campaign_mails
SET state = :state::text,
    due_day = (:due_day::text)::date,
    planned_at = (:planned_at::text)::timestamptz,
    not_before = (:not_before::text)::timestamptz,
    day = (:day::text)::date,
    left_at = (:left_at::text)::timestamptz,
    subject = :subject::text,
    message_id = :message_id::text,
    email_status = :email_status::text,
    doubted = :doubted::boolean,
    moved = false,
    reason = :reason::text,
    changed_at = {now}
WHERE email_id = :id::uuid;

-- What was said the last time that an email failed, provided that was since it was handed out.
-- name: last_failure
SELECT h.detail
FROM postroom.events h
WHERE h.email_id = :id::uuid AND h.what = 'failed' AND h.at >= (:since::text)::timestamptz
ORDER BY h.id DESC
LIMIT 1;

-- fragment: stopped_mails
UPDATE postroom.campaign_mails
SET state = 'stopped',
    reason = :reason::text,
    changed_at = {now}

-- Stop what has not left of the mail to a prospect, of one campaign or, where none is named, of the workspace …
-- name: stop_mails_of_prospect
{stopped_mails}
WHERE workspace = :workspace::text AND prospect_id = :prospect::text
    AND (:campaign::text IS NULL OR campaign_id = :campaign::text)
    AND state IN ('waiting', 'ready')
RETURNING campaign_id, email_id::text;

-- … or of some enrolments of a campaign.
-- name: stop_mails_of_campaign
{stopped_mails}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text
    AND number > :after::bigint AND number <= :upto::bigint
    AND state IN ('waiting', 'ready')
RETURNING number;

-- Stop the steps of one enrolment that come after one.
-- name: stop_following
UPDATE postroom.campaign_mails
SET state = 'stopped',
    reason = :reason::text,
    changed_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND number = :number::bigint
    AND step > :step::integer AND state IN ('waiting', 'ready');

-- Where the enrolment of a mail stands. One probe for each
-- mail: EXISTS would be made into a join, which is planned badly as long as nobody has counted the rows.
-- fragment: status_of_enrolment
(
    SELECT n.status
    FROM postroom.enrolments n
    WHERE n.workspace = postroom.campaign_mails.workspace
        AND n.campaign_id = postroom.campaign_mails.campaign_id
        AND n.prospect_id = postroom.campaign_mails.prospect_id
)

-- Mail that was stopped for a reason, and has never left, waits again where its enrolment is open; of somebody who is
-- paused, also where it would have its turn.
-- fragment: revived_mails
UPDATE postroom.campaign_mails
SET state = CASE WHEN due_day IS NULL OR {status_of_enrolment} = 'paused' THEN 'waiting' ELSE 'ready' END,
    reason = CASE WHEN due_day IS NOT NULL AND {status_of_enrolment} = 'paused' THEN :paused::text END,
    changed_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text
    AND state = 'stopped' AND reason = :reason::text AND email_status IS NULL
    AND {status_of_enrolment} IN ('enrolled', 'active', 'paused')

-- Let such mail of some enrolments of a campaign wait again …
-- name: revive_mails
{revived_mails} AND number > :after::bigint AND number <= :upto::bigint
RETURNING number;

-- … or, where a mail before it has ended the enrolment, wait for that one to be sent after all, …
-- name: leave_stranded_mails
UPDATE postroom.campaign_mails
SET reason = :previous::text,
    changed_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text
    AND number > :after::bigint AND number <= :upto::bigint
    AND state = 'stopped' AND reason = :reason::text AND email_status IS NULL
    AND (
        SELECT n.ended_by_step
        FROM postroom.enrolments n
        WHERE n.workspace = postroom.campaign_mails.workspace
            AND n.campaign_id = postroom.campaign_mails.campaign_id
            AND n.prospect_id = postroom.campaign_mails.prospect_id
    ) < step;

-- … or of one enrolment.
-- name: revive_mails_of_enrolment
{revived_mails} AND number = :number::integer;

-- Take the turn from a prospect for a while …
-- name: hold_mails
UPDATE postroom.campaign_mails
SET state = 'waiting',
    reason = :reason::text,
    changed_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND prospect_id = :prospect::text
    AND state = 'ready';

-- … and give it back.
-- name: unhold_mails
UPDATE postroom.campaign_mails
SET state = 'ready',
    reason = NULL,
    changed_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND prospect_id = :prospect::text
    AND state = 'waiting' AND due_day IS NOT NULL;

-- Emails that wait for another attempt, of the mail to a prospect …
-- name: emails_of_prospect
SELECT e.id::text
FROM postroom.campaign_mails m
JOIN postroom.emails e ON e.id = m.email_id
WHERE m.workspace = :workspace::text AND m.prospect_id = :prospect::text AND m.state = 'leaving'
    AND (:campaign::text IS NULL OR m.campaign_id = :campaign::text)
    AND {asks_again}
ORDER BY e.id;

-- … or of some enrolments of a campaign.
-- name: emails_of_campaign
SELECT e.id::text
FROM postroom.campaign_mails m
JOIN postroom.emails e ON e.id = m.email_id
WHERE m.workspace = :workspace::text AND m.campaign_id = :campaign::text
    AND m.number > :after::bigint AND m.number <= :upto::bigint AND m.state = 'leaving'
    AND {asks_again}
ORDER BY e.id;

-- Count for a window day: of the workspace, and of the sender.
-- name: count_mail
INSERT INTO postroom.campaign_days AS known (workspace, sender_id, day, used, accepted, doubted)
SELECT
    :workspace::text, named.sender, (:day::text)::date, :used::integer, :accepted::integer, :doubted::integer
FROM (VALUES (''), (:sender::text)) AS named (sender)
ON CONFLICT (workspace, sender_id, day) DO UPDATE
SET used = known.used + excluded.used,
    accepted = known.accepted + excluded.accepted,
    doubted = known.doubted + excluded.doubted;

-- What counts on a day, and on how many days before it mail was accepted: of the workspace, and of each sender.
-- name: mail_counts
SELECT sender_id,
    sum(CASE WHEN day = (:day::text)::date THEN used ELSE 0 END),
    sum(CASE WHEN day < (:day::text)::date AND accepted > 0 THEN 1 ELSE 0 END)
FROM postroom.campaign_days
WHERE workspace = :workspace::text
GROUP BY sender_id;

-- Whose turn it is: follow-ups that are due, the oldest first, then new prospects; campaigns by their launch, prospects
-- by their enrolment. One probe of the index for each running campaign and sender.
-- name: next_mail
SELECT {mail}
FROM (
    SELECT c.launched_at, c.id, (
        SELECT first.email_id
        FROM postroom.campaign_mails first
        WHERE first.workspace = :workspace::text AND first.campaign_id = c.id AND first.sender_id = sender.id
            AND first.follow_up = lane.follow_up AND first.state = 'ready'
            AND first.due_day <= (:day::text)::date
            AND (first.not_before IS NULL OR first.not_before <= {now})
        ORDER BY first.due_day, first.number
        LIMIT 1
    ) AS email_id
    FROM postroom.campaigns c
    CROSS JOIN json_array_elements_text((:senders::text)::json) AS sender (id)
    CROSS JOIN (VALUES (false), (true)) AS lane (follow_up)
    WHERE c.workspace = :workspace::text AND c.status = 'running'
) AS turn
JOIN postroom.campaign_mails m ON m.email_id = turn.email_id
ORDER BY m.follow_up DESC, m.due_day, turn.launched_at, turn.id, m.number
LIMIT 1;

-- A mail that has left before, came back, and is due again. One of which something is still to be concluded counts yet.
-- name: next_retry
SELECT {mail}
FROM postroom.campaign_mails m
JOIN postroom.emails e ON e.id = m.email_id
JOIN postroom.campaigns c ON c.workspace = m.workspace AND c.id = m.campaign_id
JOIN postroom.enrolments n
    ON n.workspace = m.workspace AND n.campaign_id = m.campaign_id AND n.prospect_id = m.prospect_id
WHERE m.workspace = :workspace::text AND m.state = 'leaving' AND NOT m.moved
    AND {asks_again} AND e.due_at <= {now}
    AND (m.not_before IS NULL OR m.not_before <= {now})
    AND e.route IN (SELECT json_array_elements_text((:routes::text)::json))
    AND m.sender_id IN (SELECT json_array_elements_text((:senders::text)::json))
    AND c.status = 'running' AND n.status = 'active'
ORDER BY e.due_at, e.id
LIMIT 1
FOR UPDATE OF m, e SKIP LOCKED;

-- Take such an email in hand.
-- name: claim_mail
WITH claimed AS (
    UPDATE postroom.emails e
    SET status = 'sending',
        lease_token = lease_token + 1,
        leased_until = {now} + make_interval(secs => :lease::float8),
        worker = :worker::text,
        dot_noted_at = NULL,
        last_attempt_at = {now}
    WHERE e.id = :id::uuid AND {asks_again}
    RETURNING {claimed_state}
)
SELECT {claimed_columns}, NULL
FROM claimed e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version;

-- What is to come, where nobody has a turn now: the first due day, the first that was set aside, the first retry.
-- name: next_turns
SELECT
    (
        SELECT min(found.due_day)
        FROM (
            SELECT (
                SELECT min(m.due_day)
                FROM postroom.campaign_mails m
                WHERE m.workspace = :workspace::text AND m.campaign_id = c.id AND m.sender_id = s.id
                    AND m.follow_up AND m.state = 'ready' AND m.due_day > (:day::text)::date
            ) AS due_day
            FROM postroom.campaigns c
            JOIN postroom.senders s ON s.workspace = c.workspace
            WHERE c.workspace = :workspace::text AND c.status = 'running'
        ) AS found
    )::text,
    (
        SELECT min(m.not_before)
        FROM postroom.campaign_mails m
        WHERE m.workspace = :workspace::text AND m.state = 'ready' AND m.not_before > {now}
    ),
    (
        SELECT min(greatest(e.due_at, m.not_before))
        FROM postroom.campaign_mails m
        JOIN postroom.emails e ON e.id = m.email_id
        WHERE m.workspace = :workspace::text AND m.state = 'leaving'
            AND {asks_again}
    );

-- When a person was last handed a mail of a campaign, beside this one.
-- name: last_mail_to
SELECT max(left_at)
FROM postroom.campaign_mails
WHERE workspace = :workspace::text AND prospect_id = :prospect::text AND state IN ('leaving', 'sent')
    AND email_id <> :beside::uuid;

-- What decides, at the last moment, whether a mail may leave.
-- name: standing_of_mail
SELECT m.workspace, m.sender_id, m.day::text, m.left_at, c.status, n.status, s.paused_at, p.last_at
FROM postroom.campaign_mails m
JOIN postroom.campaigns c ON c.workspace = m.workspace AND c.id = m.campaign_id
JOIN postroom.enrolments n
    ON n.workspace = m.workspace AND n.campaign_id = m.campaign_id AND n.prospect_id = m.prospect_id
JOIN postroom.senders s ON s.workspace = m.workspace AND s.id = m.sender_id
JOIN postroom.paces p ON p.workspace = m.workspace
WHERE m.email_id = :id::uuid;

-- Have a mail leave now, and the next keep its distance from that.
-- name: take_place
UPDATE postroom.paces
SET last_at = greatest(last_at, {now})
WHERE workspace = (SELECT m.workspace FROM postroom.campaign_mails m WHERE m.email_id = :id::uuid);

-- When a mail has left is when it came to its dot.
-- name: leaves_now
UPDATE postroom.campaign_mails
SET left_at = {now}
WHERE email_id = :id::uuid;

-- Where an enrolment stands from now on, provided it stands where it is believed to.
-- name: set_enrolment
UPDATE postroom.enrolments
SET status = :status::text,
    reason = NULL,
    updated_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND prospect_id = :prospect::text
    AND status IN (SELECT json_array_elements_text((:was::text)::json));

-- How far an enrolment has come, wherever it stands: its mail was sent on that day.
-- name: note_sent_step
UPDATE postroom.enrolments
SET next_step = :step::integer + 1,
    last_sent_on = (:day::text)::date,
    updated_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND prospect_id = :prospect::text;

-- The mail of a step was given up, and ends an enrolment that is open …
-- name: end_enrolment_at_step
UPDATE postroom.enrolments
SET paused_before = (status = 'paused'),
    status = 'stopped',
    reason = :reason::text,
    ended_by_step = :step::integer,
    updated_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND prospect_id = :prospect::text
    AND status IN ('enrolled', 'active', 'paused');

-- … which goes on if that mail is sent after all: one that this mail has ended, and that nothing else has since.
-- name: revive_enrolment
UPDATE postroom.enrolments
SET status = CASE WHEN paused_before THEN 'paused' ELSE 'active' END,
    reason = NULL,
    ended_by_step = NULL,
    updated_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND prospect_id = :prospect::text
    AND status = 'stopped' AND ended_by_step = :step::integer AND reason = :reason::text
RETURNING number;

-- End the enrolments of a prospect: in one campaign or, where none is named, in the workspace. What is said of a person
-- holds for those too that a cancelled campaign or a dead step has ended: these go on when somebody launches it again or
-- retries the step, and this person is not to be among them. Said again, it ends nothing.
-- name: end_enrolments_of_prospect
UPDATE postroom.enrolments
SET status = :status::text,
    reason = :reason::text,
    ended_by_step = NULL,
    updated_at = {now}
WHERE workspace = :workspace::text AND prospect_id = :prospect::text
    AND (:campaign::text IS NULL OR campaign_id = :campaign::text)
    AND status IN ('enrolled', 'active', 'paused', 'stopped')
    AND (status, reason, ended_by_step) IS DISTINCT FROM (:status::text, :reason::text, NULL::integer)
RETURNING campaign_id, prospect_id;

-- End those of a campaign that are open, some by their numbers, and remember who was paused.
-- name: end_enrolments_of_campaign
UPDATE postroom.enrolments
SET paused_before = (status = 'paused'),
    status = :status::text,
    reason = :reason::text,
    updated_at = {now}
WHERE workspace = :workspace::text AND campaign_id = :campaign::text
    AND number > :after::bigint AND number <= :upto::bigint
    AND status IN ('enrolled', 'active', 'paused');

-- Whom a cancelled campaign has ended, some by their numbers; of their mails each is probed for itself, as above.
-- fragment: was_cancelled
e.workspace = :workspace::text AND e.campaign_id = :campaign::text
    AND e.number > :after::bigint AND e.number <= :upto::bigint
    AND e.status = 'stopped' AND e.reason = :reason::text

-- fragment: mails_of_it
FROM postroom.campaign_mails m
WHERE m.workspace = e.workspace AND m.campaign_id = e.campaign_id AND m.number = e.number

-- Launched again, those have completed it whose last mail was sent nevertheless, …
-- name: complete_cancelled
UPDATE postroom.enrolments AS e
SET status = 'completed',
    reason = NULL,
    updated_at = {now}
WHERE {was_cancelled}
    AND (
        SELECT m.state
        {mails_of_it}
        ORDER BY m.step DESC
        LIMIT 1
    ) = 'sent';

-- … those go on of whose mail something can still leave, or that were not launched then; who was paused is so again; …
-- name: revive_enrolments
UPDATE postroom.enrolments AS e
SET status = CASE
        WHEN paused_before THEN 'paused'
        WHEN sequence_version IS NULL THEN 'enrolled'
        ELSE 'active'
    END,
    reason = NULL,
    ended_by_step = NULL,
    updated_at = {now}
WHERE {was_cancelled}
    AND (
        e.sequence_version IS NULL
        OR (
            SELECT m.email_id
            {mails_of_it}
                AND (m.state = 'leaving' OR m.due_day IS NOT NULL)
                AND (
                    m.state IN ('waiting', 'ready', 'leaving')
                    OR (m.state = 'stopped' AND m.reason = :reason::text AND m.email_status IS NULL)
                )
            LIMIT 1
        ) IS NOT NULL
    );

-- … and the others were ended by the mail that was the last to have its turn: sent after all, it lets them go on.
-- name: end_stranded
UPDATE postroom.enrolments AS e
SET (reason, ended_by_step) = (
        SELECT coalesce(m.reason, e.reason), m.step
        {mails_of_it} AND m.due_day IS NOT NULL
        ORDER BY m.step DESC
        LIMIT 1
    ),
    updated_at = {now}
WHERE {was_cancelled} AND e.ended_by_step IS NULL;

-- Whoever is still to get something, and of whose mail nothing can leave: there ought to be nobody.
-- name: count_stranded
SELECT count(*)
FROM postroom.enrolments e
WHERE e.workspace = :workspace::text AND e.campaign_id = :campaign::text
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
FROM postroom.campaign_mails m
WHERE m.workspace = :workspace::text AND m.campaign_id = :campaign::text AND m.state IN ('waiting', 'ready')
    AND (
        SELECT e.status
        FROM postroom.enrolments e
        WHERE e.workspace = m.workspace AND e.campaign_id = m.campaign_id AND e.prospect_id = m.prospect_id
    ) NOT IN ('enrolled', 'active', 'paused');

-- Who is still to get something of a campaign that is over: there ought to be nobody. One that was cancelled is over when
-- that has come to all of them; of a draft, which has launched nobody, nobody need end.
-- name: count_open_after_end
SELECT c.status, count(*)
FROM postroom.campaigns c
JOIN postroom.enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id
WHERE c.workspace = :workspace::text AND c.id = :campaign::text
    AND (c.status = 'completed' OR (c.status = 'cancelled' AND c.carried_to IS NULL AND c.launched_to > 0))
    AND e.status IN ('enrolled', 'active', 'paused')
GROUP BY c.status;

-- Where an enrolment stands; without a version, a launch has still to reach it.
-- name: find_enrolment
SELECT status, sequence_version, reason
FROM postroom.enrolments
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND prospect_id = :prospect::text;

-- The campaign is over if nobody of it is still to get something, and nobody is to be brought back; its row if so.
-- name: complete_campaign
UPDATE postroom.campaigns AS c
SET status = 'completed',
    finished_at = {now}
WHERE c.workspace = :workspace::text AND c.id = :campaign::text AND c.status IN ('running', 'paused')
    AND c.carried_to IS NULL
    AND NOT EXISTS (
        SELECT
        FROM postroom.enrolments e
        WHERE e.workspace = c.workspace AND e.campaign_id = c.id AND e.status IN ('enrolled', 'active', 'paused')
    )
RETURNING id;

-- Somebody of a campaign that was over is to get something after all.
-- name: reopen_campaign
UPDATE postroom.campaigns
SET status = 'running',
    finished_at = NULL
WHERE workspace = :workspace::text AND id = :campaign::text AND status = 'completed';

-- Where a campaign stands from now on.
-- name: set_campaign
UPDATE postroom.campaigns
SET status = :status::text,
    launched_at = CASE WHEN :status::text = 'running' THEN coalesce(launched_at, {now}) ELSE launched_at END,
    paused_at = CASE WHEN :status::text = 'paused' THEN {now} END,
    pause_reason = :reason::text,
    finished_at = CASE WHEN :status::text = 'cancelled' THEN {now} END
WHERE workspace = :workspace::text AND id = :campaign::text;

-- What is done to a campaign is still to come to all of its people, …
-- name: carry_from_the_beginning
UPDATE postroom.campaigns
SET carried_to = 0,
    carried_mails = 0,
    carried_people = 0
WHERE workspace = :workspace::text AND id = :campaign::text;

-- … some at a time: up to whom the next of them go, null where there are none, …
-- name: end_of_batch
SELECT max(number)
FROM (
    SELECT number
    FROM postroom.enrolments
    WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND number > :after::bigint
    ORDER BY number
    LIMIT :limit::bigint
) AS batch;

-- … until it has.
-- name: carried_to
UPDATE postroom.campaigns
SET carried_to = :number::bigint,
    carried_mails = carried_mails + :mails::bigint,
    carried_people = carried_people + :people::bigint
WHERE workspace = :workspace::text AND id = :campaign::text;

-- How many mails it has concerned, and how many people.
-- name: carried
SELECT carried_mails, carried_people
FROM postroom.campaigns
WHERE workspace = :workspace::text AND id = :campaign::text;

-- To how many people it has not come yet.
-- name: count_to_carry
SELECT count(*)
FROM postroom.campaigns c
JOIN postroom.enrolments e ON e.workspace = c.workspace AND e.campaign_id = c.id AND e.number > c.carried_to
WHERE c.workspace = :workspace::text AND c.id = :campaign::text;

-- How far the launch of a campaign has come.
-- name: launched_to
UPDATE postroom.campaigns
SET launched_to = :number::bigint
WHERE workspace = :workspace::text AND id = :campaign::text;

-- Who has, or had, mail of a sequence already.
-- name: scheduled_already
SELECT DISTINCT m.prospect_id
FROM postroom.campaign_mails m
WHERE m.workspace = :workspace::text
    AND m.prospect_id = ANY (ARRAY (SELECT json_array_elements_text((:prospects::text)::json)))
    AND m.sequence_id = :sequence::text;

-- Settle what the launch has decided of enrolments.
-- name: pin_enrolments
UPDATE postroom.enrolments AS e
SET status = pinned.status,
    sequence_version = pinned.version,
    sender_id = pinned.sender,
    reason = pinned.reason,
    updated_at = {now}
FROM json_to_recordset((:enrolments::text)::json)
    AS pinned (prospect text, status text, version integer, sender text, reason text)
WHERE e.workspace = :workspace::text AND e.campaign_id = :campaign::text AND e.prospect_id = pinned.prospect;

-- When mails are to leave, by the forecast. Each is looked up by itself, and changed by its primary key: while a launch
-- fills the table, the planner knows nothing of what is in it.
-- name: plan_mails
WITH slot AS MATERIALIZED (
    SELECT (
        SELECT m.email_id
        FROM postroom.campaign_mails m
        WHERE m.workspace = :workspace::text AND m.campaign_id = s.campaign AND m.number = s.number AND m.step = s.step
        LIMIT 1
    ) AS id, s.at
    FROM json_to_recordset((:slots::text)::json) AS s (campaign text, number bigint, step integer, at timestamptz)
)
UPDATE postroom.campaign_mails AS m
SET planned_at = slot.at
FROM slot
WHERE m.email_id = slot.id AND m.email_id = ANY (ARRAY (SELECT id FROM slot)) AND m.state IN ('waiting', 'ready');

-- Nobody knows any more when these mails leave: those of some enrolments of a campaign, by their numbers.
-- name: forget_planned
UPDATE postroom.campaign_mails
SET planned_at = NULL
WHERE workspace = :workspace::text AND campaign_id = :campaign::text
    AND number > :after::bigint AND number <= :until::bigint
    AND state IN ('waiting', 'ready') AND planned_at IS NOT NULL;

-- The mails of a campaign by where they stand, and why.
-- name: campaign_totals
SELECT state, CASE WHEN state IN ('stopped', 'dead') THEN reason END, count(*)
FROM postroom.campaign_mails
WHERE workspace = :workspace::text AND campaign_id = :campaign::text
GROUP BY 1, 2;

-- How many steps the versions have that somebody of a campaign was pinned to.
-- name: steps_by_version
SELECT s.version, count(*)
FROM postroom.campaigns c
JOIN postroom.steps s ON s.workspace = c.workspace AND s.sequence_id = c.sequence_id
WHERE c.workspace = :workspace::text AND c.id = :campaign::text
GROUP BY s.version;

-- Where what is counted for a day differs from the mails that count; apart from these there is what was left in doubt.
-- name: miscounted_days
SELECT sender_id, day::text, sum(noted_used), sum(used), sum(noted_accepted), sum(accepted)
FROM (
    SELECT sender_id, day, used - doubted AS noted_used, accepted AS noted_accepted, 0 AS used, 0 AS accepted
    FROM postroom.campaign_days
    WHERE workspace = :workspace::text
    UNION ALL
    SELECT '', day, 0, 0, 1, CASE WHEN state = 'sent' THEN 1 ELSE 0 END
    FROM postroom.campaign_mails
    WHERE workspace = :workspace::text AND day IS NOT NULL
    UNION ALL
    SELECT sender_id, day, 0, 0, 1, CASE WHEN state = 'sent' THEN 1 ELSE 0 END
    FROM postroom.campaign_mails
    WHERE workspace = :workspace::text AND day IS NOT NULL
) AS both_ways
GROUP BY sender_id, day
HAVING sum(noted_used) <> sum(used) OR sum(noted_accepted) <> sum(accepted);

-- The next mails of a campaign that have not come to their end, with whom they are for.
-- name: waiting_mails
SELECT {mail}, n.status, e.status, e.due_at
FROM postroom.campaign_mails m
JOIN postroom.enrolments n
    ON n.workspace = m.workspace AND n.campaign_id = m.campaign_id AND n.prospect_id = m.prospect_id
LEFT JOIN postroom.emails e ON e.id = m.email_id
WHERE m.workspace = :workspace::text AND m.campaign_id = :campaign::text
    AND (m.number, m.step) > (:number::bigint, :step::integer)
    AND m.state IN ('waiting', 'ready', 'leaving')
ORDER BY m.number, m.step
LIMIT :limit::bigint;

-- When the last mail of a campaign is to leave that can still leave, by the forecast: the times are written in their
-- order, so where that one has none, others may lack theirs.
-- name: last_planned
SELECT planned_at
FROM postroom.campaign_mails
WHERE workspace = :workspace::text AND campaign_id = :campaign::text AND state IN ('waiting', 'ready')
ORDER BY number DESC, step DESC
LIMIT 1;

-- Those of the running campaigns who are still to get something, in the order of enrolment: as the plan reads them.
-- name: to_be_planned
SELECT m.number, m.step, m.due_day::text, m.sequence_version
FROM postroom.campaign_mails m
WHERE m.workspace = :workspace::text AND m.campaign_id = :campaign::text AND m.number > :after::bigint
    AND m.state IN ('waiting', 'ready', 'leaving')
    AND m.due_day IS NOT NULL AND m.follow_up = :follow_up::boolean
ORDER BY m.number
LIMIT :limit::bigint;

-- Hold the campaigns of workspaces: those that are named, and those of some emails. In one order, and before anything
-- else that a transaction locks.
-- name: hold_paces
SELECT p.workspace
FROM postroom.paces p
WHERE p.workspace IN (
    SELECT json_array_elements_text((:workspaces::text)::json)
    UNION ALL
    SELECT e.workspace
    FROM postroom.emails e
    WHERE e.id = ANY (ARRAY (SELECT json_array_elements_text((:emails::text)::json)::uuid))
    UNION ALL
    SELECT m.workspace
    FROM postroom.campaign_mails m
    WHERE m.email_id = ANY (ARRAY (SELECT json_array_elements_text((:emails::text)::json)::uuid))
)
ORDER BY p.workspace
FOR UPDATE;

-- The mails that some emails are, with whom they are for.
-- name: mails_that_are
SELECT m.email_id::text, m.workspace, m.campaign_id, m.prospect_id, p.normal_address, m.message_id
FROM postroom.campaign_mails m
JOIN postroom.prospects p ON p.workspace = m.workspace AND p.id = m.prospect_id
WHERE m.email_id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid));

-- Who has these addresses: in one workspace, or, where none is named, in all.
-- name: prospects_at
SELECT found.workspace, found.id, found.normal_address
FROM json_to_recordset((:wanted::text)::json) AS wanted (address text, workspace text)
CROSS JOIN LATERAL (
    SELECT known.workspace, known.id, known.normal_address
    FROM postroom.prospects known
    WHERE known.normal_address = wanted.address
        AND (wanted.workspace IS NULL OR known.workspace = wanted.workspace)
    OFFSET 0
) AS found;

-- Prospects whom an entry covers, and of whom that is still to be concluded.
-- name: covered_prospects
SELECT c.id, c.prospect_id, p.normal_address
FROM postroom.covered_prospects c
LEFT JOIN postroom.prospects p ON p.workspace = c.workspace AND p.id = c.prospect_id
WHERE c.workspace = :workspace::text
ORDER BY c.prospect_id
LIMIT :limit::bigint;

-- It is concluded of these notes …
-- name: forget_covered
DELETE FROM postroom.covered_prospects
WHERE id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::bigint));

-- … and of all that there are about a prospect.
-- name: forget_covered_of
DELETE FROM postroom.covered_prospects
WHERE workspace = :workspace::text AND prospect_id = :prospect::text;

-- Leave somebody alone until a day, in all campaigns of a workspace; who is away longer already stays so.
-- name: set_aside_until
UPDATE postroom.campaign_mails
SET not_before = (:until::text)::timestamptz,
    reason = CASE WHEN reason = :paused::text THEN reason ELSE :reason::text END,
    changed_at = {now}
WHERE workspace = :workspace::text AND prospect_id = :prospect::text AND state IN ('waiting', 'ready')
    AND (not_before IS NULL OR not_before < (:until::text)::timestamptz)
RETURNING campaign_id;

-- Note at a mail what came back about it; its row if that is new.
-- name: note_returned
UPDATE postroom.campaign_mails
SET bounced = bounced OR :bounced::boolean,
    complained = complained OR :complained::boolean,
    refused = refused OR :refused::boolean
WHERE email_id = :id::uuid
    AND ((:bounced::boolean AND NOT bounced) OR (:complained::boolean AND NOT complained))
RETURNING left_at;

-- What was said to an email that was refused, and whom it was for; nothing while somebody else has it in hand.
-- name: refusal
SELECT e.reply, c.envelope
FROM postroom.emails e
LEFT JOIN postroom.contents c ON c.email_id = e.id AND c.version = e.version
WHERE e.id = :id::uuid
FOR UPDATE OF e SKIP LOCKED;

-- Count mail of a campaign that was sent, bounced or complained about, unless it left before the count began.
-- name: count_campaign
UPDATE postroom.campaigns
SET sent = sent + :sent::bigint,
    bounced = bounced + :bounced::bigint,
    complained = complained + :complained::bigint
WHERE workspace = :workspace::text AND id = :campaign::text
    AND (counted_from IS NULL OR counted_from <= (:left_at::text)::timestamptz)
RETURNING sent, bounced, complained;

-- What is counted of a campaign.
-- name: campaign_count
SELECT sent, bounced, complained
FROM postroom.campaigns
WHERE workspace = :workspace::text AND id = :campaign::text;

-- Count from now on.
-- name: count_anew
UPDATE postroom.campaigns
SET sent = 0,
    bounced = 0,
    complained = 0,
    counted_from = {now}
WHERE workspace = :workspace::text AND id = :campaign::text;

-- A campaign pauses itself; of one that is paused already, the reason is the latest.
-- name: pause_itself
UPDATE postroom.campaigns
SET status = 'paused',
    paused_at = coalesce(paused_at, {now}),
    pause_reason = :reason::text
WHERE workspace = :workspace::text AND id = :campaign::text AND status IN ('running', 'paused');

-- What is counted of a campaign, beside what its mails say.
-- name: miscounted_campaign
SELECT c.sent, c.bounced, c.complained,
    count(*) FILTER (WHERE m.state = 'sent') + count(*) FILTER (WHERE m.refused),
    count(*) FILTER (WHERE m.bounced),
    count(*) FILTER (WHERE m.complained)
FROM postroom.campaigns c
LEFT JOIN postroom.campaign_mails m
    ON m.workspace = c.workspace AND m.campaign_id = c.id
    AND (c.counted_from IS NULL OR c.counted_from <= m.left_at)
WHERE c.workspace = :workspace::text AND c.id = :campaign::text
GROUP BY c.workspace, c.id;
