"""Settings that come from where a test says, and from nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[[str], None]


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("POSTROOM_", "SMTP_", "EMAIL_WORKER_")) and not name.startswith("POSTROOM_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes `postroom.toml`."""

    def write(text: str) -> None:
        (tmp_path / "postroom.toml").write_text(text, "utf-8")

    return write
