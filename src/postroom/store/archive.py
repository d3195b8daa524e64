"""An archive of emails that leave the outbox: one JSON object a line, on disk before the emails go."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO


class JsonLines:
    """Appends records to a file. When a call returns, they survive a crash of the machine."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __call__(self, records: list[dict[str, Any]]) -> None:
        for record in records:
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    @classmethod
    @contextmanager
    def opened(cls, path: str | Path | None) -> Iterator[JsonLines | None]:
        """The archive at a path, readable by its owner alone; None for none."""
        if path is None:
            yield None
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            yield cls(file)
