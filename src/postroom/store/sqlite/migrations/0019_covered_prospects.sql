-- Prospects whom an entry covers, and of whom the campaigns of their workspace have still to draw the conclusion. Whoever
-- says that an address is not to be mailed need know nothing of campaigns: the next look of a worker stops what is left
-- of theirs. A row for each entry, and none of them is unique: so nobody ever waits for another to write it.
CREATE TABLE postroom_covered_prospects (
    id          INTEGER NOT NULL PRIMARY KEY,
    workspace   TEXT    NOT NULL,
    prospect_id TEXT    NOT NULL
);
CREATE INDEX postroom_covered_prospects_prospect ON postroom_covered_prospects (workspace, prospect_id);

-- However an entry is made, its prospects are noted with the same commit: those of workspaces that have launched
-- something, of whom something can be stopped. Whether it holds is asked when the conclusion is drawn.
CREATE TRIGGER postroom_note_covered AFTER INSERT ON postroom_suppressions
WHEN NEW.kind IN ('', 'campaign')
BEGIN
    INSERT INTO postroom_covered_prospects (workspace, prospect_id)
    SELECT p.workspace, p.id
    FROM postroom_prospects p
    WHERE p.normal_address = NEW.address AND (NEW.scope = 'all' OR p.workspace = NEW.workspace)
        AND EXISTS (SELECT 1 FROM postroom_paces q WHERE q.workspace = p.workspace)
        AND EXISTS (
            SELECT 1
            FROM postroom_enrolments e
            WHERE e.workspace = p.workspace AND e.prospect_id = p.id
                AND e.status IN ('enrolled', 'active', 'paused', 'stopped')
        ); END;
CREATE TRIGGER postroom_note_covered_again AFTER UPDATE ON postroom_suppressions
WHEN NEW.kind IN ('', 'campaign')
BEGIN
    INSERT INTO postroom_covered_prospects (workspace, prospect_id)
    SELECT p.workspace, p.id
    FROM postroom_prospects p
    WHERE p.normal_address = NEW.address AND (NEW.scope = 'all' OR p.workspace = NEW.workspace)
        AND EXISTS (SELECT 1 FROM postroom_paces q WHERE q.workspace = p.workspace)
        AND EXISTS (
            SELECT 1
            FROM postroom_enrolments e
            WHERE e.workspace = p.workspace AND e.prospect_id = p.id
                AND e.status IN ('enrolled', 'active', 'paused', 'stopped')
        ); END;

-- Those of whom it was said before this release.
INSERT INTO postroom_covered_prospects (workspace, prospect_id)
SELECT DISTINCT p.workspace, p.id
FROM postroom_paces q
JOIN postroom_enrolments e ON e.workspace = q.workspace AND e.status IN ('active', 'paused')
JOIN postroom_prospects p ON p.workspace = e.workspace AND p.id = e.prospect_id
JOIN postroom_suppressions s ON s.address = p.normal_address AND (s.scope = 'all' OR s.workspace = p.workspace)
WHERE s.kind IN ('', 'campaign');
