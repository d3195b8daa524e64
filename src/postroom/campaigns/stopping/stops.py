"""What stops a person's mail: their own wish, a bounce, a complaint, an answer.

A stop is recorded in one transaction: what waits is stopped with its reason, what waits for another attempt is
cancelled, and the enrolment says how it ended. What a worker has in hand is asked about once more before it leaves; so
nothing leaves after a stop was recorded, but what was handed over before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.campaigns.books.mails import ring
from postroom.campaigns.drafts.prospects import find_prospect
from postroom.store import acts
from postroom.store.plan import Plan, ask
from postroom.store.suppressions import Suppression
from postroom.vocabulary import EmailId, EnrolmentStatus, SuppressionReason

_ENDS = {
    SuppressionReason.UNSUBSCRIBE: EnrolmentStatus.UNSUBSCRIBED,
    SuppressionReason.HARD_BOUNCE: EnrolmentStatus.BOUNCED,
    SuppressionReason.COMPLAINT: EnrolmentStatus.COMPLAINED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What a stop has stopped."""

    campaigns: tuple[str, ...] = ()
    """In which an enrolment ended."""
    mails: int = 0
    """That had not left."""
    cancelled: tuple[EmailId, ...] = ()
    """Emails that waited for another attempt."""

    def __bool__(self) -> bool:
        return bool(self.campaigns or self.mails or self.cancelled)


def stop_prospect(
    workspace: str,
    address: str,
    reason: str,
    *,
    campaign: str | None = None,
    ends: EnrolmentStatus = EnrolmentStatus.STOPPED,
) -> Plan[Stopped]:
    """Send nothing more to an address: of one campaign, or of the whole workspace; what that has stopped.

    `reason` stands beside everything it stops; `ends` is how the enrolments end. Said again, it stops nothing more.
    """
    yield from ring(workspace)
    prospect = yield from find_prospect(workspace, address)
    if prospect is None:
        return Stopped()
    return (yield from stop_enrolments(workspace, reason, prospect=prospect.id, campaign=campaign, ends=ends))


def stop_for(workspace: str, prospect: str, entry: Suppression, *, reason: str | None = None) -> Plan[Stopped]:
    """The same for a prospect of whom an entry says so; the caller holds the workspace.

    `reason` is what the stopped mails say; otherwise they name the entry.
    """
    return (
        yield from stop_enrolments(workspace, reason or f"suppressed: {entry}", prospect=prospect, ends=ends_by(entry))
    )


def ends_by(entry: Suppression) -> EnrolmentStatus:
    """How enrolments end by an entry."""
    return _ENDS.get(entry.reason, EnrolmentStatus.STOPPED)


def forget_covered(workspace: str, prospect: str) -> Plan[None]:
    """Nothing is left to be concluded of entries about a prospect: all of theirs has been stopped just now."""
    yield ask("forget_covered_of", workspace=workspace, prospect=prospect)


def stop_enrolments(
    workspace: str, reason: str, *, prospect: str, campaign: str | None = None, ends: EnrolmentStatus
) -> Plan[Stopped]:
    """Stop a prospect: in one campaign or, where none is named, in the workspace. The caller holds the workspace."""
    whose = {"workspace": workspace, "prospect": prospect, "campaign": campaign}
    enrolments = yield ask("end_enrolments_of_prospect", **whose, status=ends, reason=reason)
    stopped = yield ask("stop_mails_of_prospect", **whose, reason=reason)
    emails = yield ask("emails_of_prospect", **whose)
    waiting = [EmailId(id) for (id,) in emails]
    cancelled = yield from acts.cancel(waiting, actor=None, strict=False)
    campaigns = tuple(sorted({row[0] for row in (*enrolments, *stopped)}))
    yield from _complete(workspace, campaigns)
    return Stopped(campaigns=campaigns, mails=len(stopped), cancelled=tuple(cancelled))


def _complete(workspace: str, campaigns: Sequence[str]) -> Plan[None]:
    """Those are over of whom nobody is left; one that was cancelled stays so."""
    for campaign in campaigns:
        yield ask("complete_campaign", workspace=workspace, campaign=campaign)
