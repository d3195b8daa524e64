"""`make … PYTHON=…` works with the Python that is named: an environment of another version never wins silently."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    for name in ("Makefile", "scripts/set-up", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def pretend_python(path: Path, version: str) -> Path:
    """A program that can only tell its version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


def make(clone: Path, python: str = "") -> subprocess.CompletedProcess[str]:
    """What `make test` would do."""
    # What the make that runs this test was told is not for this one.
    told = ("PYTHON", "ENVIRONMENT", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL")
    environment = {name: value for name, value in os.environ.items() if name not in told}
    named = [f"PYTHON={python}"] if python else []
    return subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "test", *named],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def environment_of_tests(clone: Path, python: str) -> str:
    [line] = [line for line in make(clone, python).stdout.splitlines() if "-m pytest" in line]
    return line.strip().partition("/bin/python")[0]


@pytest.mark.parametrize(
    ("there", "named", "used"),
    [
        (None, None, ".venv"),
        ("3.11", None, ".venv"),
        (None, "3.13", ".venv"),
        ("3.13", "3.13", ".venv"),
        ("3.11", "3.13", ".venv-3.13"),
    ],
)
def test_a_python_works_in_an_environment_of_its_version(
    clone: Path, tmp_path: Path, there: str | None, named: str | None, used: str
) -> None:
    if there:
        pretend_python(clone / ".venv" / "bin" / "python", there)
    python = str(pretend_python(tmp_path / "bin" / "python3", named)) if named else ""

    assert environment_of_tests(clone, python) == used


def test_a_python_that_is_not_there_ends_the_command(clone: Path) -> None:
    pretend_python(clone / ".venv" / "bin" / "python", "3.11")
    ended = make(clone, "python3.99")

    assert ended.returncode == 2
    assert "python3.99 not found" in ended.stderr
    assert "pytest" not in ended.stdout
