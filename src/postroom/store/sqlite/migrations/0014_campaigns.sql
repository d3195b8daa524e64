-- Campaigns as drafts. Everything belongs to a workspace: it leads every key, and no query leaves it out.

-- When and how much a workspace sends, one row each. `settings` is a JSON object, checked when it is read.
CREATE TABLE postroom_sending_settings (
    workspace       TEXT    NOT NULL PRIMARY KEY,
    settings        TEXT    NOT NULL,
    -- A person gets at most one mail of campaigns within so many hours, over all campaigns; 0 is off.
    person_hours    INTEGER NOT NULL DEFAULT 0,
    -- The shares of sent mails at which a campaign pauses itself, and how many must have been sent before.
    bounce_limit    REAL,
    complaint_limit REAL,
    limit_after     INTEGER NOT NULL,
    -- Counts the changes: who changes settings says which ones were seen.
    version         INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
);

-- From whom mails of campaigns are. `ramp_up` is a JSON list.
CREATE TABLE postroom_senders (
    workspace    TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    address      TEXT    NOT NULL,
    reply_to     TEXT,
    route        TEXT    NOT NULL,
    daily_quota  INTEGER,
    ramp_up      TEXT,
    paused_at    INTEGER,
    pause_reason TEXT,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
);

-- Who can be written to. `normal_address` is the address in lower case; `fields` a JSON object of texts.
CREATE TABLE postroom_prospects (
    workspace      TEXT    NOT NULL,
    id             TEXT    NOT NULL,
    address        TEXT    NOT NULL,
    normal_address TEXT    NOT NULL,
    name           TEXT,
    fields         TEXT    NOT NULL,
    timezone       TEXT,
    language       TEXT,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX postroom_prospects_address ON postroom_prospects (workspace, normal_address);

-- What is written to them, step by step. An edit makes a new version; versions and their steps never change.
CREATE TABLE postroom_sequences (
    workspace  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    -- The newest.
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)
);

CREATE TABLE postroom_sequence_versions (
    workspace   TEXT    NOT NULL,
    sequence_id TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (workspace, sequence_id, version)
);

CREATE TABLE postroom_steps (
    workspace   TEXT    NOT NULL,
    sequence_id TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    delay_days  INTEGER NOT NULL,
    -- Null: it goes on in the thread of the step before.
    subject     TEXT,
    text        TEXT,
    html        TEXT,
    -- A template of a portal, in the place of the three.
    template    TEXT,
    PRIMARY KEY (workspace, sequence_id, version, number)
);

CREATE TABLE postroom_campaigns (
    workspace    TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    sequence_id  TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    launched_at  INTEGER,
    paused_at    INTEGER,
    pause_reason TEXT,
    finished_at  INTEGER,
    -- The number of the last enrolment that a launch has gone through.
    launched_to  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, id)
);

CREATE TABLE postroom_campaign_senders (
    workspace   TEXT    NOT NULL,
    campaign_id TEXT    NOT NULL,
    sender_id   TEXT    NOT NULL,
    position    INTEGER NOT NULL,
    PRIMARY KEY (workspace, campaign_id, sender_id)
);

-- Who is in which campaign, and how far. An address is one prospect, and so is in a campaign once.
CREATE TABLE postroom_enrolments (
    workspace        TEXT    NOT NULL,
    campaign_id      TEXT    NOT NULL,
    prospect_id      TEXT    NOT NULL,
    -- The order of enrolment within the campaign.
    number           INTEGER NOT NULL,
    status           TEXT    NOT NULL,
    next_step        INTEGER NOT NULL DEFAULT 1,
    -- Both are settled by the launch, and stay.
    sequence_version INTEGER,
    sender_id        TEXT,
    -- The window day on which the step before `next_step` really left.
    last_sent_on     TEXT,
    reason           TEXT,
    updated_at       INTEGER NOT NULL,
    PRIMARY KEY (workspace, campaign_id, prospect_id)
);
-- The cursor of everything that goes through a campaign.
CREATE UNIQUE INDEX postroom_enrolments_number ON postroom_enrolments (workspace, campaign_id, number);
-- What stops a person stops all of their enrolments.
CREATE INDEX postroom_enrolments_prospect ON postroom_enrolments (workspace, prospect_id);
