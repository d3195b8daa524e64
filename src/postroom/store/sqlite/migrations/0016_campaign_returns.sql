-- What came back about the mail of campaigns, as far as a campaign pauses itself by it.

-- Of a mail: whether it bounced for good, and whether its reader has complained. Each counts once, however often it is
-- heard of.
ALTER TABLE postroom_campaign_mails ADD COLUMN bounced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE postroom_campaign_mails ADD COLUMN complained INTEGER NOT NULL DEFAULT 0;

-- Of a campaign: how many of the mails that left since `counted_from` were sent, bounced and complained about. Null is
-- from the beginning; a person who resumes a campaign that had paused itself has it counted anew.
ALTER TABLE postroom_campaigns ADD COLUMN counted_from INTEGER;
ALTER TABLE postroom_campaigns ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE postroom_campaigns ADD COLUMN bounced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE postroom_campaigns ADD COLUMN complained INTEGER NOT NULL DEFAULT 0;

-- Whoever is not to be mailed at all is stopped in every workspace.
CREATE INDEX postroom_prospects_everywhere ON postroom_prospects (normal_address);
