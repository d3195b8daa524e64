-- What came back about the mail of campaigns, as far as a campaign pauses itself by it.

-- Of a mail: whether it bounced for good, and whether its reader has complained. Each counts once, however often it is
-- heard of.
ALTER TABLE postroom.campaign_mails ADD COLUMN bounced boolean NOT NULL DEFAULT false;
ALTER TABLE postroom.campaign_mails ADD COLUMN complained boolean NOT NULL DEFAULT false;

-- Of a campaign: how many of the mails that left since `counted_from` were sent, bounced and complained about. Null is
-- from the beginning; a person who resumes a campaign that had paused itself has it counted anew.
ALTER TABLE postroom.campaigns ADD COLUMN counted_from timestamptz;
ALTER TABLE postroom.campaigns ADD COLUMN sent bigint NOT NULL DEFAULT 0;
ALTER TABLE postroom.campaigns ADD COLUMN bounced bigint NOT NULL DEFAULT 0;
ALTER TABLE postroom.campaigns ADD COLUMN complained bigint NOT NULL DEFAULT 0;

-- Whoever is not to be mailed at all is stopped in every workspace.
CREATE INDEX prospects_everywhere ON postroom.prospects (normal_address);
