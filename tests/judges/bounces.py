"""Real messages that came back, and what another program reads out of them.

They are data beside the project, and not a part of it: without them this judge is silent, and says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from postroom.returns.reading import Reading, Unclear, read
from postroom.vocabulary import BounceClass, Return

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "judges" / "bounces"
LOWEST = 0.92
"""Of recipients that must be right, and of classes where the recipient is."""


@dataclass(slots=True)
class Score:
    """How one reader fared."""

    messages: int = 0
    recipients: int = 0
    """Messages of which every recipient was found, and nobody else."""
    judged: int = 0
    """Messages of which the class was compared: those whose recipients are right."""
    classes: int = 0
    coded: int = 0
    """Of those, messages for which a reply code is known."""
    codes: int = 0
    wrong: list[str] = field(default_factory=list)
    """Messages from which an address would be suppressed that is neither dead nor has complained."""

    def add(self, other: Score) -> None:
        self.messages += other.messages
        self.recipients += other.recipients
        self.judged += other.judged
        self.classes += other.classes
        self.coded += other.coded
        self.codes += other.codes
        self.wrong += other.wrong

    def row(self, name: str) -> str:
        """A line of the table."""
        recipients, classes = _share(self.recipients, self.messages), _share(self.classes, self.judged)
        codes = _share(self.codes, self.coded)
        return f"{name:<12}{self.messages:>9}{recipients:>20}{classes:>20}{codes:>20}{len(self.wrong):>20}"

    @property
    def passes(self) -> bool:
        """Whether it is as good as it has to be; no consequence hangs on a code."""
        enough = self.recipients >= LOWEST * self.messages and self.classes >= LOWEST * self.judged
        return enough and not self.wrong


def judge(corpus: Path = CORPUS) -> bool:
    """Print how the messages were read; whether that is good enough. Where there are none, it is."""
    expected = corpus / "expected.json"
    if not expected.is_file():
        print(f"bounces: not judged, for there are no messages in {corpus}")
        return True
    scores, whole = _scores(corpus / "mails", json.loads(expected.read_text("utf-8")))
    columns = ("recipients right", "class right", "code right", "wrong suppressions")
    print(f"{'reader':<12}{'messages':>9}{''.join(f'{column:>20}' for column in columns)}")
    for name, score in sorted(scores.items()):
        print(score.row(name))
    print(whole.row("all"))
    for name in whole.wrong:
        print(f"FAILED {name}: it would suppress an address for nothing")
    return whole.passes


def _scores(mails: Path, expected: dict[str, list[dict[str, Any]]]) -> tuple[dict[str, Score], Score]:
    scores: dict[str, Score] = {}
    whole = Score()
    for name, wanted in expected.items():
        reading = read((mails / name).read_bytes())
        score = compare(name, reading, wanted)
        scores.setdefault(reading.reader or Unclear.UNREADABLE.value, Score()).add(score)
        whole.add(score)
    return scores, whole


def compare(name: str, reading: Reading, wanted: list[dict[str, Any]]) -> Score:
    """One message: a list without recipients means that it is no report."""
    hard = {each["recipient"].lower(): bool(each["hard"]) for each in wanted}
    found = {each.address: each.bounce_class is BounceClass.PERMANENT for each in reading.recipients}
    right = Counter(found.keys()) == Counter(hard.keys()) if wanted else not any(_suppressed(reading, hard, wanted))
    agrees = bool(wanted) and right and all(hard[address] is dead for address, dead in found.items())
    codes = {each["recipient"].lower(): int(each["code"]) for each in wanted if each["code"]} if right else {}
    told = {each.address: each.code for each in reading.recipients if each.address in codes}
    return Score(
        messages=1,
        recipients=int(right),
        judged=int(right and bool(wanted)),
        classes=int(agrees),
        coded=int(bool(codes)),
        codes=int(bool(codes) and told == codes),
        wrong=[name] if any(_suppressed(reading, hard, wanted)) else [],
    )


def _suppressed(reading: Reading, hard: dict[str, bool], wanted: list[dict[str, Any]]) -> Iterator[str]:
    """Addresses that would not be mailed any more, and nobody has said so."""
    if reading.kind is Return.COMPLAINED and not any(each["feedback"] for each in wanted):
        yield from (each.address for each in reading.recipients)
    for each in reading.recipients:
        if each.bounce_class is BounceClass.PERMANENT and not hard.get(each.address, False):
            yield each.address


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})" if whole else "–"
