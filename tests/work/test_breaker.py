from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.settle.verdict import OK, Health, TransportVerdict
from postroom.work.breaker import DEFAULT_LIMITS, Breaker, BreakerLimits, BreakerState

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SUSPECT = TransportVerdict(health=Health.SUSPECT, reason="no connection")
PAUSE = TransportVerdict(health=Health.PAUSE, reason="wrong password")
THROTTLE = TransportVerdict(health=Health.THROTTLE, reason="slow down")
QUOTA = TransportVerdict(health=Health.THROTTLE, reason="daily quota", wait=timedelta(hours=1))


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def outage() -> Breaker:
    breaker = Breaker()
    for second in range(3):
        breaker = breaker.after(SUSPECT, later(second), 0.0)
    return breaker


def paused() -> Breaker:
    return Breaker().after(PAUSE, NOW, 0.0)


def wait(breaker: Breaker, now: datetime) -> float:
    assert breaker.next_probe_at is not None
    return (breaker.next_probe_at - now).total_seconds()


def test_a_new_breaker_lets_everything_pass() -> None:
    assert Breaker().may_send(NOW)
    assert not Breaker().should_probe(NOW)


def test_a_few_failures_in_quick_succession_open_it() -> None:
    breaker = outage()

    assert (breaker.state, breaker.reason, breaker.since) == (BreakerState.OPEN, "no connection", later(2))
    assert not breaker.may_send(later(3600))


def test_two_failures_are_not_an_outage_and_a_success_starts_the_count_anew() -> None:
    twice = Breaker().after(SUSPECT, NOW, 0.0).after(SUSPECT, later(1), 0.0)
    again = twice.after(OK, later(2), 0.0).after(SUSPECT, later(3), 0.0)

    assert twice.may_send(later(1))
    assert again.may_send(later(3))


def test_failures_far_apart_are_not_an_outage() -> None:
    """(A3) A lone email retried after 30, 60, 120 … seconds spends its own attempts, and nobody else's."""
    breaker = Breaker()
    for second in (0, 30, 90, 210, 450):
        breaker = breaker.after(SUSPECT, later(second), 0.0)

    assert breaker.state is BreakerState.OK


def test_an_outage_is_probed_ever_more_slowly_up_to_a_minute() -> None:
    breaker, waits = outage(), []
    for _ in range(9):
        assert breaker.next_probe_at is not None
        now = breaker.next_probe_at
        assert breaker.should_probe(now)
        breaker = breaker.after(SUSPECT, now, 0.0, probe=True)
        waits.append(wait(breaker, now))

    assert wait(outage(), later(2)) == 1
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60, 60]


def test_a_pause_is_probed_more_slowly_up_to_ten_minutes() -> None:
    breaker, waits = paused(), []
    for _ in range(6):
        assert breaker.next_probe_at is not None
        now = breaker.next_probe_at
        breaker = breaker.after(PAUSE, now, 0.0, probe=True)
        waits.append(wait(breaker, now))

    assert wait(paused(), NOW) == 30
    assert waits == [60, 120, 240, 480, 600, 600]


@pytest.mark.parametrize("tripped", [outage(), paused()])
def test_a_probe_that_gets_through_makes_all_well(tripped: Breaker) -> None:
    assert tripped.after(OK, later(40), 0.0, probe=True) == Breaker()


def test_anybody_who_gets_through_ends_an_outage() -> None:
    assert outage().after(OK, later(2.5), 0.0).state is BreakerState.OK


def test_an_answer_still_under_way_does_not_lift_a_pause() -> None:
    """Older connections go on working while nobody can sign in anew."""
    assert paused().after(OK, later(1), 0.0) == paused()
    assert paused().after(OK, later(100), 0.0) == paused()


@pytest.mark.parametrize(("tripped", "verdict"), [(outage(), SUSPECT), (paused(), PAUSE), (paused(), SUSPECT)])
def test_failures_still_under_way_do_not_lengthen_the_wait(tripped: Breaker, verdict: TransportVerdict) -> None:
    assert tripped.after(verdict, later(2.5), 0.0) == tripped


