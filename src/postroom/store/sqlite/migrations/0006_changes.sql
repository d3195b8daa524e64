-- The stream: what changed, for those who want to hear of it. A row for each statement that changed emails, and not one
-- for each email, so that it costs next to nothing: `changes` is a JSON list of [id, what, attempts, kind, workspace].
-- There is one writer at a time, so the order of positions is that of the commits. None is given out twice, also when
-- the newest rows are swept away.
CREATE TABLE postroom_changes (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    changes  TEXT    NOT NULL
);
