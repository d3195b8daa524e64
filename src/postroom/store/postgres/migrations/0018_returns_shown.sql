-- What came back, to be looked at by those who may: in whose workspace, of what kind, from whom.

-- Of the email, as far as that was known when it came back. Null: nobody knows whose it is.
ALTER TABLE postroom.returns ADD COLUMN workspace text;
UPDATE postroom.returns r
SET workspace = coalesce(
    (SELECT e.workspace FROM postroom.emails e WHERE e.id = r.email_id),
    (SELECT m.workspace FROM postroom.campaign_mails m WHERE m.email_id = r.email_id)
)
WHERE r.email_id IS NOT NULL;

-- A list of some is read along one of these, however many others there are; the order is one that the primary key cannot
-- give, so that no planner is tempted to walk past all the others.
CREATE INDEX returns_what ON postroom.returns (what, id DESC NULLS LAST);
CREATE INDEX returns_unclear_what ON postroom.returns (what, id DESC NULLS LAST) WHERE unclear;
CREATE INDEX returns_address ON postroom.returns (address, id DESC NULLS LAST) WHERE address <> '';
CREATE INDEX returns_workspace ON postroom.returns (workspace, id DESC NULLS LAST) WHERE workspace IS NOT NULL;
CREATE INDEX returns_workspace_what ON postroom.returns (workspace, what, id DESC NULLS LAST)
    WHERE workspace IS NOT NULL;
CREATE INDEX returns_workspace_address ON postroom.returns (workspace, address, id DESC NULLS LAST)
    WHERE workspace IS NOT NULL AND address <> '';

-- What people did to one prospect of a campaign.
CREATE INDEX audit_prospect
    ON postroom.audit (coalesce(detail::jsonb ->> 'workspace', ''), (detail::jsonb ->> 'prospect'), id)
    WHERE what IN ('campaign_pause_prospect', 'campaign_resume_prospect', 'campaign_stop_prospect');
