"""Where a text ends and the email that it quotes begins."""

from __future__ import annotations

import re

from postroom.returns.reading import limits

_HEADER_LINE = re.compile(r"(?:[ >|]{0,4})([A-Za-z][A-Za-z0-9-]{1,50}):")
_KNOWN = frozenset(
    "received return-path from to subject date message-id mime-version content-type reply-to x-mailer cc sender "
    "dkim-signature x-received delivered-to references in-reply-to x-originating-ip user-agent".split()
)


def report_and_original(text: str) -> tuple[str, str]:
    """A text, and the headers of an email that stand at its end; the second is empty where there are none."""
    lines = text.split("\n")[: limits.LINES]
    for number in range(len(lines)):
        if _begins_headers(lines, number):
            return "\n".join(lines[:number]), _block(lines, number)
    return "\n".join(lines), ""


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


def _block(lines: list[str], at: int) -> str:
    block: list[str] = []
    for line in lines[at:]:
        if not line.strip():
            break
        folded = line[:1] in " \t" and not _name(line)
        block.append(line[: limits.HEADER] if folded else line.lstrip(" >|")[: limits.HEADER])
    return "\n".join(block)
