"""SpamAssassin: how much an email looks like spam, by local tests alone."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from email import message_from_string, policy
from pathlib import Path

from tests.judges.letters import Judged
from tests.judges.verdict import Verdict

HIGHEST = 1.0
"""Filters usually refuse at 5."""

_STATUS = re.compile(r"score=(-?[\d.]+) .*tests=(.*?) autolearn=")
_BETWEEN = b"From postroom@example.org Wed Nov 18 09:12:00 2026\n"


def judge(letters: list[Judged]) -> Verdict:
    """Every email's score."""
    verdict = Verdict()
    scores = dict(_scores(letters))
    for letter in letters:
        score, tests = scores[letter.message_id]
        verdict.scores[letter.name] = score
        if score >= HIGHEST:
            verdict.fail(letter.name, "spamassassin", f"{score} points: {tests}")
    return verdict


def _scores(letters: list[Judged]) -> Iterator[tuple[str, tuple[float, str]]]:
    """Points and what they are for, by Message-ID: in one run, which takes seconds to begin and keeps no order."""
    with tempfile.TemporaryDirectory() as home:
        box, preferences = Path(home, "box"), Path(home, "preferences")
        box.write_bytes(b"".join(map(_boxed, letters)))
        preferences.touch()
        said = subprocess.run(
            # -L: nobody is asked over the network. -t: what was found is written into the message.
            ["spamassassin", "-L", "-t", "--mbox", "--cf=use_bayes 0", f"--prefspath={preferences}", str(box)],
            env={**os.environ, "HOME": home},
            capture_output=True,
            check=False,
        )
    if said.returncode:
        raise SystemExit(f"SpamAssassin could not judge:\n{said.stderr.decode()}")
    for message in said.stdout.split(_BETWEEN)[1:]:
        yield _score(message.decode("utf-8", "replace"))


def _boxed(letter: Judged) -> bytes:
    """As an mbox wants it: with the line ends of Unix, and nothing that looks like the beginning of the next."""
    message = letter.mime().replace(b"\r\n", b"\n")
    return _BETWEEN + re.sub(rb"^(>*From )", rb">\1", message, flags=re.MULTILINE) + b"\n\n"


def _score(message: str) -> tuple[str, tuple[float, str]]:
    marked = message_from_string(message, policy=policy.default)
    found = _STATUS.search(" ".join(str(marked["X-Spam-Status"]).split()))
    if found is None:
        raise SystemExit(f"SpamAssassin gave no score:\n{message[:2000]}")
    return str(marked["Message-ID"]), (float(found[1]), found[2].replace(", ", ","))
