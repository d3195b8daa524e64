-- Whether a reader can stop an email of its kind: such an email bears the means to do so, and goes to one person.
ALTER TABLE postroom_emails ADD COLUMN unsubscribable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE postroom_dismissed ADD COLUMN unsubscribable INTEGER NOT NULL DEFAULT 0;

-- Who is not to be mailed. An address may be here for several reasons; taking one away leaves the others.
CREATE TABLE postroom_suppressions (
    id         TEXT    NOT NULL PRIMARY KEY,
    -- In lower case, as emails are found by it.
    address    TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    workspace  TEXT    NOT NULL DEFAULT '',
    kind       TEXT    NOT NULL DEFAULT '',
    reason     TEXT    NOT NULL,
    -- What shows it, in words for people.
    evidence   TEXT    NOT NULL DEFAULT '',
    -- The email that led to it, if one did.
    email_id   TEXT,
    actor      TEXT,
    created_at INTEGER NOT NULL,
    -- When it was last heard of: workers ask what is new.
    noted_at   INTEGER NOT NULL,
    expires_at INTEGER,
    CONSTRAINT a_known_scope CHECK (
        CASE scope
            WHEN 'all' THEN workspace = '' AND kind = ''
            WHEN 'workspace' THEN kind = ''
            WHEN 'kind' THEN kind <> ''
            ELSE 0
        END
    )
) WITHOUT ROWID;
CREATE UNIQUE INDEX postroom_suppressions_address
    ON postroom_suppressions (address, scope, workspace, kind, reason);
CREATE INDEX postroom_suppressions_noted ON postroom_suppressions (noted_at, id);
CREATE INDEX postroom_suppressions_workspace ON postroom_suppressions (workspace, id);
