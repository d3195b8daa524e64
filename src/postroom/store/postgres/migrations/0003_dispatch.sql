-- Dispatch over a broker: who works here as what, how the broker looks from there, and whose death was announced.
ALTER TABLE postroom.workers ADD COLUMN role text NOT NULL DEFAULT 'worker';
-- A JSON object, from those who talk to a broker.
ALTER TABLE postroom.workers ADD COLUMN broker text;

ALTER TABLE postroom.emails ADD COLUMN announced_at timestamptz;
-- The dead that nobody was told of; nearly always empty.
CREATE INDEX emails_unannounced ON postroom.emails (id)
    WHERE status = 'dead' AND announced_at IS NULL;
