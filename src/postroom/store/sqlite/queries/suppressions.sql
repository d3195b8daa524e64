-- Who is not to be mailed.

-- fragment: entry
id, address, scope, workspace, kind, reason, evidence, email_id, actor, created_at, noted_at, expires_at

-- Add entries. One that is there already stays, with what was heard of it last; it never ends sooner than it would have.
-- Who wants to be left alone said so first by one email: only its link takes that back.
-- `WHERE true` keeps SQLite from reading ON as a part of the join.
-- name: suppress
INSERT INTO postroom_suppressions (
    id, address, scope, workspace, kind, reason, evidence, email_id, actor, created_at, noted_at, expires_at
)
SELECT
    json_extract(value, '$.id'), json_extract(value, '$.address'), json_extract(value, '$.scope'),
    json_extract(value, '$.workspace'), json_extract(value, '$.kind'), json_extract(value, '$.reason'),
    json_extract(value, '$.evidence'), json_extract(value, '$.email_id'), json_extract(value, '$.actor'), :now, :now,
    json_extract(value, '$.expires_at')
FROM json_each(:entries)
WHERE true
ON CONFLICT (address, scope, workspace, kind, reason) DO UPDATE
SET noted_at = excluded.noted_at,
    evidence = iif(excluded.evidence = '', evidence, excluded.evidence),
    email_id = iif(reason = 'unsubscribe', email_id, coalesce(excluded.email_id, email_id)),
    actor = coalesce(excluded.actor, actor),
    expires_at = max(expires_at, excluded.expires_at)
RETURNING {entry};

-- Take entries away, of these workspaces if any are named.
-- name: unsuppress
DELETE FROM postroom_suppressions
WHERE id IN (SELECT value FROM json_each(:ids))
    AND (:workspaces IS NULL OR (scope <> 'all' AND workspace IN (SELECT value FROM json_each(:workspaces))))
RETURNING {entry};

-- What is known of these addresses and has not ended.
-- name: suppressions_of
SELECT {entry}
FROM postroom_suppressions
WHERE address IN (SELECT value FROM json_each(:addresses))
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY address, id;

-- What was heard of lately.
-- name: suppressions_since
SELECT {entry}
FROM postroom_suppressions
WHERE noted_at >= CAST(:now - :seconds * 1000000 AS INTEGER)
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY noted_at, id
LIMIT :limit;

-- One page of all entries, the latest first; `:part` is any part of an address, with its wildcards escaped.
-- name: suppressions
SELECT {entry}
FROM postroom_suppressions
WHERE id < :before
    AND (:part IS NULL OR address LIKE '%' || :part || '%' ESCAPE '\')
    AND (:reason IS NULL OR reason = :reason)
    AND (:workspaces IS NULL OR scope = 'all' OR workspace IN (SELECT value FROM json_each(:workspaces)))
ORDER BY id DESC
LIMIT :limit;
