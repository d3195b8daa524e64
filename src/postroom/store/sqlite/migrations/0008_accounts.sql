-- What somebody may still do in vain, under keyed hashes of names and addresses. A budget whose time has passed is whole
-- again, and its row is worth nothing. `doors` is no longer used, and goes with the next version.
CREATE TABLE postroom_budgets (
    name        TEXT    NOT NULL PRIMARY KEY,
    spent_until INTEGER NOT NULL
);
CREATE INDEX postroom_budgets_spent_until ON postroom_budgets (spent_until);

-- From where people have signed in, as keyed hashes.
CREATE TABLE postroom_known_addresses (
    person_id TEXT    NOT NULL REFERENCES postroom_people (id) ON DELETE CASCADE,
    digest    TEXT    NOT NULL,
    seen_at   INTEGER NOT NULL,
    PRIMARY KEY (person_id, digest)
);

-- Authenticators. The secret is sealed; one that was not confirmed yet is worth nothing.
CREATE TABLE postroom_authenticators (
    person_id    TEXT    NOT NULL PRIMARY KEY REFERENCES postroom_people (id) ON DELETE CASCADE,
    secret       TEXT    NOT NULL,
    made_at      INTEGER NOT NULL,
    confirmed_at INTEGER,
    -- Codes of this step of time, and of those before it, are used up.
    last_step    INTEGER NOT NULL DEFAULT 0
);

-- Codes for when there is neither mail nor authenticator, as keyed hashes. One that was used is gone.
CREATE TABLE postroom_recovery_codes (
    person_id TEXT NOT NULL REFERENCES postroom_people (id) ON DELETE CASCADE,
    digest    TEXT NOT NULL,
    PRIMARY KEY (person_id, digest)
);
