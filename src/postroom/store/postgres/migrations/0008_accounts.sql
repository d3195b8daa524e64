-- What somebody may still do in vain, under keyed hashes of names and addresses. A budget whose time has passed is whole
-- again, and its row is worth nothing. `doors` is no longer used, and goes with the next version.
CREATE TABLE postroom.budgets (
    name        text        NOT NULL PRIMARY KEY,
    spent_until timestamptz NOT NULL
);
CREATE INDEX budgets_spent_until ON postroom.budgets (spent_until);

-- From where people have signed in, as keyed hashes.
CREATE TABLE postroom.known_addresses (
    person_id text        NOT NULL REFERENCES postroom.people (id) ON DELETE CASCADE,
    digest    text        NOT NULL,
    seen_at   timestamptz NOT NULL,
    PRIMARY KEY (person_id, digest)
);

-- Authenticators. The secret is sealed; one that was not confirmed yet is worth nothing.
CREATE TABLE postroom.authenticators (
    person_id    text        NOT NULL PRIMARY KEY REFERENCES postroom.people (id) ON DELETE CASCADE,
    secret       text        NOT NULL,
    made_at      timestamptz NOT NULL,
    confirmed_at timestamptz,
    -- Codes of this step of time, and of those before it, are used up.
    last_step    bigint      NOT NULL DEFAULT 0
);

-- Codes for when there is neither mail nor authenticator, as keyed hashes. One that was used is gone.
CREATE TABLE postroom.recovery_codes (
    person_id text NOT NULL REFERENCES postroom.people (id) ON DELETE CASCADE,
    digest    text NOT NULL,
    PRIMARY KEY (person_id, digest)
);
