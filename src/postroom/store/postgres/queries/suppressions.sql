-- Who is not to be mailed.

-- fragment: entry
s.id::text, s.address, s.scope, s.workspace, s.kind, s.reason, s.evidence, s.email_id::text, s.actor, s.created_at,
s.noted_at, s.expires_at

-- Add entries. One that is there already stays, with what was heard of it last; it never ends sooner than it would have.
-- Who wants to be left alone said so first by one email: only its link takes that back.
-- In one order, so that two who add the same never wait for each other for ever.
-- name: suppress
INSERT INTO postroom.suppressions AS s (
    id, address, scope, workspace, kind, reason, evidence, email_id, actor, created_at, noted_at, expires_at
)
SELECT
    n.id, n.address, n.scope, n.workspace, n.kind, n.reason, n.evidence, n.email_id, n.actor, {now}, {now}, n.expires_at
FROM json_to_recordset((:entries::text)::json) AS n (
    id uuid, address text, scope text, workspace text, kind text, reason text, evidence text, email_id uuid, actor text,
    expires_at timestamptz
)
ORDER BY n.address, n.scope, n.workspace, n.kind, n.reason
ON CONFLICT (address, scope, workspace, kind, reason) DO UPDATE
SET noted_at = excluded.noted_at,
    evidence = CASE WHEN excluded.evidence = '' THEN s.evidence ELSE excluded.evidence END,
    email_id = CASE WHEN s.reason = 'unsubscribe' THEN s.email_id ELSE coalesce(excluded.email_id, s.email_id) END,
    actor = coalesce(excluded.actor, s.actor),
    expires_at = CASE
        WHEN s.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
        ELSE greatest(s.expires_at, excluded.expires_at)
    END
RETURNING {entry};

-- Take entries away, of these workspaces if any are named.
-- name: unsuppress
DELETE FROM postroom.suppressions s
WHERE s.id = ANY (ARRAY (SELECT json_array_elements_text((:ids::text)::json)::uuid))
    AND (
        :workspaces::text IS NULL
        OR (s.scope <> 'all' AND s.workspace IN (SELECT json_array_elements_text((:workspaces::text)::json)))
    )
RETURNING {entry};

-- What is known of these addresses and has not ended.
-- name: suppressions_of
SELECT {entry}
FROM postroom.suppressions s
WHERE s.address = ANY (ARRAY (SELECT json_array_elements_text((:addresses::text)::json)))
    AND (s.expires_at IS NULL OR s.expires_at > {now})
ORDER BY s.address, s.id;

-- What was heard of lately.
-- name: suppressions_since
SELECT {entry}
FROM postroom.suppressions s
WHERE s.noted_at >= {now} - make_interval(secs => :seconds::float8)
    AND (s.expires_at IS NULL OR s.expires_at > {now})
ORDER BY s.noted_at, s.id
LIMIT :limit::bigint;

-- One page of all entries, the latest first; `:part` is any part of an address, with its wildcards escaped.
-- name: suppressions
SELECT {entry}
FROM postroom.suppressions s
WHERE s.id < :before::uuid
    AND (:part::text IS NULL OR s.address LIKE '%' || :part::text || '%' ESCAPE '\')
    AND (:reason::text IS NULL OR s.reason = :reason::text)
    AND (
        :workspaces::text IS NULL
        OR s.scope = 'all'
        OR s.workspace IN (SELECT json_array_elements_text((:workspaces::text)::json))
    )
ORDER BY s.id DESC
LIMIT :limit::bigint;
