-- People, their sign-ins, tokens and acts.

CREATE TABLE postroom.people (
    id         text    NOT NULL PRIMARY KEY,
    -- The email address they sign in with, in lower case.
    name       text    NOT NULL UNIQUE,
    role       text    NOT NULL,
    -- A JSON list; null: all.
    workspaces text,
    password   text    NOT NULL,
    created_at timestamptz NOT NULL
);

-- Keys of keyed hashes, where POSTROOM_SECRET does not keep them elsewhere.
CREATE TABLE postroom.people_secrets (
    name  text NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- Failures by the name that was typed, whether or not anybody has it.
CREATE TABLE postroom.doors (
    name         text    NOT NULL PRIMARY KEY,
    failures     integer NOT NULL DEFAULT 0,
    locks        integer NOT NULL DEFAULT 0,
    failed_at    timestamptz,
    locked_until timestamptz,
    updated_at   timestamptz NOT NULL
);

-- Sign-ins, begun (half) and complete (full), under the hash of their token.
CREATE TABLE postroom.sessions (
    digest     text    NOT NULL PRIMARY KEY,
    person_id  text    NOT NULL REFERENCES postroom.people (id) ON DELETE CASCADE,
    stage      text    NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_person ON postroom.sessions (person_id);

-- Codes as keyed hashes. Without a session: from the host, for any sign-in of the person.
CREATE TABLE postroom.codes (
    id         text    NOT NULL PRIMARY KEY,
    person_id  text    NOT NULL REFERENCES postroom.people (id) ON DELETE CASCADE,
    session    text,
    digest     text    NOT NULL,
    tries      integer NOT NULL DEFAULT 0,
    made_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at   timestamptz
);
CREATE INDEX codes_person ON postroom.codes (person_id, made_at);

-- What machines show instead of signing in, as hashes.
CREATE TABLE postroom.tokens (
    id         text    NOT NULL PRIMARY KEY,
    digest     text    NOT NULL UNIQUE,
    person_id  text    NOT NULL REFERENCES postroom.people (id) ON DELETE CASCADE,
    label      text    NOT NULL DEFAULT '',
    scope      text    NOT NULL,
    workspaces text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz
);
CREATE INDEX tokens_person ON postroom.tokens (person_id);

-- Who did what, or was kept from it. Names, not references: it outlives the people in it.
CREATE TABLE postroom.audit (
    id      bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    actor   text    NOT NULL,
    what    text    NOT NULL,
    address text    NOT NULL DEFAULT '',
    detail  text    NOT NULL DEFAULT '{}'
);
