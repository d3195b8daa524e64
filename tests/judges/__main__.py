"""`make judges`: all emails of the example before all judges, and what is read out of those that come back.

Ends with 1 where one of them finds fault.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

from tests.judges import access, bounces, markup, spam
from tests.judges.letters import Judged, letters
from tests.judges.verdict import Verdict

LARGEST = 30_000
JUDGES = ("caniemail", "html-validate", "axe", "weight")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", type=Path, help="where the packages of npm are installed")
    parser.add_argument("--pictures", type=Path, help="keep a picture of everything a browser has shown in this folder")
    parser.add_argument("--only-bounces", action="store_true", help="judge the reader of what comes back, and no more")
    given = parser.parse_args()
    if given.only_bounces:
        return 0 if bounces.judge() else 1
    if given.pictures is not None:
        given.pictures.mkdir(parents=True, exist_ok=True)
    all = list(letters())
    verdict = weigh(all)
    verdict.add(markup.judge(all, given.tools))
    verdict.add(spam.judge(all))
    verdict.add(access.judge(all, given.tools, given.pictures))
    print(report(all, verdict))
    print()
    return 0 if bounces.judge() and not verdict.failures else 1


def weigh(letters: list[Judged]) -> Verdict:
    """Gmail cuts what is larger than 102 kB; these stay far below."""
    verdict = Verdict()
    for letter in letters:
        if (size := len(letter.html.encode())) > LARGEST:
            verdict.fail(letter.name, "weight", f"its HTML has {size:,} octets")
    return verdict


def report(letters: list[Judged], verdict: Verdict) -> str:
    """A row for each email and language, then what is behind the numbers."""
    rows: dict[str, list[Judged]] = defaultdict(list)
    for letter in letters:
        rows[letter.row].append(letter)
    lines = [f"{'email':32}{'samples':>8}{'kB':>7}{'caniemail':>11}{'html-validate':>15}{'axe':>5}{'spam':>7}"]
    lines += [_row(row, samples, verdict) for row, samples in rows.items()]
    lines += ["", f"{len(letters)} emails, {verdict.looks} looks by axe", ""]
    lines += ["Without some mail programs, and why that is no loss:"]
    lines += [f"  {what}\n    {', '.join(sorted(clients))}" for what, clients in sorted(verdict.graces.items())]
    lines += ["", "Done in part by some mail programs (caniemail's warnings):"]
    lines += [f"  {what}: {', '.join(sorted(clients))}" for what, clients in sorted(verdict.warnings.items())]
    lines += ["", *(f"FAILED {name}: {judge}: {said}" for name, judge, said in verdict.failures)]
    lines += [f"{len(verdict.failures)} failures"]
    return "\n".join(lines)


def _row(row: str, samples: list[Judged], verdict: Verdict) -> str:
    heaviest = max(len(each.html.encode()) for each in samples) / 1000
    worst = max(verdict.scores[each.name] for each in samples)
    support, validity, access = (verdict.count(row, judge) for judge in JUDGES[:3])
    return f"{row:32}{len(samples):>8}{heaviest:>7.1f}{support:>11}{validity:>15}{access:>5}{worst:>7.1f}"


if __name__ == "__main__":
    sys.exit(main())
