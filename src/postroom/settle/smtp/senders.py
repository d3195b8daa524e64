"""What a refusal at MAIL means for mail that leaves from one of several senders, as that of campaigns does.

An application says with each email who it is from, so a refusal of that address is a matter of that email, or of the
account it is sent by. A campaign has said once who it is from: what the server says to one of its mails at MAIL, it
says to all of that sender, and to nobody else's. So the mail is kept as it came, no attempt is counted, and the
transport, by which others send, is left alone; whoever knows the sender draws the conclusion.

    a login that is wanted or refused, a quota     the transport's, as ever
    the message is too large                       the email's, as ever
    any other 5xx at MAIL                          the sender's
"""

from __future__ import annotations

from dataclasses import replace

from postroom.send.contract import Phase, Reply, Report
from postroom.settle.classification import Classification, Classify
from postroom.settle.smtp.judge import permanent
from postroom.settle.verdict import About, Fate

_SIZE = ("5.3.4", "5.2.3")
_OUT_OF_STEP = 503


def of_a_sender(classify: Classify) -> Classify:
    """The same for mail of one of several senders: what is refused because of who it is from is kept."""

    def classified(report: Report) -> Classification:
        meaning = classify(report)
        return _kept(meaning) if _refuses_sender(meaning) else meaning

    return classified


def _refuses_sender(meaning: Classification) -> bool:
    cause = meaning.cause
    if not isinstance(cause, Reply) or cause.phase is not Phase.MAIL or not permanent(cause) or meaning.blameless:
        return False
    if cause.code in (552, _OUT_OF_STEP) or (cause.enhanced or "").startswith(_SIZE):
        return False
    return meaning.about is About.SENDER or any(heard.fate is Fate.REFUSED for heard in meaning.recipients)


def _kept(meaning: Classification) -> Classification:
    return replace(
        meaning,
        recipients=tuple(replace(heard, fate=Fate.DEFERRED) for heard in meaning.recipients),
        about=About.SENDER,
        transport=None,
        counts=False,
    )
