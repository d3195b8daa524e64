-- What came back about emails: a row for each recipient that a message speaks of, and one for a message that speaks of
-- nobody. Once for each message: whoever takes it in again finds it here.
CREATE TABLE postroom.returns (
    id           uuid        PRIMARY KEY,
    source       text        NOT NULL,
    source_id    text        NOT NULL,
    part         integer     NOT NULL DEFAULT 0,
    received_at  timestamptz NOT NULL,
    what         text        NOT NULL,
    bounce_class text,
    status       text        NOT NULL DEFAULT '',
    code         integer,
    -- What the other end said; it may quote addresses.
    text         text        NOT NULL DEFAULT '',
    -- In lower case; of a matched one, the recipient's.
    address      text        NOT NULL DEFAULT '',
    -- The email it is about. The row outlives the email, and nothing points back.
    email_id     uuid,
    message_id   text        NOT NULL DEFAULT '',
    reader       text        NOT NULL DEFAULT '',
    problem      text        NOT NULL DEFAULT '',
    until        date,
    feedback     text        NOT NULL DEFAULT '',
    -- A person should look: nobody knows which email it is about, or what it says.
    unclear      boolean     NOT NULL
);
CREATE UNIQUE INDEX returns_source ON postroom.returns (source, source_id, part);
CREATE INDEX returns_email ON postroom.returns (email_id, id) WHERE email_id IS NOT NULL;
CREATE INDEX returns_unclear ON postroom.returns (id) WHERE unclear;

-- The messages themselves, cut where they are long; apart, so that lists stay narrow.
CREATE TABLE postroom.return_messages (
    return_id uuid    PRIMARY KEY,
    content   bytea   NOT NULL,
    size      integer NOT NULL
);

-- The strongest that came back so far about one recipient of one email. The email itself is not rewritten.
CREATE TABLE postroom.fates (
    email_id     uuid        NOT NULL,
    address      text        NOT NULL,
    what         text        NOT NULL,
    bounce_class text,
    status       text        NOT NULL DEFAULT '',
    code         integer,
    at           timestamptz NOT NULL,
    return_id    uuid        NOT NULL,
    PRIMARY KEY (email_id, address)
);
