-- Whether a reader can stop an email of its kind: such an email bears the means to do so, and goes to one person.
ALTER TABLE postroom.emails ADD COLUMN unsubscribable boolean NOT NULL DEFAULT false;
ALTER TABLE postroom.dismissed ADD COLUMN unsubscribable boolean NOT NULL DEFAULT false;

-- Who is not to be mailed. An address may be here for several reasons; taking one away leaves the others.
CREATE TABLE postroom.suppressions (
    id         uuid        PRIMARY KEY,
    -- In lower case, as emails are found by it.
    address    text        NOT NULL,
    scope      text        NOT NULL,
    workspace  text        NOT NULL DEFAULT '',
    kind       text        NOT NULL DEFAULT '',
    reason     text        NOT NULL,
    -- What shows it, in words for people.
    evidence   text        NOT NULL DEFAULT '',
    -- The email that led to it, if one did.
    email_id   uuid,
    actor      text,
    created_at timestamptz NOT NULL,
    -- When it was last heard of: workers ask what is new.
    noted_at   timestamptz NOT NULL,
    expires_at timestamptz,
    CONSTRAINT a_known_scope CHECK (
        CASE scope
            WHEN 'all' THEN workspace = '' AND kind = ''
            WHEN 'workspace' THEN kind = ''
            WHEN 'kind' THEN kind <> ''
            ELSE false
        END
    )
);
CREATE UNIQUE INDEX suppressions_address ON postroom.suppressions (address, scope, workspace, kind, reason);
CREATE INDEX suppressions_noted ON postroom.suppressions (noted_at, id);
CREATE INDEX suppressions_workspace ON postroom.suppressions (workspace, id);

-- Who enqueues is told on the receipt, so an application that has its role already may look. On lines that end without
-- a semicolon: a script is split at those.
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'postroom_app')
    THEN GRANT SELECT ON postroom.suppressions TO postroom_app; END IF; END $$;
