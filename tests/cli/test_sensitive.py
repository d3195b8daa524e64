"""Sensitive emails on the host: what commands show of them, and what they refuse."""

from __future__ import annotations

import pytest

from postroom import Email, Outbox, Status
from postroom.vocabulary import SIGN_IN_CODE
from postroom.work import breakers
from tests.cli.conftest import CommandLine
from tests.store.journey import claim, dead, settle


def dead_email(outbox: Outbox, kind: str = "") -> str:
    id = outbox.enqueue(Email(to="ada@example.org", subject="S 493817", text="493817"), sensitive=True, kind=kind).id
    settle(outbox, [dead(each, sensitive=True) for each in claim(outbox)])
    return id


def test_no_command_shows_what_it_says(postroom: CommandLine, outbox: Outbox) -> None:
    id = dead_email(outbox)
    answers = [
        postroom("list"),
        postroom("list", "--json"),
        postroom("show", id),
        postroom("show", id, "--json"),
        postroom("show", id, "--text"),
        postroom("show", id, "--source"),
        postroom("events", "--json"),
    ]

    assert not any("493817" in answer.out + answer.err for answer in answers)
    assert [answer.code for answer in answers] == [0, 0, 0, 0, 1, 1, 0]
    assert "(sensitive)" in answers[2].out
    assert "shown nowhere, to nobody" in answers[4].err


def test_a_corrected_replay_is_refused_with_the_way_out(postroom: CommandLine, outbox: Outbox) -> None:
    id = dead_email(outbox)
    corrected = postroom("replay", id, "--to", "eve@example.org")
    replayed = postroom("replay", id)

    assert (corrected.code, replayed.code) == (1, 0)
    assert "neither its recipients nor what it says can be changed; replay it as it is" in corrected.err
    assert outbox.get(id).status is Status.PENDING
    entries = postroom("user", "audit", "--json").json["entries"]
    assert [entry["what"] for entry in entries if entry["what"] != "replay"] == [
        "sensitive_replay",
        "sensitive_refused",
    ]


def test_a_corrected_replay_of_all_that_match_passes_over_it(postroom: CommandLine, outbox: Outbox) -> None:
    id = dead_email(outbox)

    assert postroom("replay", "--status", "dead", "--to", "eve@example.org", "--yes").code == 0
    assert outbox.get(id).status is Status.DEAD


def test_a_code_is_not_replayed(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("replay", dead_email(outbox, SIGN_IN_CODE))

    assert answer.code == 1
    assert "run `postroom user code` on the host" in answer.err


@pytest.mark.parametrize(("options", "moved"), [((), 1), (("--sensitive",), 2)])
def test_a_move_takes_sensitive_ones_along_if_asked(
    postroom: CommandLine, outbox: Outbox, options: tuple[str, ...], moved: int
) -> None:
    outbox.database.run(breakers.standing_of({"default": "", "inbox": ""}))
    for wishes in ({}, {"sensitive": True}, {"sensitive": True, "kind": SIGN_IN_CODE}):
        outbox.enqueue(Email(to="ada@example.org", text="x"), **wishes)  # type: ignore[arg-type]

    answer = postroom("route", "move", "default", "inbox", "--yes", "--json", *options)

    assert answer.json["moved"] == moved