def test_a_throttled_transport_rests_and_goes_on_by_itself() -> None:
    breaker = Breaker().after(THROTTLE, NOW, 0.0)

    assert (breaker.state, breaker.may_send(later(4.9)), breaker.may_send(later(5))) == ("throttled", False, True)
    assert breaker.after(OK, later(1), 0.0) == breaker
    assert breaker.after(OK, later(5), 0.0) == Breaker()


def test_a_transport_that_is_throttled_again_and_again_rests_longer() -> None:
    breaker = Breaker().after(THROTTLE, NOW, 0.0).after(THROTTLE, later(5), 0.0).after(THROTTLE, later(15), 0.0)

    assert wait(breaker, later(15)) == 20


def test_a_named_time_is_waited_for_and_never_shortened() -> None:
    breaker = Breaker().after(QUOTA, NOW, 0.0)
    straggler = TransportVerdict(health=Health.THROTTLE, wait=timedelta(seconds=10))

    assert wait(breaker, NOW) == 3600
    assert wait(breaker.after(straggler, later(1), 0.0), NOW) == 3600
    assert wait(breaker.after(QUOTA, later(60), 0.0), NOW) == 3660


def test_a_throttled_transport_can_still_be_found_down_or_paused() -> None:
    resting = Breaker().after(QUOTA, NOW, 0.0)
    after_rest = resting
    for second in (3600, 3601, 3602):
        after_rest = after_rest.after(SUSPECT, later(second), 0.0)

    assert resting.after(PAUSE, later(1), 0.0).state is BreakerState.PAUSED
    assert after_rest.state is BreakerState.OPEN


def test_a_pause_outranks_a_throttle_that_was_under_way() -> None:
    assert paused().after(QUOTA, later(1), 0.0) == paused()
    assert paused().after(QUOTA, later(30), 0.0, probe=True).state is BreakerState.THROTTLED


@pytest.mark.parametrize("verdict", [OK, SUSPECT, THROTTLE, PAUSE, None])
@pytest.mark.parametrize("probe", [True, False])
def test_only_a_person_lifts_what_a_person_has_paused(verdict: TransportVerdict | None, probe: bool) -> None:
    held = Breaker().paused_by_person("maintenance", NOW)

    assert held.after(verdict, later(3600), 0.0, probe=probe) == held
    assert not held.should_probe(later(1e6))
    assert held.resumed().may_send(NOW)


def test_one_worker_takes_the_probe_upon_itself() -> None:
    breaker = outage()
    taken = breaker.probing(later(3), 0.0)

    assert breaker.should_probe(later(3))
    assert not taken.should_probe(later(3.9))
    assert taken.should_probe(later(4))


def test_nothing_learnt_changes_nothing() -> None:
    assert outage().after(None, later(9), 0.0) == outage()


def test_limits_are_settings() -> None:
    assert Breaker().after(SUSPECT, NOW, 0.0, limits=BreakerLimits(failures=1)).state is BreakerState.OPEN


verdicts = st.sampled_from([OK, SUSPECT, THROTTLE, QUOTA, PAUSE])


@given(st.lists(st.tuples(verdicts, st.floats(0, 5000), st.floats(0, 1), st.booleans()), max_size=30))
def test_whatever_happens_a_breaker_is_ok_or_knows_when_to_look_again(
    story: list[tuple[TransportVerdict, float, float, bool]],
) -> None:
    breaker, now = Breaker(), NOW
    for verdict, seconds, draw, probe in story:
        now += timedelta(seconds=seconds)
        breaker = breaker.after(verdict, now, draw, probe=probe and not breaker.may_send(now))

        longest = max(DEFAULT_LIMITS.throttle.longest, timedelta(hours=1)) * 1.25
        assert (breaker.state is BreakerState.OK) == (breaker.next_probe_at is None) == (breaker.since is None)
        assert breaker.next_probe_at is None or breaker.next_probe_at <= now + longest
