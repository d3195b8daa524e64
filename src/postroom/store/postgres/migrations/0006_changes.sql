-- The stream: what changed, for those who want to hear of it. A row for each statement that changed emails, and not one
-- for each email, so that it costs next to nothing: `changes` is a JSON list of [id, what, attempts, kind, workspace].
-- Positions are given out before transactions commit, so their order is not that of the commits. Who reads by
-- transaction, and no further than the oldest that is still open, misses nothing.
CREATE TABLE postroom.changes (
    txid     xid8        NOT NULL DEFAULT pg_current_xact_id(),
    position bigint      GENERATED ALWAYS AS IDENTITY,
    at       timestamptz NOT NULL,
    changes  text        NOT NULL,
    PRIMARY KEY (txid, position)
);
ALTER TABLE postroom.changes ALTER COLUMN changes SET STORAGE EXTERNAL;
