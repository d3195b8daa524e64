"""What an import costs is the modules that it brings along; they are counted, because seconds depend on the machine."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import postroom
import postroom.campaigns
import postroom.config
import postroom.errors

HEAVY = {
    "argon2",
    "cryptography",
    "email_validator",
    "fastapi",
    "httpcore2",
    "icalendar",
    "jinja2",
    "prometheus_client",
    "psycopg",
    "psycopg_pool",
    "pydantic",
    "pydantic_settings",
    "rich",
    "structlog",
    "typer",
    "uvicorn",
}
"""What takes longer to import than it takes to use, and what nobody needs who has not asked for it."""


def imported_by(program: str) -> set[str]:
    """Every module that this program has imported at its end and that bare Python has not."""
    telling = "import sys; sys.stderr.write('\\n' + ' '.join(sys.modules))"
    outcomes = [
        subprocess.run([sys.executable, "-c", f"{text}\n{telling}"], capture_output=True, text=True, check=True)
        for text in (program, "")
    ]
    with_it, without = ({*outcome.stderr.rpartition("\n")[2].split()} for outcome in outcomes)
    return with_it - without


HELP = """
import sys
from postroom.cli import main
sys.argv = ["postroom", "--help"]
try:
    main()
except SystemExit as ended:
    assert ended.code == 0
"""

CASES = {
    "the package": ("import postroom", 60, HEAVY),
    "an email": ("from postroom import Email; Email(to='ada@example.org', subject='Hi', text='Hello')", 120, HEAVY),
    "both outboxes": ("from postroom import AsyncOutbox, Outbox", 310, HEAVY),
    "the help": (HELP, 330, HEAVY - {"rich", "typer"}),
}
"""A program, how many modules it may import, and which it may not."""


@pytest.mark.parametrize(("program", "budget", "unwanted"), CASES.values(), ids=CASES)
def test_nothing_is_imported_that_is_not_needed(program: str, budget: int, unwanted: set[str]) -> None:
    modules = imported_by(program)

    assert {name.partition(".")[0] for name in modules} & unwanted == set()
    assert len(modules) <= budget, sorted(modules)


def test_every_public_name_is_there_and_listed() -> None:
    for name in postroom.__all__:
        assert getattr(postroom, name) is not None

    assert set(postroom.__all__) <= set(dir(postroom))


@pytest.mark.parametrize("package", [postroom, postroom.config], ids=lambda package: package.__name__)
def test_type_checkers_are_told_the_same_names_from_the_same_places(package: ModuleType) -> None:
    [told] = [
        statement
        for statement in ast.parse(Path(str(package.__file__)).read_text("utf-8")).body
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
    ]
    imports = [each for each in told.body if isinstance(each, ast.ImportFrom)]

    assert {alias.name: each.module for each in imports for alias in each.names} == package.HOMES
    assert {*package.HOMES} == {*package.__all__} - {"__version__"}
    for name, home in package.HOMES.items():
        assert getattr(importlib.import_module(home), name) is getattr(package, name)


def test_a_name_that_is_not_there_is_told_as_python_does() -> None:
    with pytest.raises(AttributeError, match=r"module 'postroom' has no attribute 'Outbx'"):
        getattr(postroom, "Outbx")  # noqa: B009  a type checker would not let it pass


def test_the_package_is_a_command() -> None:
    told = subprocess.run([sys.executable, "-m", "postroom", "--version"], capture_output=True, text=True, check=True)

    assert told.stdout == f"postroom {postroom.__version__}\n"


REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "python-api.md"


def test_every_value_of_the_reference_is_imported_from_where_it_says() -> None:
    """`SendOutcome` was given, described, and nowhere to be imported from."""
    named = {name for name in re.findall(r"`([A-Z]\w+)[`(]", REFERENCE.read_text("utf-8")) if not name.isupper()}
    elsewhere = {"Finding", "Submission", "MemoryTransport", "WorkerThread", "None", "False", "True"}

    homes = (postroom, postroom.campaigns, postroom.errors)

    assert {name for name in named - elsewhere if not any(hasattr(home, name) for home in homes)} == set()
    assert "SendOutcome" in named
