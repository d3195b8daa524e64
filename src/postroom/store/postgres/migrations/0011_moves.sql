-- Emails that leave for another region. On its way, an email's row of `emails` stands here and nowhere else, as a JSON
-- object; what it says waits where it was. Once it has arrived `state` is null, and what is left tells where it went:
-- no address, no key.
CREATE TABLE postroom.departures (
    email_id uuid        NOT NULL,
    -- What the emails of one move share. It is never used again, so that no arrival is taken for a later one's.
    move     uuid        NOT NULL,
    region   text        NOT NULL,
    at       timestamptz NOT NULL,
    state    text,
    PRIMARY KEY (email_id, move)
);
-- Those on their way; nearly always empty.
CREATE INDEX departures_open ON postroom.departures (region, email_id)
    WHERE state IS NOT NULL;

-- What was decided of emails that came from another region: once for each, whoever asks and however often. It stays, for
-- that is what keeps an email from arriving a second time after it was sent and pruned.
CREATE TABLE postroom.arrivals (
    email_id uuid        NOT NULL,
    move     uuid        NOT NULL,
    region   text        NOT NULL,
    at       timestamptz NOT NULL,
    -- Why it was not taken in; null where it was.
    refused  text,
    PRIMARY KEY (email_id, move)
);
