-- What came back, to be looked at by those who may: in whose workspace, of what kind, from whom.

-- Of the email, as far as that was known when it came back. Null: nobody knows whose it is.
ALTER TABLE postroom_returns ADD COLUMN workspace TEXT;
UPDATE postroom_returns
SET workspace = coalesce(
    (SELECT e.workspace FROM postroom_emails e WHERE e.id = postroom_returns.email_id),
    (SELECT m.workspace FROM postroom_campaign_mails m WHERE m.email_id = postroom_returns.email_id)
)
WHERE email_id IS NOT NULL;

-- A list of some is read along one of these, however many others there are.
CREATE INDEX postroom_returns_what ON postroom_returns (what, id);
CREATE INDEX postroom_returns_unclear_what ON postroom_returns (what, id) WHERE unclear;
CREATE INDEX postroom_returns_address ON postroom_returns (address, id) WHERE address <> '';
CREATE INDEX postroom_returns_workspace ON postroom_returns (workspace, id) WHERE workspace IS NOT NULL;
CREATE INDEX postroom_returns_workspace_what ON postroom_returns (workspace, what, id) WHERE workspace IS NOT NULL;
CREATE INDEX postroom_returns_workspace_address ON postroom_returns (workspace, address, id)
    WHERE workspace IS NOT NULL AND address <> '';

-- What people did to one prospect of a campaign. Columns, for tools that compare schemas do not know of indexes on
-- expressions.
ALTER TABLE postroom_audit ADD COLUMN workspace TEXT
    GENERATED ALWAYS AS (coalesce(json_extract(detail, '$.workspace'), '')) VIRTUAL;
ALTER TABLE postroom_audit ADD COLUMN prospect TEXT
    GENERATED ALWAYS AS (json_extract(detail, '$.prospect')) VIRTUAL;
CREATE INDEX postroom_audit_prospect ON postroom_audit (workspace, prospect, id)
    WHERE what IN ('campaign_pause_prospect', 'campaign_resume_prospect', 'campaign_stop_prospect');
