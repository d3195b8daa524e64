-- The outbox: one narrow row of state per email, everything that never changes beside it.
-- Instants are whole microseconds since 1970 in UTC; ids are UUIDv7 in their canonical spelling.

-- State. Rewritten by every claim and settle, therefore narrow: no bodies, no addresses.
CREATE TABLE postroom_emails (
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
    CONSTRAINT a_known_status CHECK (
        status IN ('pending', 'queued', 'sending', 'retrying', 'in_doubt', 'sent', 'dead', 'cancelled')
    ),
    -- Never lost: whatever waits has a due time, whatever is under way has an owner and an end to its lease.
    CONSTRAINT an_owner_or_a_due_time CHECK (
        CASE
            WHEN status IN ('pending', 'retrying') THEN due_at IS NOT NULL AND leased_until IS NULL
            WHEN status IN ('queued', 'sending') THEN leased_until IS NOT NULL
            ELSE leased_until IS NULL
        END
    ),
    CONSTRAINT the_dead_have_a_reason CHECK ((status = 'dead') = (dead_reason IS NOT NULL))
) WITHOUT ROWID;

-- Whose turn it is. Finished rows are not in it, so it stays as small as the backlog.
CREATE INDEX postroom_emails_due ON postroom_emails (priority, due_at, id)
    WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL;

-- Listings, counts and expired leases of everything that is not finished.
CREATE INDEX postroom_emails_unfinished ON postroom_emails (status, id)
    WHERE status NOT IN ('sent', 'cancelled');

-- Listings of the cancelled: without it, finding a few of them would mean reading all that were sent.
CREATE INDEX postroom_emails_cancelled ON postroom_emails (id)
    WHERE status = 'cancelled';

-- Listings of the sent: without it, finding the newest would mean reading past a whole backlog of newer emails.
CREATE INDEX postroom_emails_sent ON postroom_emails (id)
    WHERE status = 'sent';

-- Content. Written once; a corrected replay adds a version.
CREATE TABLE postroom_contents (
    email_id   TEXT    NOT NULL,
    version    INTEGER NOT NULL DEFAULT 1,
    subject    TEXT    NOT NULL,
    message_id TEXT    NOT NULL,
    envelope   TEXT    NOT NULL,
    text       TEXT,
    html       TEXT,
    size       INTEGER NOT NULL,
    terms      TEXT    NOT NULL,
    PRIMARY KEY (email_id, version)
);

-- An attachment is stored once, however many emails carry it.
CREATE TABLE postroom_attachments (
    digest  TEXT    NOT NULL PRIMARY KEY,
    content BLOB    NOT NULL,
    size    INTEGER NOT NULL
);

CREATE TABLE postroom_attachment_uses (
    digest   TEXT NOT NULL REFERENCES postroom_attachments (digest),
    email_id TEXT NOT NULL,
    PRIMARY KEY (digest, email_id)
) WITHOUT ROWID;
CREATE INDEX postroom_attachment_uses_email ON postroom_attachment_uses (email_id);

-- Idempotency keys outlive the sending, and even the email.
CREATE TABLE postroom_keys (
    workspace   TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    email_id    TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (workspace, key)
) WITHOUT ROWID;

-- What people search for by its exact value: to:, tag:, kind:, workspace:.
CREATE TABLE postroom_terms (
    term     TEXT NOT NULL,
    email_id TEXT NOT NULL,
    PRIMARY KEY (term, email_id)
) WITHOUT ROWID;

-- The story: every failed attempt, every doubt, every act of a person.
CREATE TABLE postroom_events (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    email_id TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    what     TEXT    NOT NULL,
    attempt  INTEGER NOT NULL DEFAULT 0,
    actor    TEXT,
    detail   TEXT    NOT NULL DEFAULT '{}'
);
CREATE INDEX postroom_events_email ON postroom_events (email_id, id);

-- Changes to be summed, appended by whoever caused them, so that nobody counts finished rows.
CREATE TABLE postroom_tallies (
    minute INTEGER NOT NULL,
    name   TEXT    NOT NULL,
    change INTEGER NOT NULL
);

-- How each way out is doing: its circuit breaker and its rate, shared by all workers.
CREATE TABLE postroom_transports (
    name          TEXT    NOT NULL PRIMARY KEY,
    state         TEXT    NOT NULL DEFAULT 'ok',
    reason        TEXT    NOT NULL DEFAULT '',
    since         INTEGER,
    next_probe_at INTEGER,
    step          INTEGER NOT NULL DEFAULT 0,
    failures      INTEGER NOT NULL DEFAULT 0,
    failed_at     INTEGER,
    arrival       INTEGER NOT NULL DEFAULT 0,
    updated_at    INTEGER NOT NULL
);

-- Signs of life.
CREATE TABLE postroom_workers (
    name       TEXT    NOT NULL PRIMARY KEY,
    host       TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    in_flight  INTEGER NOT NULL DEFAULT 0,
    rate       REAL    NOT NULL DEFAULT 0
);
