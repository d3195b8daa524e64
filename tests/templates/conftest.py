"""Portals in folders of their own, written by the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroom import Brand, Portal

GOOD = {
    "subject.txt": "Hello {{ name }}",
    "body.html": "<html><head><style>p { color: red }</style></head><body><p>Hello {{ name }}</p></body></html>",
    "body.txt": "Hello {{ name }}\n",
    "sample.toml": '[ada]\nname = "Ada"\n',
}
"""The files of a small template whose only variable is `name`."""

Write = Callable[..., Portal]


@pytest.fixture
def portal(tmp_path: Path) -> Write:
    """Writes a portal's files, each by its path, and gives the portal."""

    def write(files: dict[str, str | bytes], **given: Any) -> Portal:
        for name, content in files.items():
            place = tmp_path / "hub" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
        given.setdefault("brand", Brand(name="Hub", footer="Hub Ltd, 1 Hill Lane"))
        return Portal("hub", templates=tmp_path / "hub", sender="Hub <hello@hub.example>", **given)

    return write


def template(name: str, **changed: str) -> dict[str, str | bytes]:
    """The files of a good template under a name, with some of them different: `html=`, `text=`, `subject=`, …."""
    parts = {"subject": "subject.txt", "html": "body.html", "text": "body.txt", "sample": "sample.toml"}
    files = {**GOOD, **{parts[part]: content for part, content in changed.items()}}
    return {f"{name}/{file}": content for file, content in files.items()}
