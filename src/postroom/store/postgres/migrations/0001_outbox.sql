-- The outbox: one narrow row of state per email, everything that never changes beside it.

CREATE SCHEMA IF NOT EXISTS postroom;

-- State. Rewritten by every claim and settle, therefore narrow: no bodies, no addresses.
CREATE TABLE postroom.emails (
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
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);

-- Whose turn it is. Finished rows are not in it, so it stays as small as the backlog.
CREATE INDEX emails_due ON postroom.emails (priority, due_at, id)
    WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL;

-- Listings, counts and expired leases of everything that is not finished.
CREATE INDEX emails_unfinished ON postroom.emails (status, id)
    WHERE status NOT IN ('sent', 'cancelled');

-- Listings of the cancelled: without it, finding a few of them would mean reading all that were sent.
CREATE INDEX emails_cancelled ON postroom.emails (id)
    WHERE status = 'cancelled';

-- Listings of the sent: without it, finding the newest would mean reading past a whole backlog of newer emails.
CREATE INDEX emails_sent ON postroom.emails (id)
    WHERE status = 'sent';

-- Content. Written once; a corrected replay adds a version. Mail of usual size stays in the row, uncompressed:
-- packing and unpacking 3 kB costs more than it saves.
CREATE TABLE postroom.contents (
    email_id   uuid     NOT NULL,
    version    smallint NOT NULL DEFAULT 1,
    subject    text     NOT NULL,
    message_id text     NOT NULL,
    envelope   text     NOT NULL,
    text       text,
    html       text,
    size       integer  NOT NULL,
    terms      text     NOT NULL,
    PRIMARY KEY (email_id, version)
) WITH (toast_tuple_target = 8160);
ALTER TABLE postroom.contents ALTER COLUMN text SET STORAGE EXTERNAL;
ALTER TABLE postroom.contents ALTER COLUMN html SET STORAGE EXTERNAL;
ALTER TABLE postroom.contents ALTER COLUMN envelope SET STORAGE EXTERNAL;

-- An attachment is stored once, however many emails carry it.
CREATE TABLE postroom.attachments (
    digest  text    PRIMARY KEY,
    content bytea   NOT NULL,
    size    integer NOT NULL
);
ALTER TABLE postroom.attachments ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE postroom.attachment_uses (
    digest   text NOT NULL REFERENCES postroom.attachments (digest),
    email_id uuid NOT NULL,
    PRIMARY KEY (digest, email_id)
);
CREATE INDEX attachment_uses_email ON postroom.attachment_uses (email_id);

-- Idempotency keys outlive the sending, and even the email.
CREATE TABLE postroom.keys (
    workspace   text        NOT NULL,
    key         text        NOT NULL,
    email_id    uuid        NOT NULL,
    fingerprint text        NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (workspace, key)
);

-- What people search for by its exact value: to:, tag:, kind:, workspace:.
CREATE TABLE postroom.terms (
    term     text NOT NULL,
    email_id uuid NOT NULL,
    PRIMARY KEY (term, email_id)
);

-- The story: every failed attempt, every doubt, every act of a person.
CREATE TABLE postroom.events (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email_id uuid        NOT NULL,
    at       timestamptz NOT NULL,
    what     text        NOT NULL,
    attempt  integer     NOT NULL DEFAULT 0,
    actor    text,
    detail   text        NOT NULL DEFAULT '{}'
);
CREATE INDEX events_email ON postroom.events (email_id, id);

-- Changes to be summed, appended by whoever caused them, so that nobody counts finished rows or waits for a counter.
CREATE TABLE postroom.tallies (
    minute timestamptz NOT NULL,
    name   text        NOT NULL,
    change bigint      NOT NULL
);

-- How each way out is doing: its circuit breaker and its rate, shared by all workers.
CREATE TABLE postroom.transports (
    name          text        PRIMARY KEY,
    state         text        NOT NULL DEFAULT 'ok',
    reason        text        NOT NULL DEFAULT '',
    since         timestamptz,
    next_probe_at timestamptz,
    step          integer     NOT NULL DEFAULT 0,
    failures      integer     NOT NULL DEFAULT 0,
    failed_at     timestamptz,
    arrival       bigint      NOT NULL DEFAULT 0,
    updated_at    timestamptz NOT NULL
);

-- Signs of life.
CREATE TABLE postroom.workers (
    name       text        PRIMARY KEY,
    host       text        NOT NULL,
    version    text        NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    in_flight  integer     NOT NULL DEFAULT 0,
    rate       real        NOT NULL DEFAULT 0
);
