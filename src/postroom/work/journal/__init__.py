"""A worker's own memory of dots and replies, on the local disk.

Between the final dot and the commit that records it lies the only moment in which an email can be sent and nobody
know. The database may be away just then, or the process may be killed. So each worker keeps a journal:

    dot        written before the final dot leaves: from here on the email may be out
    undone     the dot did not leave after all
    reply      what the attempt came to, written as soon as the reply is read

Records are copied into a file that is mapped into memory and whose blocks are there already (`segment.py`): no system
call for an email, and a full disk is an error rather than a signal. What was copied is the kernel's: it survives
`kill -9`; it is not synced to the platter for every email. After a power cut a record may therefore be missing: the
journal knows under which start of the machine it was written, and one from before counts for what it says, never for
what it does not say. Such an email is in doubt.

The same holds for a journal that is damaged, cannot be read, or was written by a later version (`record.py`,
`memory.py`): what can be read counts, and everything else it may have held is in doubt. Nothing in a journal stops
whoever reads it.

The file is locked for as long as its worker lives (`lock.py`). Whoever gets the lock holds a dead worker's last words
(`last_words.py`), and can settle its emails at once: sent where a reply is noted, in doubt where only the dot is,
untouched where neither is.

What the server accepted is kept for a while after the database knows it, because a database may forget: a failover to a
replica that had not heard of the last commits gives out again what was sent (`postroom.work.lost_commits`).
"""

from postroom.errors import JournalFailed
from postroom.work.journal.last_words import LastWords, last_words
from postroom.work.journal.lock import boot, has_journal
from postroom.work.journal.memory import Memory, accepted_in, read_memory
from postroom.work.journal.place import journal_folder, worker_name, workers_in
from postroom.work.journal.writing import KEEP_BYTES, KEEP_SECONDS, SEGMENT, Journal

__all__ = [
    "KEEP_BYTES",
    "KEEP_SECONDS",
    "SEGMENT",
    "Journal",
    "JournalFailed",
    "LastWords",
    "Memory",
    "accepted_in",
    "boot",
    "has_journal",
    "journal_folder",
    "last_words",
    "read_memory",
    "worker_name",
    "workers_in",
]
