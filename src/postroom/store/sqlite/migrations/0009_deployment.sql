-- Whose database this is: a copy of it says the same, and so can be told from the original by whoever is to send.
CREATE TABLE postroom_deployment (
    place      INTEGER NOT NULL PRIMARY KEY CHECK (place = 1),
    name       TEXT    NOT NULL,
    id         TEXT    NOT NULL DEFAULT (lower(hex(randomblob(16)))),
    stamped_at INTEGER NOT NULL DEFAULT (strftime('%s', 'now') * 1000000)
);

-- Which migration code has to ship in order to work beneath this one; NULL where any code does.
ALTER TABLE postroom_migrations ADD COLUMN needs INTEGER;
