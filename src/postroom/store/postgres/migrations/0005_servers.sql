-- A way out goes by the name of its route; where it leads stands beside it.
ALTER TABLE postroom.transports ADD COLUMN server text NOT NULL DEFAULT '';
