-- How far what was done to a whole campaign, its being cancelled or launched again, has come to its people, by their number;
-- null once it has come to all. Beside it, to how many mails and people it has come that it concerned.
ALTER TABLE postroom_campaigns ADD COLUMN carried_to INTEGER;
ALTER TABLE postroom_campaigns ADD COLUMN carried_mails INTEGER NOT NULL DEFAULT 0;
ALTER TABLE postroom_campaigns ADD COLUMN carried_people INTEGER NOT NULL DEFAULT 0;
CREATE INDEX postroom_campaigns_carried ON postroom_campaigns (workspace) WHERE carried_to IS NOT NULL;
