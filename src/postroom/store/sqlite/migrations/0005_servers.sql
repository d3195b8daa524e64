-- A way out goes by the name of its route; where it leads stands beside it.
ALTER TABLE postroom_transports ADD COLUMN server TEXT NOT NULL DEFAULT '';
