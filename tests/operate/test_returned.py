"""What came back, in a few words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from postroom.operate.returned import fate_in_words
from postroom.operate.story import in_words
from postroom.settle.fate import Fate
from postroom.store.contract import HistoryEntry
from postroom.vocabulary import BounceClass, Return

NOW = datetime(2026, 5, 17, 3, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("what", "bounce_class", "status", "code", "words"),
    [
        (Return.BOUNCED, BounceClass.PERMANENT, "5.1.1", 550, "bounced: there is no such mailbox (550 5.1.1)"),
        (Return.BOUNCED, BounceClass.TRANSIENT, "4.2.2", None, "bounced: not for good (4.2.2)"),
        (Return.BOUNCED, BounceClass.UNDETERMINED, "", None, "bounced: nobody said why"),
        (Return.BOUNCED, None, "", None, "bounced: it did not arrive"),
        (Return.DEFERRED, BounceClass.TRANSIENT, "4.4.1", 451, "deferred: the other end goes on trying (451 4.4.1)"),
        (Return.REPLIED, None, "", None, "replied: somebody has answered"),
        (Return.COMPLAINED, None, "", None, "complained: the reader has called it spam"),
    ],
)
def test_a_fate_is_told_in_words(
    what: Return, bounce_class: BounceClass | None, status: str, code: int | None, words: str
) -> None:
    fate = Fate(what=what, bounce_class=bounce_class, status=status, code=code, at=NOW, return_id="r")

    assert fate_in_words(fate) == words


@pytest.mark.parametrize(
    ("what", "detail", "words"),
    [
        ("bounced", {"class": "permanent", "code": 550}, "there is no such mailbox (550)"),
        ("bounced", {"class": "permanent", "recipient": 2}, "there is no such mailbox – recipient 2"),
        ("autoresponded", {"until": "2026-06-01"}, "a program has answered, away until 2026-06-01"),
        ("deferred", {"class": "transient"}, "the other end goes on trying"),
        ("something later", {"code": 550}, "(550)"),
    ],
)
def test_a_line_of_the_history_says_what_its_name_leaves_open(what: str, detail: dict[str, Any], words: str) -> None:
    entry = HistoryEntry(at=NOW, what=what, attempt=1, actor=None, detail={"return": "r", **detail})

    assert in_words(entry, NOW) == words
