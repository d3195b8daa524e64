-- Every email has a route, the way it leaves by. Workers of the version before know of one only, and need not say it.
ALTER TABLE postroom_emails ADD COLUMN route TEXT NOT NULL DEFAULT 'default';

-- Whose turn it is, route by route: no route's backlog is read on the way to another's.
DROP INDEX postroom_emails_due;
CREATE INDEX postroom_emails_due ON postroom_emails (route, priority, due_at, id)
    WHERE status IN ('pending', 'retrying', 'in_doubt') AND due_at IS NOT NULL;
