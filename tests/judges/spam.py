"""SpamAssassin: how much an email looks like spam, by local tests alone."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from email import message_from_string, policy
from functools import partial
from pathlib import Path

from tests.judges.letters import Judged
from tests.judges.verdict import Verdict

HIGHEST = 1.0
"""Filters usually refuse at 5."""
AT_ONCE = 2

_STATUS = re.compile(r"score=(-?[\d.]+) .*tests=(.*?) autolearn=")


def judge(letters: list[Judged]) -> Verdict:
    """Every email's score."""
    verdict = Verdict()
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(AT_ONCE) as threads:
        scores = list(threads.map(partial(_score, home=home), letters))
    for letter, (score, tests) in zip(letters, scores, strict=True):
        verdict.scores[letter.name] = score
        if score >= HIGHEST:
            verdict.fail(letter.name, "spamassassin", f"{score} points: {tests}")
    return verdict


def _score(letter: Judged, *, home: str) -> tuple[float, str]:
    """Its points and what they are for. A program for each: one that reads several remembers of those before."""
    preferences = Path(home, "preferences")
    preferences.touch()
    said = subprocess.run(
        # -L: nobody is asked over the network. -t: it is written out what was found.
        ["spamassassin", "-L", "-t", "--cf=use_bayes 0", f"--prefspath={preferences}"],
        input=letter.mime().replace(b"\r\n", b"\n"),
        env={**os.environ, "HOME": home},
        capture_output=True,
        check=False,
    )
    marked = message_from_string(said.stdout.decode("utf-8", "replace"), policy=policy.default)
    found = _STATUS.search(" ".join(str(marked["X-Spam-Status"]).split()))
    if said.returncode or found is None:
        raise SystemExit(f"SpamAssassin could not judge {letter.name}:\n{said.stderr.decode()}")
    return float(found[1]), found[2]
