"""A server that says in the session that there is no such mailbox: a hard bounce, told before instead of after the dot.

It is noted like one that comes as a report, once for each email and recipient, and everything that follows from such a
report follows (P12). What the class of a report is decided by decides here, too: a policy, a block, a full mailbox, a
refused sender or a relay that will not relay says nothing about the mailbox, nor does a server that names the sender's
domain and not the recipient's; then nothing follows but that the mail is dead.

The caller holds the workspace, and draws the conclusion with all others from what became of the mail: killed before
that commits, it is drawn again; drawn again, it is known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from postroom.campaigns.stopping.following import follow
from postroom.claim.failpoint import reach
from postroom.compose.frozen import recipients_in, senders_in
from postroom.send.contract import Reply
from postroom.send.guarded import REDIRECTED
from postroom.settle.bounces.session import class_of_refusal
from postroom.settle.history import reply_in
from postroom.store.notes import SESSION, Mention, Note
from postroom.store.plan import Plan, ask
from postroom.store.returns import note_returns
from postroom.store.suppressions import normal_address
from postroom.store.unreadable import DAMAGE
from postroom.vocabulary import BounceClass, EmailId, Return

_DOMAIN = re.compile(r"(?<![\w.-])(?:[\w-]{1,63}\.){1,10}[\w-]{2,63}(?![\w-])")
"""A domain, or the name of a host; addresses were taken out of what is looked at."""


def hear_refusal(workspace: str, id: EmailId) -> Plan[bool]:
    """Draw the conclusions from what was said to an email that was refused for good.

    False, and nothing is done, if somebody else has the email in hand just now: ask again. Waiting for them would have
    two transactions wait for each other, for whoever changes the email changes its mail.
    """
    rows = yield ask("refusal", id=id)
    for reply, envelope in rows:
        note = note_of_refusal(id, reply, envelope)
        if note is not None:
            yield from follow((yield from note_returns([note])), (workspace,))
            reach("campaign_refused")
    return bool(rows)


def note_of_refusal(id: EmailId, entry: str | None, envelope: str | None) -> Note | None:
    """What is to be noted of the last conversation about an email, as its history has it; None if nothing follows."""
    try:
        reply = reply_in(json.loads(entry or "{}"))
        recipients = recipients_in(envelope) if envelope else ()
        senders = senders_in(envelope) if envelope else ()
    except DAMAGE:
        return None
    # Of several, each has a reply of their own, which is not this one.
    if reply is None or len(recipients) != 1 or not _is_about_the_mailbox(reply, recipients[0], senders):
        return None
    return Note(
        source=SESSION,
        source_id=f"{id} {normal_address(recipients[0])}",
        what=Return.BOUNCED,
        mentions=(Mention(id=id, signed=True),),
        address=recipients[0],
        bounce_class=BounceClass.PERMANENT,
        status=reply.enhanced or "",
        code=reply.code,
        text=str(reply),
        reader=SESSION,
    )


def _is_about_the_mailbox(reply: Reply, recipient: str, senders: Iterable[str]) -> bool:
    """Of somebody whose mail is redirected, the server has not been asked."""
    if REDIRECTED in reply.text or class_of_refusal(reply) is not BounceClass.PERMANENT:
        return False
    named = set(_DOMAIN.findall(reply.text.lower()))
    return _domain(recipient) in named or named.isdisjoint(map(_domain, senders))


def _domain(address: str) -> str:
    return address.rpartition("@")[2].lower()
