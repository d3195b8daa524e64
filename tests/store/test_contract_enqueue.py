"""Enqueue: in the outbox when, and only when, the transaction commits; once per key; attachments once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from threading import Thread

import pytest

from postroom import Attachment, Email, OnDoubt, Outbox, Priority, RetryPolicy, Status
from postroom.errors import ConfigurationError, InvalidEmail
from postroom.outbox.submission import Submission
from postroom.store.enqueue import enqueue_each
from postroom.store.ids import made_at
from tests.store.journey import Clock, bring_to, claim, email, sent, settle


def test_an_enqueued_email_is_pending_and_due_now(outbox: Outbox, clock: Clock) -> None:
    receipt = outbox.enqueue(email("Welcome"))

    stored = outbox.get(receipt.id)
    assert not receipt.duplicate
    assert (stored.status, stored.attempts, stored.max_attempts) == (Status.PENDING, 0, 8)
    assert stored.next_attempt_at == stored.created_at == clock.now
    assert [recipient.status for recipient in stored.recipients] == ["open"]
    assert outbox.counts()["pending"] == 1


def test_what_was_asked_for_is_stored(outbox: Outbox, clock: Clock) -> None:
    later, latest = clock.now + timedelta(hours=1), clock.now + timedelta(hours=2)
    receipt = outbox.enqueue(
        email(tags=["spring", "Ünïcode"]),
        key="memo-7",
        policy="quick",
        priority="urgent",
        not_before=later,
        expires_at=latest,
        kind="welcome",
        workspace="acme",
        sensitive=True,
        on_doubt="hold",
    )

    stored = outbox.get(receipt.id)
    assert stored.key == "memo-7"
    assert (stored.kind, stored.workspace, stored.tags) == ("welcome", "acme", ("spring", "Ünïcode"))
    assert (stored.priority, stored.on_doubt, stored.sensitive) == (Priority.URGENT, OnDoubt.HOLD, True)
    assert (stored.next_attempt_at, stored.expires_at, stored.max_attempts) == (later, latest, 5)


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"priority": "soon"}, "priority"),
        ({"on_doubt": "guess"}, "on_doubt"),
        ({"not_before": datetime(2030, 1, 1)}, "not_before"),  # noqa: DTZ001
        ({"expires_at": datetime(2001, 1, 1, tzinfo=UTC)}, "expires_at"),
        ({"kind": "a\nb"}, "kind"),
        ({"workspace": "w" * 101}, "workspace"),
        ({"key": ""}, "key"),
        ({"key": "k" * 257}, "key"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_before_anything_is_written(
    outbox: Outbox, wish: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidEmail) as refused:
        outbox.enqueue(email(), **wish)

    assert refused.value.field == field
    assert outbox.conservation().enqueued == 0


def test_an_unknown_policy_is_refused_with_the_known_ones(outbox: Outbox) -> None:
    with pytest.raises(ConfigurationError, match="quick, standard, patient, outreach"):
        outbox.enqueue(email(), policy="hasty")

    assert outbox.conservation().enqueued == 0


def test_a_policy_of_ones_own_travels_with_the_email(outbox: Outbox) -> None:
    receipt = outbox.enqueue(email(), policy=RetryPolicy.exponential(base="7s", max_attempts=3, name="ours"))

    assert outbox.get(receipt.id).max_attempts == 3
    [claimed] = claim(outbox)
    assert RetryPolicy.from_text(claimed.policy).max_attempts == 3


def test_instants_come_back_aware_and_in_utc_whatever_zone_they_were_given_in(outbox: Outbox, clock: Clock) -> None:
    nepal = timezone(timedelta(hours=5, minutes=45))
    later = (clock.now + timedelta(days=1)).astimezone(nepal)
    id = outbox.enqueue(email(), not_before=later).id

    stored = outbox.get(id)
    assert stored.next_attempt_at == later
    assert {moment.tzinfo for moment in (stored.next_attempt_at, stored.created_at) if moment} == {UTC}


def test_ids_grow_with_time(outbox: Outbox) -> None:
    ids = [outbox.enqueue(email()).id for _ in range(20)]

    assert ids == sorted(set(ids))
    assert abs(made_at(ids[0]) - datetime.now(UTC)) < timedelta(minutes=5)


def test_a_letter_comes_back_as_it_was_composed_in_any_script(outbox: Outbox) -> None:
    """(A2) What is stored is frozen: every attempt sends the same octets."""
    hostile = "Grüße, 你好, שלום 👩‍🚀 \\ \" ' % {} :id $1 ; --"
    id = outbox.enqueue(
        Email(
            to=["Åsa Öberg <asa@example.org>", "bob@example.org"],
            cc="carol@example.org",
            bcc="dave@example.org",
            reply_to="desk@example.org",
            subject=hostile,
            text=f"{hostile}\n\ttabs and\nlines\n",
            html=f"<p>{hostile}</p>",
            headers={"X-Thing": "one"},
            attachments=[Attachment("résumé.pdf", bytes(range(256)))],
        )
    ).id

    letter = outbox.letter(id)
    assert letter.subject == hostile
    assert letter.text == f"{hostile}\n\ttabs and\nlines\n"
    assert letter.attachments[0].content == bytes(range(256))
    assert letter.recipients == ("asa@example.org", "bob@example.org", "carol@example.org", "dave@example.org")
    assert letter.as_bytes() == outbox.letter(id).as_bytes()
    assert outbox.get(id).message_id == letter.message_id
    [claimed] = claim(outbox)
    assert (claimed.subject, claimed.text, claimed.html) == (letter.subject, letter.text, letter.html)


def test_a_rollback_leaves_nothing_behind(outbox: Outbox) -> None:
    def change_ones_mind() -> None:
        with outbox.transaction() as connection:
            outbox.enqueue(email(attachments=[Attachment("a.txt", b"a")]), key="k", connection=connection)
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        change_ones_mind()

    assert outbox.conservation().enqueued == 0
    assert outbox.list().emails == ()
    assert not outbox.enqueue(email(), key="k").duplicate


def test_a_commit_brings_the_email_and_the_business_row_together(outbox: Outbox) -> None:
    with outbox.transaction() as connection:
        connection.execute("CREATE TABLE orders (number integer)")
        connection.execute("INSERT INTO orders VALUES (7)")
        receipt = outbox.enqueue(email(), connection=connection)

    with outbox.transaction() as connection:
        assert connection.execute("SELECT number FROM orders").fetchall() == [(7,)]
    assert outbox.get(receipt.id).status is Status.PENDING


def test_a_second_enqueue_under_a_key_is_a_duplicate_with_the_first_id(outbox: Outbox) -> None:
    """(B2) A duplicate is a result, not an error."""
    first = outbox.enqueue(email(), key="memo-7")
    second = outbox.enqueue(email(), key="memo-7")

    assert (second.id, second.duplicate, second.content_differs) == (first.id, True, False)
    assert len(outbox.list().emails) == 1
    assert outbox.conservation().enqueued == 1


def test_a_duplicate_leaves_the_callers_transaction_usable(outbox: Outbox) -> None:
    """(B2)"""
    first = outbox.enqueue(email(), key="memo-7")
    with outbox.transaction() as connection:
        assert outbox.enqueue(email(), key="memo-7", connection=connection).duplicate
        other = outbox.enqueue(email("Another"), connection=connection)

    assert {stored.id for stored in outbox.list().emails} == {first.id, other.id}


def test_different_content_under_one_key_is_told(outbox: Outbox) -> None:
    outbox.enqueue(email("First"), key="memo-7")

    assert outbox.enqueue(email("Second"), key="memo-7").content_differs
    assert outbox.list().emails[0].subject == "First"


def test_another_recipient_or_attachment_is_different_content(outbox: Outbox) -> None:
    outbox.enqueue(email(attachments=[Attachment("a.txt", b"a")]), key="memo-7")

    assert outbox.enqueue(email(attachments=[Attachment("a.txt", b"b")]), key="memo-7").content_differs
    assert outbox.enqueue(
        email(to="eve@example.org", attachments=[Attachment("a.txt", b"a")]), key="memo-7"
    ).content_differs
    assert not outbox.enqueue(email(attachments=[Attachment("a.txt", b"a")]), key="memo-7").content_differs


def test_one_key_may_be_used_in_every_workspace(outbox: Outbox) -> None:
    receipts = [outbox.enqueue(email(), key="memo-7", workspace=workspace) for workspace in ("", "acme", "globex")]

    assert not any(receipt.duplicate for receipt in receipts)
    assert outbox.enqueue(email(), key="memo-7", workspace="acme").id == receipts[1].id


def test_keys_are_compared_octet_by_octet(outbox: Outbox) -> None:
    receipts = [outbox.enqueue(email(), key=key) for key in ("memo", "Memo", "memo ", "m\u00e9mo", "me\u0301mo")]

    assert not any(receipt.duplicate for receipt in receipts)


def test_of_two_emails_with_one_key_in_a_batch_the_first_enters(outbox: Outbox) -> None:
    pairs = [(email(f"Version {number}"), "same") for number in range(40)] + [(email("Other"), "other")]

    assert outbox.enqueue_many(pairs) == 2
    assert [stored.subject for stored in outbox.list().emails] == ["Other", "Version 0"]
    assert outbox.conservation().holds


def test_a_key_outlives_its_email(outbox: Outbox, clock: Clock) -> None:
    sent_id = bring_to(outbox, Status.SENT, key="pruned")
    dead_id = bring_to(outbox, Status.DEAD, key="dismissed")
    clock.advance(days=31)
    outbox.prune()
    outbox.dismiss(dead_id)

    assert outbox.list().emails == ()
    assert outbox.enqueue(email(), key="pruned").id == sent_id
    assert outbox.enqueue(email(), key="dismissed").id == dead_id


def test_many_threads_under_one_key_add_one_email(outbox: Outbox) -> None:
    receipts = []
    threads = [Thread(target=lambda: receipts.append(outbox.enqueue(email(), key="race"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(receipts) == 8
    assert len({receipt.id for receipt in receipts}) == 1
    assert sum(not receipt.duplicate for receipt in receipts) == 1
    assert len(outbox.list().emails) == 1


def test_many_emails_enter_in_one_transaction(outbox: Outbox) -> None:
    assert (
        outbox.enqueue_many((email(f"Email {number}") for number in range(1_203)), kind="news", priority="bulk")
        == 1_203
    )

    newest = outbox.list(limit=1).emails[0]
    assert (newest.subject, newest.kind, newest.priority) == ("Email 1202", "news", Priority.BULK)
    assert outbox.counts()["pending"] == 1_203
    assert outbox.conservation().holds


def test_many_emails_fail_together(outbox: Outbox) -> None:
    def emails() -> Iterator[Email]:
        yield from (email(f"Email {number}") for number in range(700))
        raise RuntimeError("the source ran dry")

    with pytest.raises(RuntimeError, match="ran dry"):
        outbox.enqueue_many(emails())

    assert outbox.conservation().enqueued == 0


def test_many_keyed_emails_count_only_what_was_new(outbox: Outbox) -> None:
    outbox.enqueue(email(), key="k-3")

    assert outbox.enqueue_many([(email(), f"k-{number % 6}") for number in range(10)]) == 5
    assert outbox.conservation().enqueued == 6


def test_copied_emails_are_stored_like_the_others(outbox: Outbox, clock: Clock) -> None:
    """Where a database offers COPY, the rows are the same as those of the statement."""
    wishes = {"kind": "news", "workspace": "acme", "expires_at": clock.now + timedelta(days=1)}
    emails = [
        email("Grüße \\N \\t", text="tabs\tand \\ and\nlines", tags=["a b", 'c"d']),
        email(to=["a@b.example", "Ö <c@d.example>"], html="<p>x"),
    ]
    for copies in (outbox.database.copies, False):
        orders = [outbox.rules.order(Submission.of(each, **wishes)) for each in emails]
        assert outbox.database.run(enqueue_each(orders, copies=copies)) == 2

    stored = outbox.list().emails
    blank = {"id": stored[0].id, "message_id": ""}
    assert [replace(each, **blank) for each in stored[:2]] == [replace(each, **blank) for each in stored[2:]]
    assert [outbox.letter(each.id).text for each in stored[:2]] == [outbox.letter(each.id).text for each in stored[2:]]
    assert len(outbox.list(tag='c"d', kind="news", workspace="acme", recipient="ada@example.org").emails) == 2


def test_a_stream_of_emails_needs_no_more_memory_than_a_chunk_of_it(outbox: Outbox) -> None:
    """Were the stream kept, 4,000 bodies of 5 kB would show as more than 20 MB."""
    body = "x" * 5_000
    outbox.enqueue_many(email("Warm", text=body) for _ in range(600))
    tracemalloc.start()
    try:
        outbox.enqueue_many(email(f"Email {number}", text=f"{number} {body}") for number in range(4_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 15_000_000
    assert outbox.counts()["pending"] == 4_600


def test_an_attachment_is_stored_once_however_many_emails_carry_it(outbox: Outbox) -> None:
    report = Attachment("report.pdf", b"%PDF" * 1_000)
    for number in range(3):
        outbox.enqueue(email(f"Report {number}", attachments=[report, Attachment(f"{number}.txt", b"%d" % number)]))
    outbox.enqueue_many(email(attachments=[report]) for _ in range(3))

    with outbox.transaction() as connection:
        tables = outbox.database.dialect.tables
        stored = connection.execute(f"SELECT count(*), sum(size) FROM {tables}attachments").fetchone()
    assert tuple(stored) == (4, 4_003)
    assert all(each.attachments[report.digest] == report.content for each in claim(outbox))


def test_a_claim_hands_out_exactly_what_each_email_carries(outbox: Outbox) -> None:
    outbox.enqueue(email(attachments=[Attachment("a.txt", b"a"), Attachment("b.txt", b"b")]))
    outbox.enqueue(email(attachments=[Attachment("b.txt", b"b")]))
    outbox.enqueue(email())

    assert [sorted(each.attachments.values()) for each in claim(outbox)] == [[b"a", b"b"], [b"b"], []]


def test_settling_rewrites_nothing_of_the_content(outbox: Outbox, clock: Clock) -> None:
    """State and content are apart: what a claim and a settle change is the narrow row alone."""
    outbox.enqueue(email(text="large " * 10_000, attachments=[Attachment("a.bin", b"a" * 100_000)]))
    with outbox.database.transaction() as connection:
        tables = outbox.database.dialect.tables
        for name in ("contents", "attachments", "terms"):
            connection.execute(_FORBID[outbox.database.dialect.name].format(table=f"{tables}{name}", name=name))

    [claimed] = claim(outbox)
    assert settle(outbox, [sent(claimed)]) == {claimed.id}

    with pytest.raises(Exception, match="content was rewritten"), outbox.database.transaction() as connection:
        connection.execute(f"UPDATE {tables}contents SET text = text")


# Triggers that refuse every change; each database has its own way to write one.
_FORBID = {
    "sqlite": (
        "CREATE TRIGGER forbid_{name} BEFORE UPDATE ON {table} BEGIN SELECT raise(ABORT, 'content was rewritten'); END"
    ),
    "postgres": (
        "CREATE FUNCTION forbid_{name}() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE 'content was rewritten'; END $$; "
        "CREATE TRIGGER forbid BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION forbid_{name}()"
    ),
}
