"""Acts of a person: retry, dismiss, cancel, replay. Each applies where it may, or says why not, and is recorded."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from postroom import Attachment, EmailId, Filter, Outbox, Status
from postroom.errors import EmailNotFound, InvalidEmail, NotApplicable
from postroom.store import acts
from postroom.store.acts import APPLIES_TO, carry_over, reopen
from postroom.store.dismissals import sweep_dismissed
from postroom.store.ids import new_id
from tests.store.journey import Clock, bring_to, claim, dead, email, enqueue, in_doubt, release, sent, settle

REACHABLE = [status for status in Status if status is not Status.QUEUED]


def act_on(outbox: Outbox, act: str, id: EmailId) -> None:
    getattr(outbox, act)(id, by="grace")


def test_a_retry_starts_a_dead_email_over(outbox: Outbox, clock: Clock) -> None:
    """(A6) attempts=0, budget restored, due now, last error cleared, history kept."""
    id = bring_to(outbox, Status.DEAD)
    clock.advance(hours=1)
    outbox.retry(id, by="grace")

    stored = outbox.get(id)
    assert (stored.status, stored.attempts, stored.max_attempts) == (Status.PENDING, 0, 8)
    assert (stored.last_error, stored.dead_reason, stored.finished_at) == (None, None, None)
    assert stored.next_attempt_at == clock.now
    assert [entry.what for entry in stored.history] == ["failed", "retried"]
    assert [each.id for each in claim(outbox)] == [id]


def test_a_dismissed_email_is_deleted_and_counted(outbox: Outbox) -> None:
    """(A6)"""
    id = bring_to(outbox, Status.DEAD, key="k")
    outbox.dismiss(id, by="grace")

    with pytest.raises(EmailNotFound, match="dismissed or pruned"):
        outbox.get(id)
    assert (outbox.counts()["dead"], outbox.counts()["dismissed"]) == (0, 1)
    assert outbox.conservation().holds


def test_a_cancelled_email_is_never_sent(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    outbox.cancel(id)
    clock.advance(days=1)

    assert claim(outbox) == []
    assert (outbox.get(id).status, outbox.get(id).next_attempt_at) == (Status.CANCELLED, None)
    assert outbox.counts()["cancelled"] == 1


@pytest.mark.parametrize("status", REACHABLE)
@pytest.mark.parametrize("act", APPLIES_TO)
def test_an_act_applies_to_its_statuses_and_refuses_the_others_by_name(
    outbox: Outbox, act: str, status: Status
) -> None:
    id = bring_to(outbox, status)
    before = outbox.get(id)

    if status in APPLIES_TO[act]:
        act_on(outbox, act, id)
        assert outbox.counts()[status] == 0
    else:
        with pytest.raises(NotApplicable, match=f"cannot {act} email {id}: it is {status}"):
            act_on(outbox, act, id)
        assert outbox.get(id) == before
    assert outbox.conservation().holds


@pytest.mark.parametrize("act", APPLIES_TO)
def test_an_act_on_an_unknown_email_says_so(outbox: Outbox, act: str) -> None:
    id = new_id()
    with pytest.raises(EmailNotFound, match=f"no email {id}"):
        act_on(outbox, act, id)

    assert outbox.conservation().enqueued == 0


@pytest.mark.parametrize(("act", "what"), [("retry", "retried"), ("replay", "replayed")])
def test_an_act_is_recorded_with_who_and_when(outbox: Outbox, clock: Clock, act: str, what: str) -> None:
    id = bring_to(outbox, Status.DEAD)
    clock.advance(minutes=3)
    act_on(outbox, act, id)

    entry = outbox.get(id).history[-1]
    assert (entry.what, entry.actor, entry.at) == (what, "grace", clock.now)
    assert entry.detail["was"] == "dead"


def test_a_cancel_is_recorded_with_who_and_when(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    outbox.cancel(id, by="grace")

    [entry] = outbox.get(id).history
    assert (entry.what, entry.actor, entry.at, entry.detail) == ("cancelled", "grace", clock.now, {"was": "pending"})


def test_a_replay_sends_a_corrected_email_under_the_same_key_and_message_id(outbox: Outbox) -> None:
    """(B5) The idempotency key and the history stay; (B8) so does the Message-ID."""
    report = Attachment("report.pdf", b"%PDF")
    receipt = outbox.enqueue(email(to="wrong@example.org", attachments=[report], tags=["t"]), key="memo-7")
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed)])
    before, letter = outbox.get(receipt.id), outbox.letter(receipt.id)
    outbox.replay(receipt.id, to="Right <right@example.org>", subject="Again", text="Corrected.", by="grace")

    stored = outbox.get(receipt.id)
    assert (stored.status, stored.attempts, stored.last_error) == (Status.PENDING, 0, None)
    assert (stored.key, stored.message_id, stored.tags) == ("memo-7", before.message_id, ("t",))
    assert (stored.subject, stored.version) == ("Again", 2)
    assert [each.address for each in stored.recipients] == ["right@example.org"]
    assert [entry.what for entry in stored.history] == ["failed", "replayed"]
    assert stored.history[-1].detail == {"was": "dead", "corrected": ["subject", "text", "to"], "version": 2}
    assert outbox.enqueue(email(), key="memo-7").duplicate
    [again] = claim(outbox)
    assert (again.text, again.message_id) == ("Corrected.", claimed.message_id)
    assert again.attachments == {report.digest: b"%PDF"}
    assert outbox.letter(receipt.id, version=1) == letter


def test_a_replayed_email_is_found_by_its_old_and_its_new_recipient(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD, kind="k", workspace="w")
    outbox.replay(id, to="right@example.org")

    for wanted in (
        Filter(recipient="right@example.org"),
        Filter(recipient="ada@example.org"),
        Filter(kind="k", workspace="w"),
    ):
        assert [each.id for each in outbox.list(wanted).emails] == [id]


def test_a_replay_without_corrections_sends_the_same_content(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)
    before = outbox.letter(id)
    outbox.replay(id)

    assert (outbox.get(id).version, outbox.letter(id)) == (1, before)


def test_a_cancelled_email_can_be_replayed(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.CANCELLED)
    outbox.replay(id, subject="After all")

    assert [each.id for each in claim(outbox)] == [id]
    assert outbox.counts()["cancelled"] == 0
    assert outbox.conservation().holds


def test_a_replay_that_makes_no_valid_email_changes_nothing(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)
    before = outbox.get(id)

    with pytest.raises(InvalidEmail):
        outbox.replay(id, subject="Two\nlines")
    assert outbox.get(id) == before


def partly_dead(outbox: Outbox) -> EmailId:
    """One recipient has it, the other was refused."""
    id = outbox.enqueue(email(to=["ada@example.org", "bob@example.org"])).id
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed, outcomes='[["sent",250,"ok"],["dead",550,"no"]]')])
    return id


def test_after_a_retry_only_those_who_do_not_have_it_are_open(outbox: Outbox) -> None:
    id = partly_dead(outbox)
    outbox.retry(id)

    found = [(each.address, each.status) for each in outbox.get(id).recipients]
    assert found == [("ada@example.org", "sent"), ("bob@example.org", "open")]
    [claimed] = claim(outbox)
    assert claimed.outcomes is not None
    assert [state for state, _, _ in json.loads(claimed.outcomes)] == ["sent", "open"]


def test_after_a_corrected_replay_only_those_who_do_not_have_it_are_open(outbox: Outbox) -> None:
    id = partly_dead(outbox)
    outbox.replay(id, to=["carol@example.org", "ada@example.org"])

    found = [(each.address, each.status, each.code) for each in outbox.get(id).recipients]
    assert found == [("carol@example.org", "open", None), ("ada@example.org", "sent", 250)]


def test_refusals_are_forgotten_and_acceptances_are_not() -> None:
    assert reopen(None) is None
    assert reopen('[["dead",550,"no"],["open",null,null]]') is None
    assert json.loads(reopen('[["dead",550,"no"],["sent",250,"ok"]]') or "") == [
        ["open", None, None],
        ["sent", 250, "ok"],
    ]
    assert carry_over('[["sent",250,"ok"]]', ["a@b.example"], ["c@d.example"]) is None


def test_a_person_can_settle_a_doubt_either_way(outbox: Outbox) -> None:
    resend, let_go = bring_to(outbox, Status.IN_DOUBT), bring_to(outbox, Status.IN_DOUBT)
    outbox.retry(resend)
    outbox.dismiss(let_go)

    assert [(each.id, each.doubts) for each in claim(outbox)] == [(resend, 1)]
    assert outbox.counts()["dismissed"] == 1
    assert outbox.conservation().holds


def test_an_act_ends_whatever_claim_there_was(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    release(outbox, [claimed.claim])
    outbox.cancel(id)

    assert settle(outbox, [sent(claimed)]) == set()
    assert outbox.get(id).status is Status.CANCELLED


def test_a_late_word_that_a_retried_doubt_was_sent_is_refused(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [in_doubt(claimed, None)])
    outbox.retry(id)

    assert settle(outbox, [sent(claimed)]) == set()
    assert outbox.get(id).status is Status.PENDING


def test_an_act_on_everything_that_matches_tells_how_many_there_were(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox, 7, kind="news")
    enqueue(outbox, 2, kind="welcome")
    settle(outbox, [dead(each) for each in claim(outbox)[:3]])
    clock.advance(minutes=5)

    assert outbox.act("retry", Filter(kind="news"), by="grace") == 3
    assert outbox.counts() | {"pending": 3, "sending": 6} == outbox.counts()
    assert outbox.act("cancel", Filter(kind="news"), limit=2) == 2
    assert outbox.act("cancel", Filter()) == 1  # the rest is a worker's
    assert outbox.counts()["cancelled"] == 3


def test_an_act_on_everything_goes_through_many_batches(outbox: Outbox) -> None:
    enqueue(outbox, 25)
    done = acts.act_on_all("cancel", Filter(status=Status.PENDING), actor=None, batch=4)

    assert outbox._follow(done) == 25
    assert outbox.counts()["cancelled"] == 25


def test_an_act_on_a_list_is_all_or_nothing(outbox: Outbox) -> None:
    waiting, finished = enqueue(outbox)[0], new_id()

    with pytest.raises(EmailNotFound):
        outbox.database.run(acts.cancel([waiting, finished], actor=None))
    assert outbox.get(waiting).status is Status.PENDING


def test_a_dismissed_email_leaves_nothing_in_the_end_but_its_key_and_who_did_it(outbox: Outbox, clock: Clock) -> None:
    id = outbox.enqueue(email(tags=["t"], attachments=[Attachment("a", b"a")]), key="k", kind="k").id
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed)])
    outbox.replay(id, to="right@example.org")
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed)])
    outbox.dismiss(id, by="grace")
    clock.advance(days=1, seconds=1)
    outbox.database.run(sweep_dismissed(undo=timedelta(days=1)))

    tables = outbox.database.dialect.tables
    with outbox.transaction() as connection:
        for name in ("emails", "dismissed", "contents", "terms", "attachment_uses"):
            assert connection.execute(f"SELECT * FROM {tables}{name}").fetchall() == []
        last = connection.execute(f"SELECT what, actor FROM {tables}events ORDER BY id DESC LIMIT 1").fetchone()
        assert tuple(last) == ("dismissed", "grace")


def test_an_expired_lease_does_not_make_an_email_anybodys(outbox: Outbox, clock: Clock) -> None:
    id = bring_to(outbox, Status.SENDING)
    clock.now += timedelta(hours=1)

    with pytest.raises(NotApplicable, match="it is sending"):
        outbox.cancel(id)
    assert outbox.get(id).status is Status.SENDING
