-- Whether an enrolment was paused when its campaign was cancelled: launched again, it is so again.
ALTER TABLE postroom.enrolments ADD COLUMN paused_before boolean NOT NULL DEFAULT false;
