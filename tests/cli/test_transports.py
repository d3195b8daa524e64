"""transport list, pause, resume."""

from __future__ import annotations

from postroom import Outbox
from postroom.work import breakers
from tests.cli.conftest import CommandLine

NAME = "smtp.example.org:587"


def test_a_transport_is_paused_and_resumed_and_it_is_known_by_whom(postroom: CommandLine, outbox: Outbox) -> None:
    outbox.database.run(breakers.standing_of({NAME: ""}))

    assert postroom("transport", "pause", NAME, "--reason", "new password").code == 0
    [paused] = postroom("transport", "list", "--json").json["transports"]
    assert (paused["name"], paused["state"]) == (NAME, "paused")
    assert paused["reason"].startswith("new password (")
    assert "new password" in postroom("transport", "list").out

    assert postroom("transport", "resume", NAME).code == 0
    [resumed] = postroom("transport", "list", "--json").json["transports"]
    assert resumed["state"] == "ok"
    entries = postroom("user", "audit", "--json").json["entries"]
    assert [entry["what"] for entry in entries] == ["transport_resume", "transport_pause"]


def test_a_transport_that_nobody_has_used_is_not_paused(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("transport", "pause", NAME)

    assert (answer.code, "none yet" in answer.err) == (2, True)
    assert "No worker has used a transport yet." in postroom("transport", "list").err
