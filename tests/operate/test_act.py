"""Acting on emails: on one, on some, on all that match; where it applies, within what one may see, on record."""

from __future__ import annotations

import pytest

from postroom import Outbox, Status
from postroom.errors import ConfigurationError, EmailNotFound, NotApplicable
from postroom.operate import AsyncOperations, RouteNotFound, RouteShared, Search, acting
from postroom.work import breakers
from postroom.work.breaker import BreakerState
from tests.store.journey import bring_to, email, enqueue


async def test_a_retry_by_filter_starts_every_dead_email_over_and_says_who_did_it(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    """(A6)"""
    ids = [bring_to(outbox, Status.DEAD) for _ in range(3)]
    other = bring_to(outbox, Status.CANCELLED)

    result = await operations.act("retry", Search(status=Status.DEAD), by="grace@example.org")

    assert (result.matched, result.done, result.skipped) == (3, 3, 0)
    for id in ids:
        stored = outbox.get(id)
        assert (stored.status, stored.attempts, stored.last_error) == (Status.PENDING, 0, None)
        assert (stored.history[-1].what, stored.history[-1].actor) == ("retried", "grace@example.org")
    assert outbox.get(other).status is Status.CANCELLED


async def test_a_dry_run_counts_and_changes_nothing(outbox: Outbox, operations: AsyncOperations) -> None:
    bring_to(outbox, Status.DEAD)
    bring_to(outbox, Status.IN_DOUBT)
    enqueue(outbox, 2)

    result = await operations.act("dismiss", Search(), by="grace", dry_run=True)

    assert (result.matched, result.done, result.capped) == (2, 0, False)
    assert outbox.counts()["dead"] == 1


async def test_a_dry_run_stops_counting_and_says_so(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "COUNTED", 3)
    enqueue(outbox, 5)

    result = await operations.act("cancel", Search(), by="grace", dry_run=True)

    assert (result.matched, result.capped) == (3, True)


async def test_an_act_goes_through_all_batches(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "BATCH", 2)
    enqueue(outbox, 7)

    result = await operations.act("cancel", Search(), by="grace")

    assert (result.matched, result.done) == (7, 7)
    assert outbox.counts()["cancelled"] == 7


async def test_named_emails_are_acted_on_where_the_act_applies(outbox: Outbox, operations: AsyncOperations) -> None:
    gone = bring_to(outbox, Status.DEAD)
    sent = bring_to(outbox, Status.SENT)
    absent = "01890000-0000-7000-8000-000000000000"

    result = await operations.act("dismiss", [gone, sent, absent, gone, "nonsense"], by="grace")

    assert (result.matched, result.done, result.skipped) == (2, 1, 1)
    with pytest.raises(EmailNotFound):
        outbox.get(gone)
    assert outbox.get(sent).status is Status.SENT


async def test_a_cause_is_retried_as_a_whole_and_alone(outbox: Outbox, operations: AsyncOperations) -> None:
    """«Retry these 2» does these 2."""
    for _ in range(2):
        bring_to(outbox, Status.DEAD)
    [group] = (await operations.dashboard()).failures
    enqueue(outbox)

    result = await operations.act("retry", group.search, by="grace")

    assert (result.matched, result.done) == (2, 2)
    assert (await operations.dashboard()).failures == ()


async def test_nobody_acts_on_what_they_may_not_see(outbox: Outbox, operations: AsyncOperations) -> None:
    """(E8) By id or by filter, alone or in bulk; it is as if the email were not there."""
    id = bring_to(outbox, Status.DEAD, workspace="theirs")
    ours = frozenset({"ours"})

    assert (await operations.act("retry", [id], by="grace", workspaces=ours)).matched == 0
    assert (await operations.act("retry", Search(), by="grace", workspaces=ours)).matched == 0
    assert (
        await operations.act("retry", Search(workspaces=frozenset({"theirs"})), by="grace", workspaces=ours)
    ).matched == 0
    with pytest.raises(EmailNotFound):
        await operations.act_on_one("dismiss", id, by="grace", workspaces=ours)
    with pytest.raises(EmailNotFound):
        await operations.act_on_one("replay", id, corrections={}, by="grace", workspaces=ours)
    with pytest.raises(EmailNotFound):
        await operations.email(id, workspaces=ours)
    with pytest.raises(EmailNotFound):
        await operations.letter(id, workspaces=ours)
    assert outbox.get(id).status is Status.DEAD


async def test_an_act_on_one_email_says_why_it_does_not_apply(outbox: Outbox, operations: AsyncOperations) -> None:
    id = bring_to(outbox, Status.SENT)

    with pytest.raises(NotApplicable, match="it is sent"):
        await operations.act_on_one("cancel", id, by="grace")


async def test_a_corrected_replay_stands_beside_the_original(outbox: Outbox, operations: AsyncOperations) -> None:
    """(B5) The key and the history stay."""
    id = bring_to(outbox, Status.DEAD, key="order-7")

    await operations.act_on_one("replay", id, corrections={"to": "right@example.org", "subject": None}, by="grace")
    view = await operations.email(id)

    assert [version.recipients for version in view.versions] == [("ada@example.org",), ("right@example.org",)]
    assert (view.email.status, view.email.key) == (Status.PENDING, "order-7")
    assert view.email.history[-1].actor == "grace"
    first = await operations.letter(id, 1)
    assert first is not None
    assert first.recipients == ("ada@example.org",)


async def test_what_cannot_be_corrected_is_refused(outbox: Outbox, operations: AsyncOperations) -> None:
    id = bring_to(outbox, Status.DEAD)

    with pytest.raises(ConfigurationError, match="sender cannot be corrected"):
        await operations.act_on_one("replay", id, corrections={"sender": "eve@example.org"}, by="grace")
    with pytest.raises(ConfigurationError, match="no act"):
        await operations.act("explode", [id], by="grace")


async def test_many_emails_are_replayed_with_the_same_correction(outbox: Outbox, operations: AsyncOperations) -> None:
    """One act on many, also where each takes a transaction of its own."""
    gone, cancelled = bring_to(outbox, Status.DEAD), bring_to(outbox, Status.CANCELLED)
    sent = bring_to(outbox, Status.SENT)

    result = await operations.act("replay", Search(), by="grace", corrections={"subject": "Corrected", "to": None})

    assert (result.matched, result.done, result.by_status) == (2, 2, {Status.DEAD: 1, Status.CANCELLED: 1})
    assert {outbox.get(id).subject for id in (gone, cancelled)} == {"Corrected"}
    assert outbox.get(sent).status is Status.SENT


async def test_whoever_names_emails_learns_why_some_were_left_as_they_are(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    sent, dead = bring_to(outbox, Status.SENT), bring_to(outbox, Status.DEAD)
    absent = "01890000-0000-7000-8000-000000000000"

    looked = await operations.act("retry", [sent, dead, absent], by="grace", dry_run=True)
    result = await operations.act("retry", [sent, dead, absent], by="grace")

    assert [*looked.refused] == [*result.refused] == [sent, absent]
    assert isinstance(result.refused[sent], NotApplicable)
    assert isinstance(result.refused[absent], EmailNotFound)  # type: ignore[index]
    assert result.done == 1


async def test_only_a_replay_corrects(outbox: Outbox, operations: AsyncOperations) -> None:
    id = bring_to(outbox, Status.DEAD)

    with pytest.raises(ConfigurationError, match="no act"):
        await operations.act("retry", [id], by="grace", corrections={"subject": "Corrected"})

    assert outbox.get(id).status is Status.DEAD


async def test_a_sensitive_email_shows_its_content_to_nobody(outbox: Outbox, operations: AsyncOperations) -> None:
    id = outbox.enqueue(email("Your code"), sensitive=True).id

    assert await operations.letter(id) is None
    assert await operations.letter(id, 1) is None


async def test_a_version_that_never_was_is_not_found(outbox: Outbox, operations: AsyncOperations) -> None:
    id = outbox.enqueue(email()).id

    for version in (0, 2, -1):
        with pytest.raises(EmailNotFound):
            await operations.letter(id, version)


async def test_a_person_pauses_and_resumes_a_transport(outbox: Outbox, operations: AsyncOperations) -> None:
    outbox.database.run(breakers.learn("smtp.example.org:587", None, jitter=0))

    await operations.pause_route("smtp.example.org:587", "moving house", "grace")
    paused = (await operations.dashboard()).routes[0]
    await operations.resume_route("smtp.example.org:587", "grace")
    resumed = (await operations.dashboard()).routes[0]

    assert (paused.state, paused.reason, paused.held) == (BreakerState.PAUSED, "moving house (grace)", True)
    assert (resumed.state, resumed.held) == (BreakerState.OK, False)


async def test_a_transport_nobody_uses_is_not_made_up(operations: AsyncOperations) -> None:
    with pytest.raises(RouteNotFound):
        await operations.pause_route("smpt.example.org", "a typing error", "grace")

    assert (await operations.dashboard()).routes == ()


async def test_who_may_not_see_every_workspace_does_not_stop_what_all_of_them_use(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    """(E8)"""
    outbox.database.run(breakers.learn("smtp.example.org:587", None, jitter=0))

    with pytest.raises(RouteShared):
        await operations.pause_route("smtp.example.org:587", "mine alone", "grace", workspaces=frozenset({"ours"}))
    with pytest.raises(RouteShared):
        await operations.resume_route("smtp.example.org:587", "grace", workspaces=frozenset({"ours"}))

    assert (await operations.dashboard()).routes[0].state is BreakerState.OK


async def test_a_dismissal_is_taken_back_by_the_tie_of_its_act_within_what_one_may_see(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    ours = bring_to(outbox, Status.DEAD, workspace="ours")
    theirs = bring_to(outbox, Status.DEAD, workspace="theirs")
    alone = bring_to(outbox, Status.DEAD, workspace="ours")
    result = await operations.act("dismiss", [ours, theirs], by="grace")
    await operations.act_on_one("dismiss", alone, by="grace")
    mine = frozenset({"ours"})

    assert [each.email.id for each in await operations.dismissed(workspaces=mine)] == [alone, ours]
    assert await operations.undo_dismissal(result.tie, by="ada", workspaces=mine) == 1
    assert await operations.reinstate(alone, by="ada", workspaces=mine) == alone
    with pytest.raises(EmailNotFound):
        await operations.reinstate(theirs, by="ada", workspaces=mine)
    assert (outbox.counts()["dead"], outbox.counts()["dismissed"]) == (2, 1)
