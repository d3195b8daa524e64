"""The list of commands is written down apart from them, so that it costs nothing; it says what they say."""

from __future__ import annotations

from typing import Any

import pytest
from typer.main import get_command

from postroom.cli.app import COMMANDS, app
from tests.cli.conftest import CommandLine


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_of_a_command_what_its_own_help_begins_with(name: str) -> None:
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]

    assert COMMANDS[name].help == commands[name].help.partition("\n\n")[0]


def test_a_mistyped_command_is_told_which_was_meant(postroom: CommandLine) -> None:
    answer = postroom("lst")

    assert answer.code == 2
    assert "Did you mean 'list'?" in answer.err


@pytest.mark.parametrize("command", [(), ("stats",), ("user", "add"), ("list",)], ids=" ".join)
def test_a_flag_is_shown_without_a_type(postroom: CommandLine, command: tuple[str, ...]) -> None:
    answer = postroom(*command, "--help")

    assert answer.code == 0
    assert "bool" not in answer.out.lower()
    assert "--help" in answer.out
