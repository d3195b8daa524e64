"""What a new draft changes for the other campaigns of its workspace."""

from __future__ import annotations

from typing import Any

from postroom.campaigns import RampUp, SendingSettings
from postroom.campaigns.drafts.overwriting import Shared, overwritten
from postroom.campaigns.values import Sender, WorkspaceSettings


def shared(*senders: Sender, version: int = 1, **sending: Any) -> Shared:
    return Shared(settings=WorkspaceSettings(sending=SendingSettings(**sending), version=version), senders=senders)


def ada(**fields: Any) -> Sender:
    return Sender(id="ada", address="ada@example.org", **fields)


def test_what_is_as_it_was_is_not_told() -> None:
    assert overwritten(shared(ada()), shared(ada(), version=2)) == ()


def test_settings_and_senders_are_told_by_their_names() -> None:
    before = shared(ada(name="Ada"), daily_quota=30)
    after = shared(ada(name="Ada L.", reply_to="x@example.org"), version=2, daily_quota=5, end_hour=12)

    assert overwritten(before, after) == (
        "end_hour 17 → 12",
        "daily_quota 30 → 5",
        "sender ada: name Ada → Ada L., reply_to none → x@example.org",
    )


def test_a_sender_who_is_new_changes_nothing_for_others() -> None:
    assert overwritten(shared(ada()), shared(ada(), Sender(id="eve", address="eve@example.org"))) == ()


def test_in_a_workspace_that_nobody_has_used_there_is_nobody_to_be_surprised() -> None:
    assert overwritten(shared(version=0), shared(ada(), daily_quota=5)) == ()


def test_the_defaults_hold_for_others_too_once_somebody_sends() -> None:
    assert overwritten(shared(ada(), version=0), shared(ada(), daily_quota=5)) == ("daily_quota 50 → 5",)


def test_a_long_list_is_cut_off_and_an_empty_one_has_a_word() -> None:
    ramp_up = RampUp(schedule=tuple(range(1, 13)))

    assert overwritten(shared(), shared(ramp_up=ramp_up)) == ("ramp_up none → 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …",)
