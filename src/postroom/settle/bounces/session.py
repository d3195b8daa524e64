"""A refusal in the session, read as a report would have told it: the same words, before instead of after the dot."""

from __future__ import annotations

from postroom.send.contract import Phase as SessionPhase
from postroom.send.contract import Reply
from postroom.settle.bounces.classing import bounce_class
from postroom.settle.bounces.saying import Phase, Saying, one_line, status_in
from postroom.settle.wording import HIDDEN
from postroom.vocabulary import BounceClass

_PHASES = {
    SessionPhase.RCPT: Phase.RECIPIENT,
    SessionPhase.DATA: Phase.DATA,
    SessionPhase.BODY: Phase.CONTENT,
    SessionPhase.DOT: Phase.CONTENT,
}
"""What was said before it concerns the sender or the connection, and nobody's mailbox."""


def class_of_refusal(reply: Reply) -> BounceClass:
    """Whether the address can ever get mail, by what its server, or the one that relays for us, has said."""
    if reply.phase is SessionPhase.ANSWER:  # over HTTP, where these codes mean other things
        return BounceClass.UNDETERMINED
    return bounce_class(said_in_session(reply))


def said_in_session(reply: Reply) -> Saying:
    """The reply as a saying. Addresses that were taken out of it say as little as they did."""
    line = one_line(str(reply).replace(HIDDEN, " "))
    return Saying(
        text=line,
        reply=line,
        status=reply.enhanced or status_in(line),
        code=reply.code,
        phase=_PHASES.get(reply.phase, Phase.SENDER),
    )
