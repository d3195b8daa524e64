"""A line of an email's story in plain words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from postroom.operate.story import in_words
from postroom.store.contract import HistoryEntry

NOW = datetime(2026, 5, 17, 3, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("what", "detail", "words"),
    [
        ("rerouted", {"from": "default", "to": "backup"}, "from default to backup"),
        ("rerouted", {"from": "a", "to": "b", "reason": "a is out of reach"}, "from a to b: a is out of reach"),
        ("deferred", {"until": "2026-05-17T06:30:00+00:00", "reason": "quota"}, "until 06:30 UTC: quota"),
        ("deferred", {"until": "2026-05-18T08:30:00+02:00"}, "until 18 May 2026, 06:30 UTC"),
        ("deferred", {"until": "some day"}, "until some day"),
        ("replayed", {"corrected": ["subject", "to"], "version": 2}, "subject, to corrected"),
        ("replayed", {"corrected": []}, ""),
        ("settled", {"settled_from": "journal"}, "the database had forgotten it, the journal knew"),
        ("failed", {"code": 450}, ""),
    ],
)
def test_what_an_event_leaves_open_is_said_behind_it(what: str, detail: dict[str, Any], words: str) -> None:
    assert in_words(HistoryEntry(at=NOW, what=what, attempt=1, actor=None, detail=detail), NOW) == words
