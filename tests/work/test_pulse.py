"""Whether a service lives and can work: a pure reading of its signs of life."""

from __future__ import annotations

from postroom.work.pulse import HUNG, SILENT, Pulse


class Watch:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_service_is_ready_once_its_database_has_answered() -> None:
    pulse = Pulse(Watch())

    assert pulse.why_not_alive() == ""
    assert pulse.why_not_ready() == "the database has not answered yet"

    pulse.database_answered()

    assert pulse.why_not_ready() == ""


def test_a_database_that_falls_silent_makes_it_unready_and_leaves_it_alive() -> None:
    watch = Watch()
    pulse = Pulse(watch)
    pulse.database_answered()
    watch.now = SILENT + 1

    assert pulse.why_not_alive() == ""
    assert pulse.why_not_ready() == "the database has not answered for 16 s"

    pulse.database_answered()

    assert pulse.why_not_ready() == ""


def test_an_event_loop_that_hangs_is_neither_alive_nor_ready() -> None:
    watch = Watch()
    pulse = Pulse(watch)
    watch.now = HUNG + 1
    pulse.database_answered()

    assert pulse.why_not_alive() == pulse.why_not_ready() == "the event loop has not turned for 31 s"


def test_what_is_in_the_way_of_the_service_itself_is_told() -> None:
    pulse = Pulse(Watch())
    pulse.database_answered()
    pulse.obstacle = lambda: "the journal cannot be written"

    assert pulse.why_not_alive() == ""
    assert pulse.why_not_ready() == "the journal cannot be written"
