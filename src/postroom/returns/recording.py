"""Taking down what came back with all that follows from it: for the email, for the list, for campaigns.

The one way in for messages, so that a campaign stops in the very transaction in which its reason is known. A pressed
link says more than that somebody unsubscribed, and is recorded by `unsubscribing/recording.py`, likewise.
"""

from __future__ import annotations

from collections.abc import Sequence

from postroom.campaigns.stopping.following import follow, hold_campaigns
from postroom.campaigns.stopping.mentioned import prospects_called
from postroom.store.plan import Plan
from postroom.store.returns import Note, Noted, Raw, note_returns
from postroom.vocabulary import Return


def record_returns(notes: Sequence[Note], *, raw: Raw | None = None) -> Plan[list[Noted]]:
    """Note what came back, each once, as `note_returns` does, and stop what it stops in campaigns.

    Campaigns are held first, then emails: whoever has both in hand takes them in this order.
    """
    answered = [note.address for note in notes if note.what == Return.REPLIED]
    held = yield from hold_campaigns(
        emails=[mention.id for note in notes for mention in note.mentions],
        workspaces=[workspace for workspace, _ in (yield from prospects_called(answered))],
    )
    noted = yield from note_returns(notes, raw=raw)
    yield from follow(noted, held)
    return noted
