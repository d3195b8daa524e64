-- Whose database this is: a copy of it says the same, and so can be told from the original by whoever is to send.
CREATE TABLE postroom.deployment (
    place      smallint    PRIMARY KEY CHECK (place = 1),
    name       text        NOT NULL,
    id         text        NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
    stamped_at timestamptz NOT NULL DEFAULT now()
);

-- Which migration code has to ship in order to work beneath this one; NULL where any code does.
ALTER TABLE postroom.migrations ADD COLUMN needs integer;
