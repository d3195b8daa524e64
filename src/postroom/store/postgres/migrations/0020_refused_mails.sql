-- Of a mail: whether it bounced for good in the session, where it was refused instead of sent. Its campaign counts it among
-- the sent by which it is judged, and so does whoever counts again.
ALTER TABLE postroom.campaign_mails ADD COLUMN refused boolean NOT NULL DEFAULT false;
