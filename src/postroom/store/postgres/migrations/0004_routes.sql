-- Every email has a route, the way it leaves by. Workers of the version before know of one only, and need not say it.
ALTER TABLE postroom.emails ADD COLUMN route text NOT NULL DEFAULT 'default';

-- Whose turn it is, route by route: no route's backlog is read on the way to another's.
DROP INDEX postroom.emails_due;
CREATE INDEX emails_due ON postroom.emails (route, priority, due_at, id)
    WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL;
