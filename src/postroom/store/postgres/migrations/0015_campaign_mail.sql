-- The mail of campaigns that were launched. It waits here and not among the emails: a million planned mails slow no
-- claim and flood no list. A mail has a row among the emails from the moment it leaves.

-- One light row for each step of each enrolment, written by the launch.
CREATE TABLE postroom.campaign_mails (
    -- Of the email it becomes, made beforehand.
    email_id         uuid        NOT NULL PRIMARY KEY,
    workspace        text        NOT NULL,
    -- {prospectId}:{sequenceId}:{stepNumber}: nobody gets a step twice.
    key              text        NOT NULL,
    campaign_id      text        NOT NULL,
    prospect_id      text        NOT NULL,
    sequence_id      text        NOT NULL,
    sequence_version integer     NOT NULL,
    step             integer     NOT NULL,
    -- The order of enrolment.
    number           bigint      NOT NULL,
    sender_id        text        NOT NULL,
    follow_up        boolean     NOT NULL,
    state            text        NOT NULL,
    -- The window day from which on it may leave, for first steps the first of all days; null while the step before is
    -- not sent.
    due_day          date,
    -- What the forecast says.
    planned_at       timestamptz,
    -- Set aside until then: its person had another mail of a campaign just before.
    not_before       timestamptz,
    -- The window day whose quota it counts against; null while it does not count.
    day              date,
    -- When it was last handed to a worker.
    left_at          timestamptz,
    -- As it was composed, for the steps that go on in its thread.
    subject          text,
    message_id       text,
    -- The status of its email, by trigger; `gone` where that went away and was not sent.
    email_status     text,
    -- The status has changed, and nobody has drawn the conclusions yet.
    moved            boolean     NOT NULL DEFAULT false,
    reason           text,
    changed_at       timestamptz NOT NULL,
    CONSTRAINT a_known_state CHECK (state IN ('waiting', 'ready', 'leaving', 'sent', 'dead', 'stopped'))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX campaign_mails_key ON postroom.campaign_mails (workspace, key);
-- Whose turn it is, for each campaign and sender.
CREATE INDEX campaign_mails_ready
    ON postroom.campaign_mails (workspace, campaign_id, sender_id, follow_up, due_day, number)
    WHERE state = 'ready';
CREATE INDEX campaign_mails_leaving ON postroom.campaign_mails (workspace, email_id) WHERE state = 'leaving';
CREATE INDEX campaign_mails_moved ON postroom.campaign_mails (workspace, email_id) WHERE moved;
-- The steps of an enrolment; counts and lists of a campaign.
CREATE INDEX campaign_mails_number ON postroom.campaign_mails (workspace, campaign_id, number, step);
-- When those that were set aside have their turn again.
CREATE INDEX campaign_mails_aside ON postroom.campaign_mails (workspace, not_before)
    WHERE state = 'ready' AND not_before IS NOT NULL;
-- What a person had, and what stops with them.
CREATE INDEX campaign_mails_prospect ON postroom.campaign_mails (workspace, prospect_id);

-- The pace of a workspace, and the lock of whoever changes what its campaigns may do.
CREATE TABLE postroom.paces (
    workspace text        NOT NULL PRIMARY KEY,
    -- When the last mail left, and the gap that chance drew after it, in microseconds.
    last_at   timestamptz,
    gap_us    bigint      NOT NULL DEFAULT 0,
    -- When to look again; null: nothing will leave until somebody rings.
    next_at   timestamptz
);
CREATE INDEX paces_next ON postroom.paces (next_at) WHERE next_at IS NOT NULL;

-- What counts against quotas, by window day: of the workspace where the sender is empty, else of that sender.
CREATE TABLE postroom.campaign_days (
    workspace text    NOT NULL,
    sender_id text    NOT NULL,
    day       date    NOT NULL,
    -- Accepted and in flight.
    used      integer NOT NULL DEFAULT 0,
    accepted  integer NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, sender_id, day)
);

-- Who is still to get something, of a campaign.
CREATE INDEX enrolments_open ON postroom.enrolments (workspace, campaign_id)
    WHERE status IN ('enrolled', 'active', 'paused');

-- Whatever happens to an email of a campaign, its mail knows with the same commit, whichever way it happened.
CREATE FUNCTION postroom.mirror_campaign_mail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN UPDATE postroom.campaign_mails SET email_status = NEW.status, moved = true WHERE email_id = NEW.id; RETURN NULL; END
$$;
CREATE FUNCTION postroom.mirror_gone_campaign_mail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN UPDATE postroom.campaign_mails SET email_status = 'gone', moved = true WHERE email_id = OLD.id; RETURN NULL; END
$$;
CREATE TRIGGER mirror_campaign_mail AFTER UPDATE OF status ON postroom.emails
    FOR EACH ROW WHEN (NEW.priority = 3 AND OLD.status <> NEW.status)
    EXECUTE FUNCTION postroom.mirror_campaign_mail();
CREATE TRIGGER mirror_gone_campaign_mail AFTER DELETE ON postroom.emails
    FOR EACH ROW WHEN (OLD.priority = 3 AND OLD.status <> 'sent')
    EXECUTE FUNCTION postroom.mirror_gone_campaign_mail();
