"""What judges found, brought together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Verdict:
    """Failures by judge, and what is worth knowing without being one."""

    failures: list[tuple[str, str, str]] = field(default_factory=list)
    """The email's name, the judge, and what it said."""
    graces: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """What some mail programs lack, why that is no loss, and which they are."""
    warnings: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """What some mail programs do in part only."""
    scores: dict[str, float] = field(default_factory=dict)
    """SpamAssassin's, by the email's name."""
    looks: int = 0
    """How often a browser has shown an email to axe."""

    def fail(self, name: str, judge: str, said: str) -> None:
        self.failures.append((name, judge, said))

    def grace(self, what: str, client: str) -> None:
        self.graces[what].add(client)

    def warn(self, what: str, client: str) -> None:
        self.warnings[what].add(client)

    def add(self, other: Verdict) -> None:
        """Take over what another judge found."""
        self.failures += other.failures
        self.scores |= other.scores
        self.looks += other.looks
        for mine, theirs in ((self.graces, other.graces), (self.warnings, other.warnings)):
            for what, clients in theirs.items():
                mine[what] |= clients

    def count(self, row: str, judge: str) -> int:
        """How many failures there are of an email in one language, over all samples."""
        return sum(found == judge and name.startswith(f"{row}.") for name, found, _ in self.failures)
