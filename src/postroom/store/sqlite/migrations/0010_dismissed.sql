-- Emails that a person has dismissed, for as long as that can be undone: their rows of `emails`, column by column. What
-- they say stays where it is until then. A migration that adds a column to `emails` adds it here, too.
CREATE TABLE postroom_dismissed (
    id              TEXT    NOT NULL PRIMARY KEY,
    status          TEXT    NOT NULL,
    priority        INTEGER NOT NULL,
    due_at          INTEGER,
    attempts        INTEGER NOT NULL DEFAULT 0,
    max_attempts    INTEGER NOT NULL,
    lease_token     INTEGER NOT NULL DEFAULT 0,
    leased_until    INTEGER,
    worker          TEXT,
    dot_noted_at    INTEGER,
    doubts          INTEGER NOT NULL DEFAULT 0,
    takeovers       INTEGER NOT NULL DEFAULT 0,
    version         INTEGER NOT NULL DEFAULT 1,
    policy          TEXT    NOT NULL,
    on_doubt        TEXT    NOT NULL,
    sensitive       INTEGER NOT NULL,
    channel         TEXT    NOT NULL DEFAULT 'email',
    route           TEXT    NOT NULL DEFAULT 'default',
    kind            TEXT    NOT NULL DEFAULT '',
    workspace       TEXT    NOT NULL DEFAULT '',
    key             TEXT,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER,
    last_attempt_at INTEGER,
    last_queued_at  INTEGER,
    sent_at         INTEGER,
    finished_at     INTEGER,
    reply_code      INTEGER,
    reply           TEXT,
    outcomes        TEXT,
    last_error      TEXT,
    dead_reason     TEXT,
    announced_at    INTEGER,
    erased_at       INTEGER,
    dismissed_at    INTEGER NOT NULL,
    dismissed_by    TEXT,
    -- What the emails share that were dismissed by one press; the email's own id where it was the only one.
    act             TEXT    NOT NULL
) WITHOUT ROWID;
-- The latest first, for people; the oldest first, for the sweep.
CREATE INDEX postroom_dismissed_at ON postroom_dismissed (dismissed_at, id);
CREATE INDEX postroom_dismissed_act ON postroom_dismissed (act, id);
