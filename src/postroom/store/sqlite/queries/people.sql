-- People who operate an outbox, their sessions, codes, tokens and acts.

-- fragment: person
p.id, p.name, p.role, p.workspaces

-- The key of keyed hashes: the one that is there, or this one from now on.
-- name: people_secret
INSERT INTO postroom_people_secrets (name, value)
VALUES (:name, :value)
ON CONFLICT DO NOTHING;
SELECT value
FROM postroom_people_secrets
WHERE name = :name;

-- A new person; no row when the name is taken.
-- name: add_person
INSERT INTO postroom_people (id, name, role, workspaces, password, created_at)
VALUES (:id, :name, :role, :workspaces, :password, :now)
ON CONFLICT DO NOTHING
RETURNING id;

-- The person of a name.
-- name: find_person
SELECT {person}, p.password, p.created_at
FROM postroom_people p
WHERE p.name = :name;

-- Everybody.
-- name: people
SELECT {person}, p.password, p.created_at
FROM postroom_people p
ORDER BY p.name;

-- A new password ends every sign-in and every code.
-- name: change_password
DELETE FROM postroom_sessions
WHERE person_id = :id;
DELETE FROM postroom_codes
WHERE person_id = :id;
UPDATE postroom_people
SET password = :password
WHERE id = :id
RETURNING id;

-- A person may do something else from now on. What was begun under the old role ends.
-- name: change_role
DELETE FROM postroom_sessions
WHERE person_id = :id;
DELETE FROM postroom_codes
WHERE person_id = :id;
UPDATE postroom_people
SET role = :role,
    workspaces = :workspaces
WHERE id = :id
RETURNING id;

-- A person goes, with sign-ins, codes and tokens.
-- name: remove_person
DELETE FROM postroom_people
WHERE id = :id
RETURNING id;

-- A sign-in begins, or begins anew once it is complete; those whose time is up go.
-- name: begin_session
DELETE FROM postroom_sessions
WHERE expires_at <= :now;
INSERT INTO postroom_sessions (digest, person_id, stage, created_at, expires_at)
VALUES (:digest, :person, :stage, :now, :now + :seconds * 1000000);

-- The session of a token, if its time is not up.
-- name: find_session
SELECT {person}, s.stage, s.expires_at
FROM postroom_sessions s
JOIN postroom_people p ON p.id = s.person_id
WHERE s.digest = :digest AND s.expires_at > :now;

-- A sign-out. The codes of a sign-in go with it.
-- name: end_session
DELETE FROM postroom_codes
WHERE session = :digest AND ended_at IS NOT NULL AND made_at < :now - 3600000000;
UPDATE postroom_codes
SET ended_at = coalesce(ended_at, :now)
WHERE session = :digest;
DELETE FROM postroom_sessions
WHERE digest = :digest
RETURNING digest;

-- A new code, which ends those before it; one in the mail does not end one from the host.
-- The times of codes stay for an hour, to be counted.
-- name: put_code
DELETE FROM postroom_codes
WHERE person_id = :person AND made_at < :now - 3600000000;
UPDATE postroom_codes
SET ended_at = coalesce(ended_at, :now)
WHERE person_id = :person AND (session IS NOT NULL OR :session IS NULL);
INSERT INTO postroom_codes (id, person_id, session, digest, made_at, expires_at)
VALUES (:id, :person, :session, :digest, :now, :now + :seconds * 1000000);

-- When codes were mailed within the hour.
-- name: codes_sent
SELECT made_at
FROM postroom_codes
WHERE person_id = :person AND session IS NOT NULL AND made_at > :now - 3600000000
ORDER BY made_at;

-- Count a try at the codes that are good for this sign-in, before they are looked at; no row when there is none left.
-- name: try_code
UPDATE postroom_codes
SET tries = tries + 1
WHERE person_id = :person
    AND (session = :session OR session = :apart OR session IS NULL)
    AND ended_at IS NULL
    AND expires_at > :now
    AND tries < :tries
RETURNING id, session, digest, tries;

-- The code was used, or tried too often.
-- name: end_codes
UPDATE postroom_codes
SET ended_at = coalesce(ended_at, :now)
WHERE person_id = :person;

-- A new token.
-- name: add_token
INSERT INTO postroom_tokens (id, digest, person_id, label, scope, workspaces, created_at, expires_at)
VALUES (:id, :digest, :person, :label, :scope, :workspaces, :now, :expires_at);

-- The token that was shown, if its time is not up.
-- name: find_token
SELECT t.id, t.label, t.scope, t.workspaces, t.created_at, t.expires_at, {person}
FROM postroom_tokens t
JOIN postroom_people p ON p.id = t.person_id
WHERE t.digest = :digest AND (t.expires_at IS NULL OR t.expires_at > :now);

-- The tokens of a person.
-- name: tokens
SELECT t.id, t.label, t.scope, t.workspaces, t.created_at, t.expires_at, {person}
FROM postroom_tokens t
JOIN postroom_people p ON p.id = t.person_id
WHERE t.person_id = :person
ORDER BY t.id;

-- A token is good no more.
-- name: revoke_token
DELETE FROM postroom_tokens
WHERE id = :id AND person_id = :person
RETURNING id;

-- Somebody did something.
-- name: write_audit
INSERT INTO postroom_audit (at, actor, what, address, detail)
VALUES (:now, :actor, :what, :address, :detail);

-- The newest line of the audit log.
-- name: newest_audit
SELECT coalesce(max(id), 0)
FROM postroom_audit;

-- Who did what, newest first, between two lines.
-- name: read_audit
SELECT id, at, actor, what, address, detail
FROM postroom_audit
WHERE id < :before
    AND id > :after
    AND (:actor IS NULL OR actor = :actor)
    AND (:what IS NULL OR what = :what)
ORDER BY id DESC
LIMIT :limit;

-- What people did to one prospect of the workspace's campaigns, the latest first.
-- name: acts_on_prospect
SELECT id, at, actor, what, address, detail
FROM postroom_audit
WHERE what IN ('campaign_pause_prospect', 'campaign_resume_prospect', 'campaign_stop_prospect')
    AND workspace = :workspace AND prospect = :prospect
ORDER BY id DESC
LIMIT :limit;
