-- Four roles, none of which can sign in: grant them to the users that do.
--
--   postroom_owner   owns the tables and applies migrations
--   postroom_app     may enqueue and say who is not to be mailed, and see nothing of what others enqueued but who holds
--                    a key
--   postroom_worker  may do what workers, the desk and housekeeping do; cannot change the schema
--   postroom_reader  may look, and touch nothing; sees no password, session, code or token, and not what emails say:
--                    whom they are for and their subjects, but no text and no attachment; of sensitive ones no subject

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['postroom_owner', 'postroom_app', 'postroom_worker', 'postroom_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        END IF;
    END LOOP;
END
$$;

ALTER SCHEMA postroom OWNER TO postroom_owner;

DO $$
DECLARE
    found record;
BEGIN
    FOR found IN SELECT schemaname, tablename FROM pg_tables WHERE schemaname = 'postroom' LOOP
        EXECUTE format('ALTER TABLE %I.%I OWNER TO postroom_owner', found.schemaname, found.tablename);
    END LOOP;
END
$$;

-- It writes down whom an entry covers, for people who cannot see who is in campaigns.
ALTER FUNCTION postroom.note_covered() OWNER TO postroom_owner;

GRANT USAGE ON SCHEMA postroom TO postroom_app, postroom_worker, postroom_reader;

GRANT INSERT ON
    postroom.emails, postroom.contents, postroom.terms, postroom.keys,
    postroom.attachments, postroom.attachment_uses, postroom.tallies
TO postroom_app;
GRANT SELECT (id) ON postroom.emails TO postroom_app;
GRANT SELECT ON postroom.keys, postroom.migrations, postroom.deployment, postroom.suppressions TO postroom_app;
-- To add an entry, or to have one heard of again. Deleting one is for others. Our statements never have one end sooner,
-- yet rights to columns cannot say so: whoever holds this role and writes statements of their own could.
GRANT INSERT, UPDATE (evidence, email_id, actor, noted_at, expires_at) ON postroom.suppressions TO postroom_app;
-- Holding an attachment against a sweep is a lock, and a lock needs the right to update some column.
GRANT SELECT (digest), UPDATE (size) ON postroom.attachments TO postroom_app;

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA postroom TO postroom_worker;
REVOKE INSERT, UPDATE, DELETE ON postroom.migrations, postroom.deployment FROM postroom_worker;

GRANT SELECT ON ALL TABLES IN SCHEMA postroom TO postroom_reader;
-- Not at what lets people in: a hash can be tried out, a key makes codes.
REVOKE SELECT ON
    postroom.people, postroom.people_secrets, postroom.sessions, postroom.codes, postroom.tokens,
    postroom.authenticators, postroom.recovery_codes, postroom.known_addresses, postroom.budgets
FROM postroom_reader;
-- Nor at what emails say: a sign-in code stands in an email, too. What sensitive ones say is in a box among the
-- attachments, and in the texts of those that a release before took in.
-- What came back quotes it, and answers it.
REVOKE SELECT ON postroom.contents, postroom.attachments, postroom.return_messages FROM postroom_reader;
GRANT SELECT (email_id, version, subject, message_id, envelope, size, terms) ON postroom.contents TO postroom_reader;
GRANT SELECT (digest, size) ON postroom.attachments TO postroom_reader;
-- The same of campaigns: whom they are for and their subjects, but neither their words nor what is known of people.
REVOKE SELECT ON postroom.steps, postroom.prospects FROM postroom_reader;
GRANT SELECT (workspace, sequence_id, version, number, delay_days, subject, template) ON postroom.steps
TO postroom_reader;
GRANT SELECT (workspace, id, address, normal_address, name, timezone, language, created_at, updated_at)
ON postroom.prospects
TO postroom_reader;
