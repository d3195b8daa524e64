-- Who is kept out and who gets in: budgets of failures, addresses people have come from, second factors.

-- One step at a time for whoever has the same name or address. The writer's transaction is lock enough.
-- name: hold
SELECT :name;

-- Until when budgets are spent; those that are whole are not there.
-- name: budgets
SELECT name, spent_until
FROM postroom_budgets
WHERE name IN (SELECT value FROM json_each(:names));

-- Budgets after a failure.
-- name: keep_budgets
INSERT INTO postroom_budgets (name, spent_until)
SELECT json_extract(value, '$.name'), json_extract(value, '$.spent_until')
FROM json_each(:budgets)
WHERE true
ON CONFLICT (name) DO UPDATE SET spent_until = excluded.spent_until;

-- Budgets are whole again.
-- name: restore_budgets
DELETE FROM postroom_budgets
WHERE name IN (SELECT value FROM json_each(:names));

-- A few budgets that are whole again go.
-- name: sweep_budgets
DELETE FROM postroom_budgets
WHERE name IN (
    SELECT name
    FROM postroom_budgets
    WHERE spent_until < :now
    ORDER BY spent_until
    LIMIT :limit
);

-- Whether somebody has signed in from there, not too long ago.
-- name: knows_address
SELECT count(*)
FROM postroom_known_addresses
WHERE person_id = :person
    AND digest = :digest
    AND seen_at > :now - :seconds * 1000000;

-- Somebody has signed in from there; what is too old goes, and what is too much.
-- name: remember_address
INSERT INTO postroom_known_addresses (person_id, digest, seen_at)
VALUES (:person, :digest, :now)
ON CONFLICT (person_id, digest) DO UPDATE SET seen_at = excluded.seen_at;
DELETE FROM postroom_known_addresses
WHERE person_id = :person
    AND (
        seen_at <= :now - :seconds * 1000000
        OR digest NOT IN (
            SELECT digest
            FROM postroom_known_addresses
            WHERE person_id = :person
            ORDER BY seen_at DESC, digest
            LIMIT :most
        )
    );

-- What a person has beside the mail.
-- name: second_factors
SELECT a.secret, a.made_at, a.confirmed_at, a.last_step, r.codes
FROM (
    SELECT count(*) AS codes
    FROM postroom_recovery_codes
    WHERE person_id = :person
) r
LEFT JOIN postroom_authenticators a ON a.person_id = :person;

-- What everybody has beside the mail.
-- name: all_second_factors
SELECT p.id, a.secret, a.made_at, a.confirmed_at, a.last_step, coalesce(r.codes, 0)
FROM postroom_people p
LEFT JOIN postroom_authenticators a ON a.person_id = p.id
LEFT JOIN (
    SELECT person_id, count(*) AS codes
    FROM postroom_recovery_codes
    GROUP BY person_id
) r ON r.person_id = p.id;

-- An authenticator that is still to be confirmed, in place of one that was not.
-- name: offer_authenticator
INSERT INTO postroom_authenticators (person_id, secret, made_at)
VALUES (:person, :secret, :now)
ON CONFLICT (person_id) DO UPDATE SET secret = excluded.secret, made_at = excluded.made_at
WHERE postroom_authenticators.confirmed_at IS NULL;

-- It is in use from now on.
-- name: confirm_authenticator
UPDATE postroom_authenticators
SET confirmed_at = :now,
    last_step = :step
WHERE person_id = :person AND confirmed_at IS NULL
RETURNING person_id;

-- Use up the code of a step; no row when it was used before.
-- name: use_step
UPDATE postroom_authenticators
SET last_step = :step
WHERE person_id = :person AND confirmed_at IS NOT NULL AND last_step < :step
RETURNING person_id;

-- Other recovery codes instead of those there were.
-- name: change_recovery_codes
DELETE FROM postroom_recovery_codes
WHERE person_id = :person;
INSERT INTO postroom_recovery_codes (person_id, digest)
SELECT :person, value
FROM json_each(:digests);

-- Use a recovery code up; no row when it is none.
-- name: use_recovery_code
DELETE FROM postroom_recovery_codes
WHERE person_id = :person AND digest = :digest
RETURNING digest;

-- Nothing is left beside the mail.
-- name: remove_second_factors
DELETE FROM postroom_recovery_codes
WHERE person_id = :person;
DELETE FROM postroom_authenticators
WHERE person_id = :person
RETURNING person_id;
