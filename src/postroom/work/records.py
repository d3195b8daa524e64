"""What is written down about emails on their way: in the journal before anything else, then by the settler.

Shared by the lines of every route, because a process has one journal. What holds at every moment: a dot leaves only
after the journal has noted it and while the lease has time left, and whatever came of it is in the journal before
anything else happens.
"""

from __future__ import annotations

from collections.abc import Callable

from postroom.claim.failpoint import reach
from postroom.claim.leases import Holdings
from postroom.logs import logger
from postroom.send.contract import Report
from postroom.store.contract import Claim, Settlement
from postroom.work.journal import Journal, JournalFailed
from postroom.work.parcel import Parcel
from postroom.work.settler import Settler


class Records:
    """The journal, the leases and the settler, as the lines use them."""

    def __init__(self, *, journal: Journal, holdings: Holdings, settler: Settler, failed: Callable[[], None]) -> None:
        """`failed` is called when the journal cannot be written any more: then nothing may leave."""
        self.made = 0
        """How many attempts have come to an end."""
        self.concluded: Callable[[Settlement], None] = _nobody_asks
        """Told what came of an email, before the database knows."""
        self.journal_failed = False
        self.journal = journal
        self.held = holdings
        self._settler = settler
        self._failed = failed

    def may_leave(self, claim: Claim) -> bool:
        """The last question before an email leaves: is it noted, and is it still ours?

        In this order: were the lease looked at first and the process stopped before the note, somebody who reads the
        journal would take the email for untouched, send it, and ours would follow.
        """
        reach("before_dot")
        try:
            self.journal.note_dot(claim)
        except JournalFailed as error:
            self._fail(error)
            return False
        if self.held.has_time_left(claim):
            self.held.dotted.add(claim)
            return True
        self.journal.note_undone(claim)
        return False

    def keep(self, parcel: Parcel, settled: Settlement, report: Report) -> None:
        """Into the journal first; then it may take its time to reach the database."""
        claim, dotted = settled.claim, self.held.dotted
        if report.dot_left:
            self.journal.note_reply(settled, parcel.claimed.version)
            reach("journalled")
        elif claim in dotted:
            self.journal.note_undone(claim)  # it was noted, and did not leave after all
        self.concluded(settled)
        dotted.discard(claim)
        if parcel.claimed.order is not None and parcel.leaves_no_trace(settled):
            self.journal.forget(claim)
            self.held.let_go(claim)
        else:
            self._settler.add(settled)
        self.made += 1

    def hand_on(self, settled: Settlement) -> None:
        """Tell what came of an email that was not attempted, and have it committed."""
        self.concluded(settled)
        self._settler.add(settled)

    def mend(self) -> bool:
        """Try a journal again that has failed, for somebody may have made room on the disk; whether it is well now."""
        if not self.journal_failed or not self.journal.mend():
            return False
        logger.info("the journal can be written again")
        self.journal_failed = False
        return True

    def _fail(self, error: JournalFailed) -> None:
        if self.journal_failed:
            return
        logger.error("the journal failed: no more emails are claimed", error=str(error))
        self.journal_failed = True
        self._failed()


def _nobody_asks(settled: Settlement) -> None:
    """Most emails are waited for by nobody."""
