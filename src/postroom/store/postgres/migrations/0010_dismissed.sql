-- Emails that a person has dismissed, for as long as that can be undone: their rows of `emails`, column by column. What
-- they say stays where it is until then. A migration that adds a column to `emails` adds it here, too.
CREATE TABLE postroom.dismissed (
    id              uuid        PRIMARY KEY,
    status          text        NOT NULL,
    priority        smallint    NOT NULL,
    due_at          timestamptz,
    attempts        integer     NOT NULL DEFAULT 0,
    max_attempts    integer     NOT NULL,
    lease_token     bigint      NOT NULL DEFAULT 0,
    leased_until    timestamptz,
    worker          text,
    dot_noted_at    timestamptz,
    doubts          smallint    NOT NULL DEFAULT 0,
    takeovers       smallint    NOT NULL DEFAULT 0,
    version         smallint    NOT NULL DEFAULT 1,
    policy          text        NOT NULL,
    on_doubt        text        NOT NULL,
    sensitive       boolean     NOT NULL,
    channel         text        NOT NULL DEFAULT 'email',
    route           text        NOT NULL DEFAULT 'default',
    kind            text        NOT NULL DEFAULT '',
    workspace       text        NOT NULL DEFAULT '',
    key             text,
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz,
    last_attempt_at timestamptz,
    last_queued_at  timestamptz,
    sent_at         timestamptz,
    finished_at     timestamptz,
    reply_code      smallint,
    reply           text,
    outcomes        text,
    last_error      text,
    dead_reason     text,
    announced_at    timestamptz,
    erased_at       timestamptz,
    dismissed_at    timestamptz NOT NULL,
    dismissed_by    text,
    -- What the emails share that were dismissed by one press; the email's own id where it was the only one.
    act             text        NOT NULL
);
-- The latest first, for people; the oldest first, for the sweep.
CREATE INDEX dismissed_at ON postroom.dismissed (dismissed_at, id);
CREATE INDEX dismissed_act ON postroom.dismissed (act, id);
