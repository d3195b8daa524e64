-- People, their sign-ins, tokens and acts.

CREATE TABLE postroom_people (
    id         TEXT    NOT NULL PRIMARY KEY,
    -- The email address they sign in with, in lower case.
    name       TEXT    NOT NULL UNIQUE,
    role       TEXT    NOT NULL,
    -- A JSON list; null: all.
    workspaces TEXT,
    password   TEXT    NOT NULL,
    created_at INTEGER NOT NULL
);

-- Keys of keyed hashes, where POSTROOM_SECRET does not keep them elsewhere.
CREATE TABLE postroom_people_secrets (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Failures by the name that was typed, whether or not anybody has it.
CREATE TABLE postroom_doors (
    name         TEXT    NOT NULL PRIMARY KEY,
    failures     INTEGER NOT NULL DEFAULT 0,
    locks        INTEGER NOT NULL DEFAULT 0,
    failed_at    INTEGER,
    locked_until INTEGER,
    updated_at   INTEGER NOT NULL
);

-- Sign-ins, begun (half) and complete (full), under the hash of their token.
CREATE TABLE postroom_sessions (
    digest     TEXT    NOT NULL PRIMARY KEY,
    person_id  TEXT    NOT NULL REFERENCES postroom_people (id) ON DELETE CASCADE,
    stage      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);
CREATE INDEX postroom_sessions_person ON postroom_sessions (person_id);

-- Codes as keyed hashes. Without a session: from the host, for any sign-in of the person.
CREATE TABLE postroom_codes (
    id         TEXT    NOT NULL PRIMARY KEY,
    person_id  TEXT    NOT NULL REFERENCES postroom_people (id) ON DELETE CASCADE,
    session    TEXT,
    digest     TEXT    NOT NULL,
    tries      INTEGER NOT NULL DEFAULT 0,
    made_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at   INTEGER
);
CREATE INDEX postroom_codes_person ON postroom_codes (person_id, made_at);

-- What machines show instead of signing in, as hashes.
CREATE TABLE postroom_tokens (
    id         TEXT    NOT NULL PRIMARY KEY,
    digest     TEXT    NOT NULL UNIQUE,
    person_id  TEXT    NOT NULL REFERENCES postroom_people (id) ON DELETE CASCADE,
    label      TEXT    NOT NULL DEFAULT '',
    scope      TEXT    NOT NULL,
    workspaces TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
);
CREATE INDEX postroom_tokens_person ON postroom_tokens (person_id);

-- Who did what, or was kept from it. Names, not references: it outlives the people in it.
CREATE TABLE postroom_audit (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    what    TEXT    NOT NULL,
    address TEXT    NOT NULL DEFAULT '',
    detail  TEXT    NOT NULL DEFAULT '{}'
);
