"""What is written when somebody unsubscribes, and when they take it back.

Both may happen any number of times, one after the other or at once: what holds afterwards is the same.
"""

from __future__ import annotations

from postroom.campaigns.stopping.following import hold_campaigns
from postroom.campaigns.stopping.suppressing import suppress_in_campaigns
from postroom.returns.unsubscribing.asking import Wish
from postroom.sealing import Ticket
from postroom.store.plan import Plan
from postroom.store.returns import Mention, Note, note_returns
from postroom.store.suppressions import (
    Stop,
    Suppression,
    normal_address,
    suppressions_of,
    unsuppress,
)
from postroom.vocabulary import Return, SuppressionReason, SuppressionScope

EVIDENCE = {
    Wish.ONE_CLICK: "one-click, by the header of the email (RFC 8058)",
    Wish.ALL: "one-click, on the page behind the link",
    Wish.KIND: "on the page behind the link: emails of this kind alone",
}


def unsubscribed(ticket: Ticket, wish: Wish) -> Plan[Suppression]:
    """Stop what can be unsubscribed from: in the workspace of the email, or of its kind where only that is wished.

    Once this has committed, no such email goes to the address any more, and campaigns have stopped for it. The one
    place that records it: as an entry, and as something that came back about the email, once for each email and
    address.
    """
    yield from hold_campaigns(emails=[ticket.email_id], workspaces=[ticket.workspace])  # before the email is
    yield from note_returns([_note(ticket)])
    only_kind = wish is Wish.KIND and bool(ticket.kind)
    stop = Stop(
        address=ticket.address,
        reason=SuppressionReason.UNSUBSCRIBE,
        scope=SuppressionScope.KIND if only_kind else SuppressionScope.WORKSPACE,
        workspace=ticket.workspace,
        kind=ticket.kind if only_kind else "",
        evidence=EVIDENCE[wish],
        email_id=ticket.email_id,
    )
    [entry] = yield from suppress_in_campaigns([stop], reason=Return.UNSUBSCRIBED.value)
    return entry


def _note(ticket: Ticket) -> Note:
    """A ticket was sealed by us, so what it says of the email is as good as a signature."""
    return Note(
        source="unsubscribe",
        source_id=f"{ticket.email_id} {normal_address(ticket.address)}",
        what=Return.UNSUBSCRIBED,
        mentions=(Mention(id=ticket.email_id, signed=True),),
        address=ticket.address,
    )


def resubscribed(ticket: Ticket) -> Plan[list[Suppression]]:
    """Take away what was recorded through this very link, and nothing that anything else has led to."""
    known = yield from suppressions_of([ticket.address])
    entries = known.get(normal_address(ticket.address), [])
    return (yield from unsuppress([entry.id for entry in entries if _made_by(ticket, entry)]))


def _made_by(ticket: Ticket, entry: Suppression) -> bool:
    return (
        entry.reason is SuppressionReason.UNSUBSCRIBE
        and entry.scope is not SuppressionScope.ALL
        and entry.workspace == ticket.workspace
        and entry.kind in ("", ticket.kind)
        and entry.email_id == ticket.email_id
    )
