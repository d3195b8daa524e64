-- What came back about emails: a row for each recipient that a message speaks of, and one for a message that speaks of
-- nobody. Once for each message: whoever takes it in again finds it here.
CREATE TABLE postroom_returns (
    id           TEXT    NOT NULL PRIMARY KEY,
    source       TEXT    NOT NULL,
    source_id    TEXT    NOT NULL,
    part         INTEGER NOT NULL DEFAULT 0,
    received_at  INTEGER NOT NULL,
    what         TEXT    NOT NULL,
    bounce_class TEXT,
    status       TEXT    NOT NULL DEFAULT '',
    code         INTEGER,
    -- What the other end said; it may quote addresses.
    text         TEXT    NOT NULL DEFAULT '',
    -- In lower case; of a matched one, the recipient's.
    address      TEXT    NOT NULL DEFAULT '',
    -- The email it is about. The row outlives the email, and nothing points back.
    email_id     TEXT,
    message_id   TEXT    NOT NULL DEFAULT '',
    reader       TEXT    NOT NULL DEFAULT '',
    problem      TEXT    NOT NULL DEFAULT '',
    until        TEXT,
    feedback     TEXT    NOT NULL DEFAULT '',
    -- A person should look: nobody knows which email it is about, or what it says.
    unclear      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX postroom_returns_source ON postroom_returns (source, source_id, part);
CREATE INDEX postroom_returns_email ON postroom_returns (email_id, id) WHERE email_id IS NOT NULL;
CREATE INDEX postroom_returns_unclear ON postroom_returns (id) WHERE unclear;

-- The messages themselves, cut where they are long; apart, so that lists stay narrow.
CREATE TABLE postroom_return_messages (
    return_id TEXT    NOT NULL PRIMARY KEY,
    content   BLOB    NOT NULL,
    size      INTEGER NOT NULL
);

-- The strongest that came back so far about one recipient of one email. The email itself is not rewritten.
CREATE TABLE postroom_fates (
    email_id     TEXT    NOT NULL,
    address      TEXT    NOT NULL,
    what         TEXT    NOT NULL,
    bounce_class TEXT,
    status       TEXT    NOT NULL DEFAULT '',
    code         INTEGER,
    at           INTEGER NOT NULL,
    return_id    TEXT    NOT NULL,
    PRIMARY KEY (email_id, address)
) WITHOUT ROWID;
