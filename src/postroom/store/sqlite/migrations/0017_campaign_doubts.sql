-- What was left in doubt keeps its place in the quota of its day, also when its mail is sent again on the same one.

-- How many of those that are counted as used were left in doubt, and belong to no mail any more: theirs has been sent
-- again, or given up.
ALTER TABLE postroom_campaign_days ADD COLUMN doubted INTEGER NOT NULL DEFAULT 0;

-- The mail was left in doubt since it was last handed to a worker. Its status does not tell: somebody may have had it
-- sent again before anybody looked.
ALTER TABLE postroom_campaign_mails ADD COLUMN doubted INTEGER NOT NULL DEFAULT 0;
UPDATE postroom_campaign_mails SET doubted = 1 WHERE email_status = 'in_doubt' AND state = 'leaving';
CREATE TRIGGER postroom_mirror_doubt_of_campaign_mail AFTER UPDATE OF doubts ON postroom_emails
WHEN NEW.priority = 3 AND NEW.doubts > OLD.doubts
BEGIN UPDATE postroom_campaign_mails SET doubted = 1 WHERE email_id = NEW.id; END;
