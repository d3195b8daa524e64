-- The step of which the mail has ended an enrolment, by being given up; null where anything else has. Sent after all, that
-- mail lets the enrolment go on, and no other does: who was stopped by somebody stays so.
ALTER TABLE postroom_enrolments ADD COLUMN ended_by_step INTEGER;
