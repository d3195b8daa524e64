-- Campaigns as drafts. Everything belongs to a workspace: it leads every key, and no query leaves it out.

-- When and how much a workspace sends, one row each. `settings` is a JSON object, checked when it is read.
CREATE TABLE postroom.sending_settings (
    workspace       text             NOT NULL PRIMARY KEY,
    settings        text             NOT NULL,
    -- A person gets at most one mail of campaigns within so many hours, over all campaigns; 0 is off.
    person_hours    integer          NOT NULL DEFAULT 0,
    -- The shares of sent mails at which a campaign pauses itself, and how many must have been sent before.
    bounce_limit    double precision,
    complaint_limit double precision,
    limit_after     integer          NOT NULL,
    -- Counts the changes: who changes settings says which ones were seen.
    version         integer          NOT NULL,
    updated_at      timestamptz      NOT NULL
);

-- From whom mails of campaigns are. `ramp_up` is a JSON list.
CREATE TABLE postroom.senders (
    workspace    text        NOT NULL,
    id           text        NOT NULL,
    name         text        NOT NULL,
    address      text        NOT NULL,
    reply_to     text,
    route        text        NOT NULL,
    daily_quota  integer,
    ramp_up      text,
    paused_at    timestamptz,
    pause_reason text,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (workspace, id)
);

-- Who can be written to. `normal_address` is the address in lower case; `fields` a JSON object of texts.
CREATE TABLE postroom.prospects (
    workspace      text        NOT NULL,
    id             text        NOT NULL,
    address        text        NOT NULL,
    normal_address text        NOT NULL,
    name           text,
    fields         text        NOT NULL,
    timezone       text,
    language       text,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX prospects_address ON postroom.prospects (workspace, normal_address);

-- What is written to them, step by step. An edit makes a new version; versions and their steps never change.
CREATE TABLE postroom.sequences (
    workspace  text        NOT NULL,
    id         text        NOT NULL,
    name       text        NOT NULL,
    -- The newest.
    version    integer     NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (workspace, id)
);

CREATE TABLE postroom.sequence_versions (
    workspace   text        NOT NULL,
    sequence_id text        NOT NULL,
    version     integer     NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (workspace, sequence_id, version)
);

CREATE TABLE postroom.steps (
    workspace   text    NOT NULL,
    sequence_id text    NOT NULL,
    version     integer NOT NULL,
    number      integer NOT NULL,
    delay_days  integer NOT NULL,
    -- Null: it goes on in the thread of the step before.
    subject     text,
    text        text,
    html        text,
    -- A template of a portal, in the place of the three.
    template    text,
    PRIMARY KEY (workspace, sequence_id, version, number)
);

CREATE TABLE postroom.campaigns (
    workspace    text        NOT NULL,
    id           text        NOT NULL,
    name         text        NOT NULL,
    sequence_id  text        NOT NULL,
    status       text        NOT NULL,
    created_at   timestamptz NOT NULL,
    launched_at  timestamptz,
    paused_at    timestamptz,
    pause_reason text,
    finished_at  timestamptz,
    -- The number of the last enrolment that a launch has gone through.
    launched_to  bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, id)
);

CREATE TABLE postroom.campaign_senders (
    workspace   text    NOT NULL,
    campaign_id text    NOT NULL,
    sender_id   text    NOT NULL,
    position    integer NOT NULL,
    PRIMARY KEY (workspace, campaign_id, sender_id)
);

-- Who is in which campaign, and how far. An address is one prospect, and so is in a campaign once.
CREATE TABLE postroom.enrolments (
    workspace        text        NOT NULL,
    campaign_id      text        NOT NULL,
    prospect_id      text        NOT NULL,
    -- The order of enrolment within the campaign.
    number           bigint      NOT NULL,
    status           text        NOT NULL,
    next_step        integer     NOT NULL DEFAULT 1,
    -- Both are settled by the launch, and stay.
    sequence_version integer,
    sender_id        text,
    -- The window day on which the step before `next_step` really left.
    last_sent_on     date,
    reason           text,
    updated_at       timestamptz NOT NULL,
    PRIMARY KEY (workspace, campaign_id, prospect_id)
);
-- The cursor of everything that goes through a campaign.
CREATE UNIQUE INDEX enrolments_number ON postroom.enrolments (workspace, campaign_id, number);
-- What stops a person stops all of their enrolments.
CREATE INDEX enrolments_prospect ON postroom.enrolments (workspace, prospect_id);
