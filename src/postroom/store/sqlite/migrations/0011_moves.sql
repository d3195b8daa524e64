-- Emails that leave for another region. On its way, an email's row of `emails` stands here and nowhere else, as a JSON
-- object; what it says waits where it was. Once it has arrived `state` is null, and what is left tells where it went:
-- no address, no key.
CREATE TABLE postroom_departures (
    email_id TEXT    NOT NULL,
    -- What the emails of one move share. It is never used again, so that no arrival is taken for a later one's.
    move     TEXT    NOT NULL,
    region   TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    state    TEXT,
    PRIMARY KEY (email_id, move)
) WITHOUT ROWID;
-- Those on their way; nearly always empty.
CREATE INDEX postroom_departures_open ON postroom_departures (region, email_id)
    WHERE state IS NOT NULL;

-- What was decided of emails that came from another region: once for each, whoever asks and however often. It stays, for
-- that is what keeps an email from arriving a second time after it was sent and pruned.
CREATE TABLE postroom_arrivals (
    email_id TEXT    NOT NULL,
    move     TEXT    NOT NULL,
    region   TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    -- Why it was not taken in; null where it was.
    refused  TEXT,
    PRIMARY KEY (email_id, move)
) WITHOUT ROWID;
