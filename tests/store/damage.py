"""What can befall a row behind Postroom's back, one thing each."""

from __future__ import annotations

from postroom import Outbox
from postroom.store.sqlite.database import SqliteDatabase

DAMAGES = {
    "envelope": ("UPDATE {contents} SET envelope = '{{broken' WHERE email_id = '{id}'", "envelope"),
    "envelope of another shape": ("UPDATE {contents} SET envelope = '[1, 2]' WHERE email_id = '{id}'", "envelope"),
    "envelope cut off amid its attachments": (
        "UPDATE {contents} SET envelope = '{{\"date\":1,\"attachments\":[' WHERE email_id = '{id}'",
        "envelope",
    ),
    "terms": ("UPDATE {contents} SET terms = '[\"tag:a' WHERE email_id = '{id}'", "tags"),
    "outcomes": ("UPDATE {emails} SET outcomes = '[[\"sent\"' WHERE id = '{id}'", "recipients' outcomes"),
    "outcomes of others": ("UPDATE {emails} SET outcomes = '[]' WHERE id = '{id}'", "recipients' outcomes"),
    "reply": ("UPDATE {emails} SET reply = 'so long' WHERE id = '{id}'", "last reply"),
    "policy": ("UPDATE {emails} SET policy = '{{steps' WHERE id = '{id}'", "retry policy"),
    "status": ("UPDATE {emails} SET status = 'frozen', leased_until = NULL WHERE id = '{id}'", "status 'frozen'"),
    "priority": ("UPDATE {emails} SET priority = 7 WHERE id = '{id}'", "priority '7'"),
    "on_doubt": ("UPDATE {emails} SET on_doubt = 'ask' WHERE id = '{id}'", "on_doubt 'ask'"),
    "dead_reason": (
        "UPDATE {emails} SET status = 'dead', due_at = NULL, dead_reason = 'bored' WHERE id = '{id}'",
        "reason of death 'bored'",
    ),
    "content": ("DELETE FROM {contents} WHERE email_id = '{id}'", "its content is gone"),
}
"""The statement, and what is said of the email afterwards."""


def damage(outbox: Outbox, id: str, what: str) -> None:
    """Have it befall one email; the constraints of a newer version's tables would have let it."""
    statement, _ = DAMAGES[what]
    sqlite = isinstance(outbox.database, SqliteDatabase)
    prefix = "postroom_" if sqlite else "postroom."
    with outbox.database.connection() as connection:
        if sqlite:
            connection.execute("PRAGMA ignore_check_constraints = ON")
        else:
            connection.execute("ALTER TABLE postroom.emails DROP CONSTRAINT IF EXISTS a_known_status")
        done = connection.execute(statement.format(id=id, contents=f"{prefix}contents", emails=f"{prefix}emails"))
        assert done.rowcount == 1
        if sqlite:
            connection.execute("PRAGMA ignore_check_constraints = OFF")
