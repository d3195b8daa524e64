"""Taking down what came back with all that follows from it: for the email, for the list, for campaigns.

The one way in for messages, so that a campaign stops in the very transaction in which its reason is known. A pressed
link says more than that somebody unsubscribed, and is recorded by `unsubscribing/recording.py`, likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from postroom.campaigns.stopping.following import follow, hold_campaigns
from postroom.campaigns.stopping.mentioned import prospects_called
from postroom.store.notes import UNREADABLE
from postroom.store.plan import Plan
from postroom.store.returns import Note, Noted, Raw, note_returns
from postroom.vocabulary import Return


def record_returns(notes: Sequence[Note], *, raw: Raw | None = None) -> Plan[list[Noted]]:
    """Note what came back, each once, as `note_returns` does, and stop what it stops in campaigns.

    Campaigns are held first, then emails: whoever has both in hand takes them in this order.
    """
    notes = yield from _with_answers(notes)
    answered = [note.address for note in notes if note.what in (Return.REPLIED, Return.UNSUBSCRIBED)]
    held = yield from hold_campaigns(
        emails=[mention.id for note in notes for mention in note.mentions],
        workspaces=[workspace for workspace, _ in (yield from prospects_called(answered))],
    )
    noted = yield from note_returns(notes, raw=raw)
    yield from follow(noted, held)
    return noted


def _with_answers(notes: Sequence[Note]) -> Plan[list[Note]]:
    """What a prospect has written with their own hand is an answer, although nothing else says so (P12).

    People write a letter of their own where they could have pressed «reply». From anybody else it stays what it is.
    """
    found = []
    for note in notes:
        by_hand = note.what == UNREADABLE and bool(note.author)
        if by_hand and (yield from prospects_called([note.author])):
            note = replace(note, what=Return.REPLIED.value, address=note.author, reader="author", problem="")
        found.append(note)
    return found
