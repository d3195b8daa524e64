-- When the content of a sensitive email was erased. Workers of the version before erase nothing: a sweep of ours does.
ALTER TABLE postroom_emails ADD COLUMN erased_at INTEGER;
-- Sensitive emails whose time may be over, and whose content is still there; nearly always empty.
CREATE INDEX postroom_emails_to_erase ON postroom_emails (id)
    WHERE sensitive AND erased_at IS NULL AND status IN ('sent', 'cancelled', 'dead');
