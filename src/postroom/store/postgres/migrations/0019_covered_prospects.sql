-- Prospects whom an entry covers, and of whom the campaigns of their workspace have still to draw the conclusion. Whoever
-- says that an address is not to be mailed need know nothing of campaigns: the next look of a worker stops what is left
-- of theirs. A row for each entry, and none of them is unique: so nobody ever waits for another to write it.
CREATE TABLE postroom.covered_prospects (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace   text   NOT NULL,
    prospect_id text   NOT NULL
);
CREATE INDEX covered_prospects_prospect ON postroom.covered_prospects (workspace, prospect_id);

-- However an entry is made, its prospects are noted with the same commit: those of workspaces that have launched
-- something, of whom something can be stopped. Whether it holds is asked when the conclusion is drawn.
-- As its owner: who may make entries need not be able to see who the prospects are.
CREATE FUNCTION postroom.note_covered() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO postroom.covered_prospects (workspace, prospect_id)
    SELECT p.workspace, p.id
    FROM postroom.prospects p
    WHERE p.normal_address = NEW.address AND (NEW.scope = 'all' OR p.workspace = NEW.workspace)
        AND EXISTS (SELECT FROM postroom.paces q WHERE q.workspace = p.workspace)
        AND EXISTS (
            SELECT
            FROM postroom.enrolments e
            WHERE e.workspace = p.workspace AND e.prospect_id = p.id
                AND e.status IN ('enrolled', 'active', 'paused', 'stopped')
        ); RETURN NULL; END
$$;
CREATE TRIGGER note_covered AFTER INSERT OR UPDATE ON postroom.suppressions
    FOR EACH ROW WHEN (NEW.kind IN ('', 'campaign'))
    EXECUTE FUNCTION postroom.note_covered();

-- Those of whom it was said before this release.
INSERT INTO postroom.covered_prospects (workspace, prospect_id)
SELECT DISTINCT p.workspace, p.id
FROM postroom.paces q
JOIN postroom.enrolments e ON e.workspace = q.workspace AND e.status IN ('active', 'paused')
JOIN postroom.prospects p ON p.workspace = e.workspace AND p.id = e.prospect_id
JOIN postroom.suppressions s ON s.address = p.normal_address AND (s.scope = 'all' OR s.workspace = p.workspace)
WHERE s.kind IN ('', 'campaign');
