-- The mail of campaigns that were launched. It waits here and not among the emails: a million planned mails slow no
-- claim and flood no list. A mail has a row among the emails from the moment it leaves.

-- One light row for each step of each enrolment, written by the launch.
CREATE TABLE postroom_campaign_mails (
    -- Of the email it becomes, made beforehand.
    email_id         TEXT    NOT NULL PRIMARY KEY,
    workspace        TEXT    NOT NULL,
    -- {prospectId}:{sequenceId}:{stepNumber}: nobody gets a step twice.
    key              TEXT    NOT NULL,
    campaign_id      TEXT    NOT NULL,
    prospect_id      TEXT    NOT NULL,
    sequence_id      TEXT    NOT NULL,
    sequence_version INTEGER NOT NULL,
    step             INTEGER NOT NULL,
    -- The order of enrolment.
    number           INTEGER NOT NULL,
    sender_id        TEXT    NOT NULL,
    follow_up        INTEGER NOT NULL,
    state            TEXT    NOT NULL,
    -- The window day from which on it may leave, for first steps the first of all days; null while the step before is
    -- not sent.
    due_day          TEXT,
    -- What the forecast says.
    planned_at       INTEGER,
    -- Set aside until then: its person had another mail of a campaign just before.
    not_before       INTEGER,
    -- The window day whose quota it counts against; null while it does not count.
    day              TEXT,
    -- When it was last handed to a worker.
    left_at          INTEGER,
    -- As it was composed, for the steps that go on in its thread.
    subject          TEXT,
    message_id       TEXT,
    -- The status of its email, by trigger; `gone` where that went away and was not sent.
    email_status     TEXT,
    -- The status has changed, and nobody has drawn the conclusions yet.
    moved            INTEGER NOT NULL DEFAULT 0,
    reason           TEXT,
    changed_at       INTEGER NOT NULL,
    CONSTRAINT a_known_state CHECK (state IN ('waiting', 'ready', 'leaving', 'sent', 'dead', 'stopped'))
);
CREATE UNIQUE INDEX postroom_campaign_mails_key ON postroom_campaign_mails (workspace, key);
-- Whose turn it is, for each campaign and sender.
CREATE INDEX postroom_campaign_mails_ready
    ON postroom_campaign_mails (workspace, campaign_id, sender_id, follow_up, due_day, number)
    WHERE state = 'ready';
CREATE INDEX postroom_campaign_mails_leaving ON postroom_campaign_mails (workspace, email_id) WHERE state = 'leaving';
CREATE INDEX postroom_campaign_mails_moved ON postroom_campaign_mails (workspace, email_id) WHERE moved;
-- The steps of an enrolment; counts and lists of a campaign.
CREATE INDEX postroom_campaign_mails_number ON postroom_campaign_mails (workspace, campaign_id, number, step);
-- When those that were set aside have their turn again.
CREATE INDEX postroom_campaign_mails_aside ON postroom_campaign_mails (workspace, not_before)
    WHERE state = 'ready' AND not_before IS NOT NULL;
-- What a person had, and what stops with them.
CREATE INDEX postroom_campaign_mails_prospect ON postroom_campaign_mails (workspace, prospect_id);

-- The pace of a workspace, and the lock of whoever changes what its campaigns may do.
CREATE TABLE postroom_paces (
    workspace TEXT    NOT NULL PRIMARY KEY,
    -- When the last mail left, and the gap that chance drew after it, in microseconds.
    last_at   INTEGER,
    gap_us    INTEGER NOT NULL DEFAULT 0,
    -- When to look again; null: nothing will leave until somebody rings.
    next_at   INTEGER
);
CREATE INDEX postroom_paces_next ON postroom_paces (next_at) WHERE next_at IS NOT NULL;

-- What counts against quotas, by window day: of the workspace where the sender is empty, else of that sender.
CREATE TABLE postroom_campaign_days (
    workspace TEXT    NOT NULL,
    sender_id TEXT    NOT NULL,
    day       TEXT    NOT NULL,
    -- Accepted and in flight.
    used      INTEGER NOT NULL DEFAULT 0,
    accepted  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, sender_id, day)
);

-- Who is still to get something, of a campaign.
CREATE INDEX postroom_enrolments_open ON postroom_enrolments (workspace, campaign_id)
    WHERE status IN ('enrolled', 'active', 'paused');

-- Whatever happens to an email of a campaign, its mail knows with the same commit, whichever way it happened.
CREATE TRIGGER postroom_mirror_campaign_mail AFTER UPDATE OF status ON postroom_emails
WHEN NEW.priority = 3 AND OLD.status <> NEW.status
BEGIN UPDATE postroom_campaign_mails SET email_status = NEW.status, moved = 1 WHERE email_id = NEW.id; END;
CREATE TRIGGER postroom_mirror_gone_campaign_mail AFTER DELETE ON postroom_emails
WHEN OLD.priority = 3 AND OLD.status <> 'sent'
BEGIN UPDATE postroom_campaign_mails SET email_status = 'gone', moved = 1 WHERE email_id = OLD.id; END;
