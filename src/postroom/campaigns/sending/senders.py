"""Senders that are paused: by a person, or because a server does not take their mail.

Nothing leaves from them meanwhile, not even what is about to; their mail is kept, and nobody else's waits for it. Who
has begun a sequence with a sender goes on with that one, so their mail waits and is not given to another.
"""

from __future__ import annotations

import json

from postroom.campaigns.books.mails import Mail, ring
from postroom.campaigns.drafts import workspace as drafts
from postroom.campaigns.values import Sender
from postroom.logs import logger
from postroom.send.contract import Phase
from postroom.settle.verdict import About
from postroom.store.plan import Plan, ask


def pause_sender(workspace: str, id: str, *, reason: str | None = None) -> Plan[Sender]:
    """Nothing leaves from them any more, but what is being handed over this moment."""
    yield from ring(workspace)
    yield from drafts.get_sender(workspace, id)
    yield from drafts.pause_sender(workspace, id, reason=reason)
    return (yield from drafts.get_sender(workspace, id))


def resume_sender(workspace: str, id: str) -> Plan[Sender]:
    """Let their mail leave again, at once: what was kept asks for its turn, within windows, quota and gap."""
    yield from ring(workspace)
    yield from drafts.get_sender(workspace, id)
    yield from drafts.resume_sender(workspace, id)
    return (yield from drafts.get_sender(workspace, id))


def heed_refusal(workspace: str, mail: Mail) -> Plan[None]:
    """Pause the sender of a mail that has come back, where that is because the server does not take mail from them.

    Asked for what was said since it was last handed out: what a person has heard of and put right is over.
    """
    rows = yield ask("last_failure", id=mail.id, since=mail.left_at)
    for (detail,) in rows:
        said = json.loads(detail or "{}")
        if (said.get("about"), said.get("phase"), said.get("counted")) != (About.SENDER, Phase.MAIL, False):
            continue
        words = " ".join(str(said[name]) for name in ("code", "enhanced", "text") if said.get(name))
        if (yield from drafts.pause_sender(workspace, mail.sender_id, reason=f"refused at MAIL: {words}")):
            logger.warning("a sender of campaigns is paused", workspace=workspace, sender=mail.sender_id, reason=words)
