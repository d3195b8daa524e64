"""route list, pause, resume."""

from __future__ import annotations

import pytest

from postroom import Outbox
from postroom.work import breakers
from tests.cli.conftest import CommandLine, enqueue

NAME = "smtp.example.org:587"


def test_a_transport_is_paused_and_resumed_and_it_is_known_by_whom(postroom: CommandLine, outbox: Outbox) -> None:
    outbox.database.run(breakers.standing_of({NAME: ""}))

    assert postroom("route", "pause", NAME, "--reason", "new password").code == 0
    [paused] = postroom("route", "list", "--json").json["transports"]
    assert (paused["name"], paused["state"]) == (NAME, "paused")
    assert paused["reason"].startswith("new password (")
    assert "new password" in postroom("route", "list").out

    assert postroom("route", "resume", NAME).code == 0
    [resumed] = postroom("route", "list", "--json").json["transports"]
    assert resumed["state"] == "ok"
    entries = postroom("user", "audit", "--json").json["entries"]
    assert [entry["what"] for entry in entries] == ["route_resume", "route_pause"]


def test_transport_is_another_name_for_the_same_commands(postroom: CommandLine, outbox: Outbox) -> None:
    outbox.database.run(breakers.standing_of({NAME: ""}))

    assert postroom("transport", "list", "--json").json == postroom("route", "list", "--json").json
    assert "transport" not in postroom("--help").out


def test_a_route_of_the_settings_is_paused_before_any_worker_has_used_it(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_ROUTES__BACKUP__TRANSPORT", "smtp://backup.example.org:2525")

    assert postroom("route", "pause", "backup").code == 0
    [backup] = postroom("stats", "--json").json["transports"]
    assert (backup["name"], backup["server"], backup["state"]) == ("backup", "backup.example.org:2525", "paused")
    assert (backup["held"], backup["waiting"], backup["fallback"]) == (True, 0, None)


def test_emails_are_moved_to_another_route_after_a_question(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_ROUTES__BACKUP__TRANSPORT", "smtp://backup.example.org:2525")
    ids = [enqueue(outbox) for _ in range(3)]

    unasked = postroom("route", "move", "default", "backup")
    looked = postroom("route", "move", "default", "backup", "--dry-run", "--limit", "2")
    assert (unasked.code, "move 3 emails from default to backup" in unasked.err, "--yes" in unasked.err) == (
        2,
        True,
        True,
    )
    assert looked.out == "would move 2 emails from default to backup\n"
    assert {outbox.get(id).route for id in ids} == {"default"}

    moved = postroom("route", "move", "default", "backup", "--limit", "2", "--yes", "--json")
    assert moved.json == {"from": "default", "to": "backup", "dry_run": False, "moved": 2}
    assert sorted(outbox.get(id).route for id in ids) == ["backup", "backup", "default"]
    [entry] = postroom("user", "audit", "--json").json["entries"]
    assert (entry["what"], entry["detail"]["to"], entry["detail"]["emails"]) == ("route_move", "backup", 2)


@pytest.mark.parametrize(("start", "end"), [("default", "default"), ("default", "nowhere")])
def test_a_move_that_makes_no_sense_is_refused(postroom: CommandLine, outbox: Outbox, start: str, end: str) -> None:
    id = enqueue(outbox)

    assert postroom("route", "move", start, end, "--yes").code == 2
    assert outbox.get(id).route == "default"


def test_emails_are_listed_by_route_and_one_shows_its_own_and_how_it_came_there(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_ROUTES__BACKUP__TRANSPORT", "smtp://backup.example.org:2525")
    moved = enqueue(outbox)
    postroom("route", "move", "default", "backup", "--yes")
    stays = enqueue(outbox)

    assert [each["id"] for each in postroom("list", "--route", "backup", "--json").json["emails"]] == [moved]
    assert [each["id"] for each in postroom("list", "--route", "default", "--json").json["emails"]] == [stays]
    assert "from default to backup" in postroom("show", moved).out
    assert "route " not in postroom("show", stays).out
    assert postroom("cancel", "--route", "backup", "--yes").out == "cancelled 1 email\n"


def test_a_transport_that_nobody_has_used_is_not_paused(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("route", "pause", NAME)

    assert (answer.code, "none yet" in answer.err) == (2, True)
    assert "No route is known" in postroom("route", "list").err
