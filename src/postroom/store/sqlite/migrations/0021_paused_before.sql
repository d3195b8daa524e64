-- Whether an enrolment was paused when its campaign was cancelled: launched again, it is so again.
ALTER TABLE postroom_enrolments ADD COLUMN paused_before INTEGER NOT NULL DEFAULT 0;
