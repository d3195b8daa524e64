-- People who operate an outbox, their sessions, codes, tokens and acts.

-- fragment: person
p.id, p.name, p.role, p.workspaces

-- The key of keyed hashes: the one that is there, or this one from now on.
-- name: people_secret
INSERT INTO postroom.people_secrets (name, value)
VALUES (:name::text, :value::text)
ON CONFLICT DO NOTHING;
SELECT value
FROM postroom.people_secrets
WHERE name = :name::text;

-- A new person; no row when the name is taken.
-- name: add_person
INSERT INTO postroom.people (id, name, role, workspaces, password, created_at)
VALUES (:id::text, :name::text, :role::text, :workspaces::text, :password::text, {now})
ON CONFLICT DO NOTHING
RETURNING id;

-- The person of a name.
-- name: find_person
SELECT {person}, p.password, p.created_at
FROM postroom.people p
WHERE p.name = :name::text;

-- Everybody.
-- name: people
SELECT {person}, p.password, p.created_at
FROM postroom.people p
ORDER BY p.name;

-- A new password ends every sign-in and every code.
-- name: change_password
DELETE FROM postroom.sessions
WHERE person_id = :id::text;
DELETE FROM postroom.codes
WHERE person_id = :id::text;
UPDATE postroom.people
SET password = :password::text
WHERE id = :id::text
RETURNING id;

-- A person may do something else from now on. What was begun under the old role ends.
-- name: change_role
DELETE FROM postroom.sessions
WHERE person_id = :id::text;
DELETE FROM postroom.codes
WHERE person_id = :id::text;
UPDATE postroom.people
SET role = :role::text,
    workspaces = :workspaces::text
WHERE id = :id::text
RETURNING id;

-- A person goes, with sign-ins, codes and tokens.
-- name: remove_person
DELETE FROM postroom.people
WHERE id = :id::text
RETURNING id;

-- A sign-in begins, or begins anew once it is complete; those whose time is up go.
-- name: begin_session
DELETE FROM postroom.sessions
WHERE expires_at <= {now};
INSERT INTO postroom.sessions (digest, person_id, stage, created_at, expires_at)
VALUES (:digest::text, :person::text, :stage::text, {now}, {now} + make_interval(secs => :seconds::int));

-- The session of a token, if its time is not up.
-- name: find_session
SELECT {person}, s.stage, s.expires_at
FROM postroom.sessions s
JOIN postroom.people p ON p.id = s.person_id
WHERE s.digest = :digest::text AND s.expires_at > {now};

-- A sign-out. The codes of a sign-in go with it.
-- name: end_session
DELETE FROM postroom.codes
WHERE session = :digest::text AND ended_at IS NOT NULL AND made_at < {now} - interval '1 hour';
UPDATE postroom.codes
SET ended_at = coalesce(ended_at, {now})
WHERE session = :digest::text;
DELETE FROM postroom.sessions
WHERE digest = :digest::text
RETURNING digest;

-- A new code, which ends those before it; one in the mail does not end one from the host.
-- The times of codes stay for an hour, to be counted.
-- name: put_code
DELETE FROM postroom.codes
WHERE person_id = :person::text AND made_at < {now} - interval '1 hour';
UPDATE postroom.codes
SET ended_at = coalesce(ended_at, {now})
WHERE person_id = :person::text AND (session IS NOT NULL OR :session::text IS NULL);
INSERT INTO postroom.codes (id, person_id, session, digest, made_at, expires_at)
VALUES (:id::text, :person::text, :session::text, :digest::text, {now}, {now} + make_interval(secs => :seconds::int));

-- When codes were mailed within the hour.
-- name: codes_sent
SELECT made_at
FROM postroom.codes
WHERE person_id = :person::text AND session IS NOT NULL AND made_at > {now} - interval '1 hour'
ORDER BY made_at;

-- Count a try at the codes that are good for this sign-in, before they are looked at; no row when there is none left.
-- name: try_code
UPDATE postroom.codes
SET tries = tries + 1
WHERE person_id = :person::text
    AND (session = :session::text OR session = :apart::text OR session IS NULL)
    AND ended_at IS NULL
    AND expires_at > {now}
    AND tries < :tries::int
RETURNING id, session, digest, tries;

-- The code was used, or tried too often.
-- name: end_codes
UPDATE postroom.codes
SET ended_at = coalesce(ended_at, {now})
WHERE person_id = :person::text;

-- A new token.
-- name: add_token
INSERT INTO postroom.tokens (id, digest, person_id, label, scope, workspaces, created_at, expires_at)
VALUES (:id::text, :digest::text, :person::text, :label::text, :scope::text, :workspaces::text, {now}, :expires_at::timestamptz);

-- The token that was shown, if its time is not up.
-- name: find_token
SELECT t.id, t.label, t.scope, t.workspaces, t.created_at, t.expires_at, {person}
FROM postroom.tokens t
JOIN postroom.people p ON p.id = t.person_id
WHERE t.digest = :digest::text AND (t.expires_at IS NULL OR t.expires_at > {now});

-- The tokens of a person.
-- name: tokens
SELECT t.id, t.label, t.scope, t.workspaces, t.created_at, t.expires_at, {person}
FROM postroom.tokens t
JOIN postroom.people p ON p.id = t.person_id
WHERE t.person_id = :person::text
ORDER BY t.id;

-- A token is good no more.
-- name: revoke_token
DELETE FROM postroom.tokens
WHERE id = :id::text AND person_id = :person::text
RETURNING id;

-- Somebody did something.
-- name: write_audit
INSERT INTO postroom.audit (at, actor, what, address, detail)
VALUES ({now}, :actor::text, :what::text, :address::text, :detail::text);

-- The newest line of the audit log.
-- name: newest_audit
SELECT coalesce(max(id), 0)
FROM postroom.audit;

-- Who did what, newest first, between two lines.
-- name: read_audit
SELECT id, at, actor, what, address, detail
FROM postroom.audit
WHERE id < :before::bigint
    AND id > :after::bigint
    AND (:actor::text IS NULL OR actor = :actor::text)
    AND (:what::text IS NULL OR what = :what::text)
ORDER BY id DESC
LIMIT :limit::bigint;

-- What people did to one prospect of the workspace's campaigns, the latest first.
-- name: acts_on_prospect
SELECT id, at, actor, what, address, detail
FROM postroom.audit
WHERE what IN ('campaign_pause_prospect', 'campaign_resume_prospect', 'campaign_stop_prospect')
    AND coalesce(detail::jsonb ->> 'workspace', '') = :workspace::text
    AND (detail::jsonb ->> 'prospect') = :prospect::text
ORDER BY id DESC
LIMIT :limit::bigint;
