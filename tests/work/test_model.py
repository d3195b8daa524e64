"""Every story that a few processes can have with one email: see `model.py`."""

from __future__ import annotations

import pytest

from tests.work.model import Rules, explore

both_wishes = pytest.mark.parametrize("hold", [False, True], ids=["resend", "hold"])
workers_and_inline = pytest.mark.parametrize("inline", [False, True], ids=["workers", "inline"])
in_reach_and_not = pytest.mark.parametrize("journal_in_reach", [True, False], ids=["in-reach", "out-of-reach"])


def told(story: list[str] | None, *expected: str) -> None:
    """There is a story, and these steps are in it in this order, whoever takes them."""
    assert story is not None, "no story was found: the model does not see it"
    rest = iter(story)
    missing = [step for step in expected if not any(each.endswith(step) for each in rest)]

    assert not missing, story


@workers_and_inline
@both_wishes
@in_reach_and_not
def test_no_story_breaks_the_promise(inline: bool, hold: bool, journal_in_reach: bool) -> None:
    assert explore(Rules(inline=inline, hold=hold, journal_in_reach=journal_in_reach, claims=5)) is None


@workers_and_inline
@both_wishes
def test_a_journal_that_forgets_what_is_settled_is_enough_while_no_commit_is_lost(inline: bool, hold: bool) -> None:
    assert explore(Rules(inline=inline, hold=hold, journal_remembers=False)) is None


# ---------------------------------------------------------------- without a safeguard


@workers_and_inline
@both_wishes
def test_without_fencing_whoever_lost_its_claim_does_harm(inline: bool, hold: bool) -> None:
    told(explore(Rules(inline=inline, hold=hold, fencing=False)), "the lease runs out", "takes over")


@workers_and_inline
@both_wishes
def test_without_the_lease_check_whoever_was_stopped_sends_a_second_copy(inline: bool, hold: bool) -> None:
    told(explore(Rules(inline=inline, hold=hold, lease_check=False)), "the lease runs out", "dot, accepted")


@both_wishes
def test_a_lease_counted_from_the_attempt_lets_an_inline_send_that_waited_too_long_go_out_beside_another(
    hold: bool,
) -> None:
    """It waits for its turn in the background meanwhile, and a worker takes it for untouched."""
    rules = Rules(inline=True, hold=hold, lease_from_storing=False, deaths=0)

    told(explore(rules), "0: stores it leased", "the lease runs out", "takes over", "0: looks at its lease")


@workers_and_inline
@both_wishes
def test_without_the_journals_note_of_the_dot_a_take_over_sends_a_second_copy(inline: bool, hold: bool) -> None:
    told(explore(Rules(inline=inline, hold=hold, journal_note=False)), "dot, accepted", "takes over")


@workers_and_inline
def test_without_the_databases_note_of_the_dot_a_held_email_goes_twice_when_the_journal_is_out_of_reach(
    inline: bool,
) -> None:
    story = explore(Rules(inline=inline, hold=True, journal_in_reach=False, database_note=False))

    told(story, "dot, accepted", "takes over", "dot, accepted")


@workers_and_inline
@both_wishes
def test_with_the_check_before_the_note_whoever_is_stopped_in_between_sends_a_second_copy(
    inline: bool, hold: bool
) -> None:
    told(explore(Rules(inline=inline, hold=hold, note_before_check=False)), "looks at its lease", "the lease runs out")


def test_a_take_over_in_two_transactions_forgets_the_doubt_when_its_worker_dies_in_between() -> None:
    told(explore(Rules(one_transaction=False)), "takes over", "dies")


@both_wishes
@in_reach_and_not
def test_an_inline_send_that_is_abandoned_with_its_caller_leaves_a_doubt_that_nothing_explains(
    hold: bool, journal_in_reach: bool
) -> None:
    rules = Rules(inline=True, hold=hold, journal_in_reach=journal_in_reach, finishes_what_began=False, deaths=0)

    told(explore(rules), "0: is cancelled in the middle", "the lease runs out", "takes over")


@workers_and_inline
@both_wishes
def test_a_close_that_gives_back_what_has_left_sends_a_second_copy(inline: bool, hold: bool) -> None:
    rules = Rules(inline=inline, hold=hold, close_waits_for_dots=False, deaths=0)

    told(explore(rules), "dot, accepted", "closes and gives it back", "dot, accepted")


# ---------------------------------------------------------------- after a failover


@workers_and_inline
@both_wishes
def test_what_a_failover_brings_back_after_its_reply_was_noted_breaks_no_promise(inline: bool, hold: bool) -> None:
    """Nobody has the email in hand at that moment; claim, note and settle may all be among what is lost."""
    assert explore(Rules(inline=inline, hold=hold, failover="at rest", replies_lost=False, deaths=0)) is None


@workers_and_inline
@both_wishes
def test_a_claim_that_a_failover_loses_takes_the_doubt_along_when_its_process_died_at_the_dot(
    inline: bool, hold: bool
) -> None:
    """A limit, for `hold` too: a dot without a reply is known to a journal, and nobody asks it about that."""
    story = explore(Rules(inline=inline, hold=hold, failover="at rest", replies_lost=False, deaths=1))

    told(story, "dot, accepted", "dies", "the last commits are lost", "dot, accepted")


@workers_and_inline
@both_wishes
def test_if_dots_were_remembered_as_well_no_failover_would_break_a_promise(inline: bool, hold: bool) -> None:
    assert explore(Rules(inline=inline, hold=hold, failover="at rest", deaths=1, dots_remembered=True)) is None


@workers_and_inline
@both_wishes
def test_a_journal_that_forgets_what_is_settled_lets_what_a_failover_brings_back_go_twice(
    inline: bool, hold: bool
) -> None:
    story = explore(
        Rules(inline=inline, hold=hold, failover="at rest", replies_lost=False, deaths=0, journal_remembers=False)
    )

    told(story, "settles", "the last commits are lost", "dot, accepted")


@workers_and_inline
@both_wishes
def test_a_settle_that_a_failover_loses_is_a_doubt_at_worst_even_without_the_journal(inline: bool, hold: bool) -> None:
    """One commit is lost: the row says still that a dot may have left."""
    rules = Rules(inline=inline, hold=hold, failover="at rest", lost_commits=1, journal_in_reach=False, deaths=0)

    assert explore(rules) is None


@workers_and_inline
@both_wishes
def test_without_the_journal_a_failover_that_loses_the_claim_too_makes_a_second_copy(inline: bool, hold: bool) -> None:
    """A limit, for `hold` too: the note in the database was lost with the claim."""
    story = explore(Rules(inline=inline, hold=hold, failover="at rest", journal_in_reach=False, deaths=0))

    told(story, "dot, accepted", "the last commits are lost", "dot, accepted")


@workers_and_inline
@both_wishes
def test_what_is_in_hand_during_a_failover_may_be_sent_by_somebody_else_as_well(inline: bool, hold: bool) -> None:
    """A limit: neither can know of the other until one of them has noted its dot."""
    story = explore(Rules(inline=inline, hold=hold, failover="any time", deaths=0))

    told(story, "the last commits are lost")
    assert story is not None
    assert sum(step.endswith(("dot, accepted", "dot, no reply")) for step in story) == 2


@workers_and_inline
def test_a_held_email_in_hand_during_a_failover_has_one_further_copy_for_each_hand_at_most(inline: bool) -> None:
    rules = Rules(inline=inline, hold=True, failover="any time", in_hand_forgiven=True, deaths=0, claims=3)

    assert explore(rules) is None
