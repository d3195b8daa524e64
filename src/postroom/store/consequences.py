"""What follows from what came back: who is not to be mailed any more. Pure.

Two things have a consequence: a mailbox that does not exist, and a reader who has called an email spam. A full mailbox,
a policy, a block, an absence and an answer have none. And a return has one only where it is known to be about an email
of ours and about somebody whom that email was for: otherwise anybody could have strangers taken off a list, with a
message that looks like a bounce.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroom.errors import InvalidEmail
from postroom.store.suppressions import Stop
from postroom.vocabulary import BounceClass, EmailId, Return, SuppressionReason, SuppressionScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """A return that is about an email of ours."""

    what: Return
    email_id: EmailId
    workspace: str
    address: str
    """Of the recipient."""
    certain: bool
    """The return names this recipient, or, naming nobody, bears a token of an email that was for them alone."""
    objected: bool = False
    """Of a complaint: it is the reader's own, and not a report by a machine."""
    bounce_class: BounceClass | None = None
    status: str = ""
    code: int | None = None


def stop_after(matched: Matched) -> Stop | None:
    """The entry that keeps further emails from the recipient; None where nothing follows."""
    reason = _reason(matched)
    if reason is None or not (matched.certain and matched.address):
        return None
    try:
        return Stop(
            address=matched.address,
            reason=reason,
            scope=SuppressionScope.WORKSPACE,
            workspace=matched.workspace,
            evidence=_evidence(matched),
            email_id=matched.email_id,
        )
    except InvalidEmail:  # an address that no list can hold, such as one in quotes: the return is recorded all the same
        return None


def _reason(matched: Matched) -> SuppressionReason | None:
    if matched.what is Return.BOUNCED and matched.bounce_class is BounceClass.PERMANENT:
        return SuppressionReason.HARD_BOUNCE
    if matched.what is Return.COMPLAINED and matched.objected:
        return SuppressionReason.COMPLAINT
    return None


def _evidence(matched: Matched) -> str:
    if matched.what is Return.COMPLAINED:
        return "the reader has called it spam"
    said = " ".join(str(part) for part in (matched.code, matched.status) if part)
    return f"bounced for good: {said}" if said else "bounced for good"
