"""Where a text ends and the email that it quotes begins."""

from __future__ import annotations

import re

from postroom.returns.reading import limits

_HEADER_LINE = re.compile(r"(?:[ >|]{0,4})([A-Za-z][A-Za-z0-9-]{1,50}):")
_BETWEEN = re.compile(r"\n[ \t]*\n")
_DRAWN = re.compile(r"^[ \t>]*[-=*_]{3}.*$", re.MULTILINE)
_KNOWN = frozenset(
    [
        "received",
        "return-path",
        "from",
        "to",
        "subject",
        "date",
        "message-id",
        "mime-version",
        "content-type",
        "reply-to",
        "x-mailer",
        "cc",
        "sender",
        "dkim-signature",
        "x-received",
        "delivered-to",
        "references",
        "in-reply-to",
        "x-originating-ip",
        "user-agent",
        "sent",
    ]
)


def report_and_original(text: str, *, returned: bool = False) -> tuple[str, str]:
    """A text, and the headers of an email that stand in it; the second is empty where there are none.

    What follows those headers is that email, unless it was returned beside the text: then they are an excerpt.
    """
    lines = text.split("\n")[: limits.LINES]
    for number in range(len(lines)):
        if _begins_headers(lines, number):
            block = _block(lines, number)
            excerpt = returned or "sent" in map(_name, block)  # Exchange's «Your message To: … Subject: … Sent: …»
            rest = lines[number + len(block) :] if excerpt else []
            return "\n".join(lines[:number] + rest), "\n".join(map(_plain, block))
    return "\n".join(lines), ""


def paragraphs_of(report: str) -> tuple[str, ...]:
    """What stands between empty lines, without lines that are drawn."""
    lines = [line[: limits.LINE] for line in report.split("\n")[: limits.LINES]]
    return tuple(_BETWEEN.split(_DRAWN.sub("", "\n".join(lines))))


def _begins_headers(lines: list[str], at: int) -> bool:
    """Whether headers begin here: three that every email has, within the next lines. One alone may be prose."""
    if _name(lines[at]) not in _KNOWN:
        return False
    names: set[str] = set()
    for line in lines[at : at + 40]:
        if not line.strip():
            break
        names.add(_name(line))
    return len(names & _KNOWN) >= 3


def _name(line: str) -> str:
    found = _HEADER_LINE.match(line[: limits.LINE])
    return found[1].lower() if found else ""


def _block(lines: list[str], at: int) -> list[str]:
    end = next((number for number in range(at, len(lines)) if not lines[number].strip()), len(lines))
    return lines[at:end]


def _plain(line: str) -> str:
    """A header without the marks that quote it; a folded line stays one."""
    folded = line[:1] in " \t" and not _name(line)
    return (line if folded else line.lstrip(" >|"))[: limits.HEADER]
