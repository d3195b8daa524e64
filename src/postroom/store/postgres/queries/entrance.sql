-- Who is kept out and who gets in: budgets of failures, addresses people have come from, second factors.

-- One step at a time for whoever has the same name or address, until the transaction ends.
-- name: hold
SELECT pg_advisory_xact_lock(hashtextextended(:name::text, 0));

-- Until when budgets are spent; those that are whole are not there.
-- name: budgets
SELECT name, spent_until
FROM postroom.budgets
WHERE name = ANY (ARRAY(SELECT json_array_elements_text((:names::text)::json)));

-- Budgets after a failure.
-- name: keep_budgets
INSERT INTO postroom.budgets (name, spent_until)
SELECT n.name, n.spent_until
FROM json_to_recordset((:budgets::text)::json) AS n (name text, spent_until timestamptz)
ON CONFLICT (name) DO UPDATE SET spent_until = excluded.spent_until;

-- Budgets are whole again.
-- name: restore_budgets
DELETE FROM postroom.budgets
WHERE name = ANY (ARRAY(SELECT json_array_elements_text((:names::text)::json)));

-- A few budgets that are whole again go. The last thing in a transaction: whoever waits for one of them waits for
-- nobody who waits.
-- name: sweep_budgets
DELETE FROM postroom.budgets
WHERE name IN (
    SELECT name
    FROM postroom.budgets
    WHERE spent_until < {now}
    ORDER BY spent_until
    LIMIT :limit::bigint
    FOR UPDATE SKIP LOCKED
);

-- Whether somebody has signed in from there, not too long ago.
-- name: knows_address
SELECT count(*)
FROM postroom.known_addresses
WHERE person_id = :person::text
    AND digest = :digest::text
    AND seen_at > {now} - make_interval(secs => :seconds::int);

-- Somebody has signed in from there; what is too old goes, and what is too much.
-- name: remember_address
INSERT INTO postroom.known_addresses (person_id, digest, seen_at)
VALUES (:person::text, :digest::text, {now})
ON CONFLICT (person_id, digest) DO UPDATE SET seen_at = excluded.seen_at;
DELETE FROM postroom.known_addresses
WHERE person_id = :person::text
    AND (
        seen_at <= {now} - make_interval(secs => :seconds::int)
        OR digest NOT IN (
            SELECT digest
            FROM postroom.known_addresses
            WHERE person_id = :person::text
            ORDER BY seen_at DESC, digest
            LIMIT :most::bigint
        )
    );

-- What a person has beside the mail.
-- name: second_factors
SELECT a.secret, a.made_at, a.confirmed_at, a.last_step, r.codes
FROM (
    SELECT count(*) AS codes
    FROM postroom.recovery_codes
    WHERE person_id = :person::text
) r
LEFT JOIN postroom.authenticators a ON a.person_id = :person::text;

-- What everybody has beside the mail.
-- name: all_second_factors
SELECT p.id, a.secret, a.made_at, a.confirmed_at, a.last_step, coalesce(r.codes, 0)
FROM postroom.people p
LEFT JOIN postroom.authenticators a ON a.person_id = p.id
LEFT JOIN (
    SELECT person_id, count(*) AS codes
    FROM postroom.recovery_codes
    GROUP BY person_id
) r ON r.person_id = p.id;

-- An authenticator that is still to be confirmed, in place of one that was not.
-- name: offer_authenticator
INSERT INTO postroom.authenticators (person_id, secret, made_at)
VALUES (:person::text, :secret::text, {now})
ON CONFLICT (person_id) DO UPDATE SET secret = excluded.secret, made_at = excluded.made_at
WHERE authenticators.confirmed_at IS NULL;

-- It is in use from now on.
-- name: confirm_authenticator
UPDATE postroom.authenticators
SET confirmed_at = {now},
    last_step = :step::bigint
WHERE person_id = :person::text AND confirmed_at IS NULL
RETURNING person_id;

-- Use up the code of a step; no row when it was used before.
-- name: use_step
UPDATE postroom.authenticators
SET last_step = :step::bigint
WHERE person_id = :person::text AND confirmed_at IS NOT NULL AND last_step < :step::bigint
RETURNING person_id;

-- Other recovery codes instead of those there were.
-- name: change_recovery_codes
DELETE FROM postroom.recovery_codes
WHERE person_id = :person::text;
INSERT INTO postroom.recovery_codes (person_id, digest)
SELECT :person::text, json_array_elements_text((:digests::text)::json);

-- Use a recovery code up; no row when it is none.
-- name: use_recovery_code
DELETE FROM postroom.recovery_codes
WHERE person_id = :person::text AND digest = :digest::text
RETURNING digest;

-- Nothing is left beside the mail.
-- name: remove_second_factors
DELETE FROM postroom.recovery_codes
WHERE person_id = :person::text;
DELETE FROM postroom.authenticators
WHERE person_id = :person::text
RETURNING person_id;
