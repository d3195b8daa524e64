-- The mail of the dev inbox, in a table of its own; the file may be one that holds other things too.

-- name: create
-- Ids are never used again (AUTOINCREMENT): a page that was open when its message was deleted shows no other one.
CREATE TABLE IF NOT EXISTS postroom_inbox (
    id integer PRIMARY KEY AUTOINCREMENT,
    received_at real NOT NULL,
    sender text NOT NULL,
    recipients text NOT NULL,
    author text NOT NULL,
    subject text NOT NULL,
    message_id text NOT NULL,
    snippet text NOT NULL,
    enclosures integer NOT NULL,
    size integer NOT NULL,
    found_by text NOT NULL,
    source blob NOT NULL
);
CREATE INDEX IF NOT EXISTS postroom_inbox_message_id ON postroom_inbox (message_id);

-- fragment: columns
id, received_at, sender, recipients, author, subject, message_id, snippet, enclosures, size

-- fragment: wanted
(:words IS NULL OR found_by LIKE :words ESCAPE '\')
AND (:recipient IS NULL OR EXISTS (SELECT 1 FROM json_each(recipients) WHERE lower(json_each.value) = :recipient))

-- name: keep
INSERT INTO postroom_inbox (
    received_at, sender, recipients, author, subject, message_id, snippet, enclosures, size, found_by, source
)
VALUES (
    :received_at, :sender, :recipients, :author, :subject, :message_id, :snippet, :enclosures, :size, :found_by, :source
);

-- name: make_room
-- Counted from the newest, which always stays: what lies beyond the number and the octets to be kept.
DELETE FROM postroom_inbox
WHERE id IN (
    SELECT id
    FROM (
        SELECT id, row_number() OVER newest AS place, sum(size) OVER newest AS octets
        FROM postroom_inbox
        WINDOW newest AS (ORDER BY id DESC)
    )
    WHERE place > 1 AND (place > :messages OR octets > :octets)
);

-- name: totals
SELECT count(*), coalesce(sum(size), 0), coalesce(max(id), 0)
FROM postroom_inbox;

-- name: count
SELECT count(*)
FROM postroom_inbox
WHERE {wanted};

-- name: list
SELECT {columns}
FROM postroom_inbox
WHERE {wanted}
    AND (:before IS NULL OR id < :before)
    AND (:after IS NULL OR id > :after)
ORDER BY id DESC
LIMIT :limit;

-- name: get
SELECT {columns}
FROM postroom_inbox
WHERE id = :id;

-- name: source
SELECT source
FROM postroom_inbox
WHERE id = :id;

-- name: copies
SELECT message_id, count(*)
FROM postroom_inbox
GROUP BY message_id;

-- name: delete
DELETE FROM postroom_inbox
WHERE id = :id;

-- name: delete_all
DELETE FROM postroom_inbox;
