"""Sendmail's transcript of a session: commands behind `>>>`, replies behind `<<<`, and what it makes of them."""

from __future__ import annotations

import re

from postroom.returns.reading import limits

_GUESS = re.compile(
    r"^([ \t]*<<< [^\n]*\n)[ \t]*5\d\d[ -](?:5\.\d{1,3}\.\d{1,3} )?"
    r"<?[^\s<>@]{1,200}@[^\s<>]{1,200}>?\.\.\. user unknown[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
"""What it makes of every 550, 551 and 553 that it hears about a recipient, right behind what it has heard."""


def without_guesses(report: str) -> str:
    """A report with the other end's replies, and without what sendmail makes of them."""
    return _GUESS.sub(r"\1", report)


def replies_to_recipients(report: str) -> frozenset[str]:
    """Lines that were said in reply to RCPT, and to no other command."""
    said: dict[bool, set[str]] = {True: set(), False: set()}
    of_recipient = False
    for line in report.split("\n")[: limits.LINES]:
        told = line[: limits.LINE].strip()
        if told.startswith(">>>"):
            of_recipient = told[3:].lstrip()[:4].upper() == "RCPT"
        elif told.startswith("<<<"):
            said[of_recipient].add(" ".join(told[3:].split()))
    return frozenset(said[True] - said[False] - {""})
