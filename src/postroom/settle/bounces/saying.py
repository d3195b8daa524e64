"""What a text says of one failure: enhanced status, reply code, and to which command the other end replied."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

JUDGED = 4_000
"""Characters that are looked at: whoever can send us mail chooses how many there are."""

_STATUS = re.compile(r"(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")
_LIKELY = re.compile(
    r"(?:said|says|response|error|reply|code|host|smtp|status|data|rcpt|reason|<<<)"
    r"[^\n]{0,60}?(?<![\w.:/-])([45]\d\d)(?=[\s\-:;,)\]>#<(]|$)",
    re.IGNORECASE,
)
_STRONG = re.compile(r"(?<![\w./-])([45]\d\d)[\s-]{1,3}[#(]?(?=[245]\.\d{1,3}\.\d{1,3}(?![\d.]*\d))")
_AT_BEGINNING = re.compile(r"^[ \t<>:*;(]{0,12}([45]\d\d)(?=[\s\-:;,)\]>#<(])", re.MULTILINE)
_END = re.compile(r"\n[ \t]*\n|\n[ \t]*>>>|\n[ \t<]*(?=[245]\d\d )")
"""Where the words end: with the paragraph, the next command, the next reply."""
# What a large provider in Japan says to the content of mail that it does not want: nobody is named.
_NOBODY = re.compile(r"\b55\d:? {1,2}: ?user unknown")


class Phase(StrEnum):
    """What the other end replied to. «No such user» as a reply to the content is said of the content."""

    UNKNOWN = ""
    RECIPIENT = "recipient"
    DATA = "data"
    """The announcement of the content: of who says everything at once, a recipient may be refused as late as this."""
    CONTENT = "content"
    SENDER = "sender"


_CONTENT = re.compile(
    r"end of data|after (?:i sent the message|sending (?:the )?data)|after \.|>>> (?:bdat|\.)\s|failed after i sent"
    r"|message content|final delivery dot"
)
_DATA = re.compile(
    r"reply to (?:the )?data|after data|>>> data\s|response to data|data command|data send|smtp:data"
    r"|did not like our data|smtp command\s+data|text command"
)
_SENDER = re.compile(
    r"reply to mail from|after mail from|after pipelined mail from|>>> mail from|did not like our mail from"
    r"|response to mail from|does not like sender|smtp command\s+mail|on mail from|smtp:mail"
)
_RECIPIENT = re.compile(
    r"reply to rcpt|after rcpt|after pipelined rcpt|>>> rcpt|does not like recipient|did not like our rcpt"
    r"|response to rcpt|rcpt to command|smtp:rcpt|rcpt to:? ?<|on rcpt|rcpt host|mail from/rcpt to|for rcpt"
    r"|smtp command\s+rcpt|step: rcpt|after sending rcpt|during rcpt|at rcpt|rcptto|rcpt to generated"
    r"|\b[45]\d\d rcpt \S"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What was said, as far as it was."""

    text: str = ""
    reply: str = ""
    """Of the text, what begins with a reply code or a status: the other end's own words."""
    status: str = ""
    code: int | None = None
    phase: Phase = Phase.UNKNOWN


def one_line(text: str) -> str:
    """A text without its line breaks, at most so long as is looked at."""
    return " ".join(text[:JUDGED].split())


def saying(text: str) -> Saying:
    """What a text says, if anything."""
    line = one_line(text)
    return Saying(
        text=line,
        reply=reply_in(text),
        status=status_in(line),
        code=code_in(text[:JUDGED]),
        phase=phase_in(line),
    )


def reply_in(text: str) -> str:
    """The other end's own words: from a code or status on, to the end of the paragraph."""
    text = text[:JUDGED]
    begin = _STRONG.search(text) or _STATUS.search(text) or _LIKELY.search(text) or _AT_BEGINNING.search(text)
    return one_line(_END.split(text[begin.start(1) :], maxsplit=1)[0]) if begin else ""


def status_in(text: str) -> str:
    """The first enhanced status code that tells more than its class, else the first."""
    found = _STATUS.findall(text[:JUDGED])
    telling = [each for each in found if not each.endswith(".0.0")]
    return str((telling or found or [""])[0])


def code_in(text: str) -> int | None:
    """The reply code: the one before an enhanced status, else behind a word for a reply, else at a line's beginning."""
    text = text[:JUDGED]
    if found := _STRONG.search(text) or _LIKELY.search(text):
        return int(found[1])
    begin = _AT_BEGINNING.search(text)
    return int(begin[1]) if begin else None


def phase_in(text: str) -> Phase:
    """What the other end replied to, where the text tells."""
    lower = text[:JUDGED].lower()
    if _CONTENT.search(lower) or _NOBODY.search(lower):
        return Phase.CONTENT
    if _DATA.search(lower):
        return Phase.DATA
    if _RECIPIENT.search(lower):
        return Phase.RECIPIENT
    return Phase.SENDER if _SENDER.search(lower) else Phase.UNKNOWN
