-- What was left in doubt keeps its place in the quota of its day, also when its mail is sent again on the same one.

-- How many of those that are counted as used were left in doubt, and belong to no mail any more: theirs has been sent
-- again, or given up.
ALTER TABLE postroom.campaign_days ADD COLUMN doubted integer NOT NULL DEFAULT 0;

-- The mail was left in doubt since it was last handed to a worker. Its status does not tell: somebody may have had it
-- sent again before anybody looked.
ALTER TABLE postroom.campaign_mails ADD COLUMN doubted boolean NOT NULL DEFAULT false;
UPDATE postroom.campaign_mails SET doubted = true WHERE email_status = 'in_doubt' AND state = 'leaving';
CREATE FUNCTION postroom.mirror_doubt_of_campaign_mail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN UPDATE postroom.campaign_mails SET doubted = true WHERE email_id = NEW.id; RETURN NULL; END
$$;
CREATE TRIGGER mirror_doubt_of_campaign_mail AFTER UPDATE OF doubts ON postroom.emails
    FOR EACH ROW WHEN (NEW.priority = 3 AND NEW.doubts > OLD.doubts)
    EXECUTE FUNCTION postroom.mirror_doubt_of_campaign_mail();
