"""route list, pause, resume."""

from __future__ import annotations

from postroom import Outbox
from postroom.work import transports
from tests.cli.conftest import CommandLine

NAME = "smtp.example.org:587"


def test_a_transport_is_paused_and_resumed_and_it_is_known_by_whom(postroom: CommandLine, outbox: Outbox) -> None:
    outbox.database.run(transports.standing_of(NAME))

    assert postroom("route", "pause", NAME, "--reason", "new password").code == 0
    [paused] = postroom("route", "list", "--json").json["transports"]
    assert (paused["name"], paused["state"]) == (NAME, "paused")
    assert paused["reason"].startswith("new password (")
    assert "new password" in postroom("route", "list").out

    assert postroom("route", "resume", NAME).code == 0
    [resumed] = postroom("route", "list", "--json").json["transports"]
    assert resumed["state"] == "ok"
    entries = postroom("user", "audit", "--json").json["entries"]
    assert [entry["what"] for entry in entries] == ["transport_resume", "transport_pause"]


def test_a_transport_that_nobody_has_used_is_not_paused(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("route", "pause", NAME)

    assert (answer.code, "none yet" in answer.err) == (2, True)
    assert "No route is known" in postroom("route", "list").err
