"""What happened, as a sentence for people.

No sentence holds an email address, though servers like to repeat them in their replies.
"""

from __future__ import annotations

import re

from postroom.send.contract import Fault, FaultKind, Phase, Reply
from postroom.vocabulary import DeadReason

_WHERE = {
    Phase.CONNECT: "while connecting",
    Phase.GREETING: "at the greeting",
    Phase.TLS: "while starting TLS",
    Phase.HELLO: "at EHLO",
    Phase.AUTH: "while signing in (AUTH)",
    Phase.MAIL: "at MAIL",
    Phase.RCPT: "at RCPT",
    Phase.DATA: "at DATA",
    Phase.BODY: "during the upload",
    Phase.DOT: "at the final dot",
    Phase.ANSWER: "while waiting for the answer",
}
_WHAT = {
    FaultKind.REFUSED: "no connection",
    FaultKind.TIMEOUT: "no answer in time",
    FaultKind.CUT: "the connection was cut",
    FaultKind.PROTOCOL: "the server did not keep to the protocol",
    FaultKind.TLS: "TLS failed",
    FaultKind.CONFIGURATION: "the settings do not fit the server",
    FaultKind.TOO_LARGE: "the message is larger than the server takes",
    FaultKind.NEEDS_SMTPUTF8: "an address needs SMTPUTF8 and the server does not offer it",
    FaultKind.FORBIDDEN: "not allowed",
    FaultKind.ABANDONED: "given back before the final dot, as the claim was no longer safe",
}
# The bounds keep the search linear; an address may be 64 + 1 + 255 characters long, or encoded into a longer one.
_ADDRESS = re.compile(r'<?(?:"[^"\s]{1,64}"|[^\s<>@,;:"]{1,256})@[^\s<>@,;"]{1,256}>?')
HIDDEN = "(address)"
"""In the place of an address that was taken out."""

MAY_HAVE_ARRIVED = "it may have arrived"


def without_addresses(text: str) -> str:
    """The text with everything that looks like an email address taken out."""
    return _ADDRESS.sub(HIDDEN, text) if "@" in text else text


def describe(cause: Reply | Fault) -> str:
    """`refused at RCPT: 550 5.1.1 No such user`, `no connection while connecting: …`, `answered with 404 …`."""
    where = _WHERE[cause.phase]
    if isinstance(cause, Fault):
        said = f"{cause.enhanced} {cause.text}" if cause.enhanced else cause.text
        return without_addresses(f"{_WHAT[cause.kind]} {where}: {said}".removesuffix(": "))
    if cause.phase is Phase.ANSWER:  # over HTTP, 4xx and 5xx mean other things
        return without_addresses(f"answered with {cause}")
    verb = "refused" if cause.code >= 500 else "deferred" if cause.code >= 400 else "answered"
    return without_addresses(f"{verb} {where}: {cause}")


def describe_partial(words: str, failed: int, recipients: int) -> str:
    """The same, when the other recipients were accepted."""
    return f"{words} ({failed} of {recipients} recipients)"


def given_up_because(reason: DeadReason, attempts: int) -> str | None:
    """Why it is not tried again, where the error itself does not tell."""
    if reason is DeadReason.EXPIRED:
        return "it can no longer be sent in time"
    if reason is DeadReason.MAX_ATTEMPTS and attempts:
        return f"given up after {attempts} attempt{'s' if attempts > 1 else ''}"
    return None
