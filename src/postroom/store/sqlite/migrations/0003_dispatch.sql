-- Dispatch over a broker: who works here as what, how the broker looks from there, and whose death was announced.
ALTER TABLE postroom_workers ADD COLUMN role TEXT NOT NULL DEFAULT 'worker';
-- A JSON object, from those who talk to a broker.
ALTER TABLE postroom_workers ADD COLUMN broker TEXT;

ALTER TABLE postroom_emails ADD COLUMN announced_at INTEGER;
-- The dead that nobody was told of; nearly always empty.
CREATE INDEX postroom_emails_unannounced ON postroom_emails (id)
    WHERE status = 'dead' AND announced_at IS NULL;
