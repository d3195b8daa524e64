"""One row that cannot be read: every command shows it as what it is, and everything else as usual."""

from __future__ import annotations

import pytest

from postroom import Outbox
from tests.cli.conftest import CommandLine, enqueue, enqueue_dead
from tests.store.damage import DAMAGES, damage


@pytest.mark.parametrize("what", DAMAGES)
def test_list_show_and_stats_go_on(postroom: CommandLine, outbox: Outbox, what: str) -> None:
    bad = enqueue_dead(outbox, subject="unlucky")
    well = enqueue(outbox, subject="in good order")
    damage(outbox, bad, what)
    listed, shown = postroom("list", "--json").json["emails"], postroom("show", bad, "--json").json
    commands = [postroom("list"), postroom("show", bad), postroom("stats"), postroom("stats", "--check")]

    assert {each["id"]: bool(each["unreadable"]) for each in listed} == {bad: True, well: False}
    assert DAMAGES[what][1] in shown["unreadable"]
    assert [command.code for command in commands] == [0] * 4
    assert "in good order" in commands[0].out
    assert DAMAGES[what][1] in commands[1].out


def test_what_an_unreadable_email_says_is_an_error_in_one_line(postroom: CommandLine, outbox: Outbox) -> None:
    bad = enqueue_dead(outbox)
    damage(outbox, bad, "content")
    shown, replayed = postroom("show", bad, "--text"), postroom("replay", bad, "--subject", "Better", "--yes")

    assert (shown.code, replayed.code) == (1, 1)
    assert "its content is gone" in shown.err
    assert "its content is gone" in replayed.err
