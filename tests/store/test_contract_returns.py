"""What comes back is noted once, with all that follows from it and nothing else, on both stores (F5, P12)."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from datetime import date, timedelta
from itertools import permutations
from typing import Any

import pytest

from postroom import Outbox, Status, Webhook
from postroom.store.ids import new_id
from postroom.store.listening import Changed, Listener
from postroom.store.matching import GONE, UNKNOWN, UNMENTIONED
from postroom.store.notes import KEPT, KEPT_UNCLEAR
from postroom.store.plan import Plan, ask, ask_sql
from postroom.store.returns import (
    Mention,
    Note,
    Noted,
    Raw,
    note_returns,
    read_return,
    returns,
    returns_at_address,
    returns_of_email,
    returns_of_emails,
)
from postroom.store.schema import migrations
from postroom.store.suppressions import Suppression, suppressions
from postroom.vocabulary import BounceClass, Change, EmailId, Return, SuppressionReason, SuppressionScope
from tests.store.journey import Clock, bring_to, claim, email, sent, settle
from tests.store.stream import read_until

ADA = "ada@example.org"


@pytest.fixture
def ours(outbox: Outbox) -> EmailId:
    """An email to Ada that was sent."""
    return bring_to(outbox, Status.SENT, workspace="hotel")


def mention(outbox: Outbox, id: EmailId) -> Mention:
    return Mention(id=id, message_id=outbox.get(id).message_id)


def bounce(*mentions: Mention, source_id: str = "1", **fields: Any) -> Note:
    usual: dict[str, Any] = {
        "source": "mail", "source_id": source_id, "what": Return.BOUNCED, "mentions": mentions, "address": ADA,
        "bounce_class": BounceClass.PERMANENT, "status": "5.1.1", "code": 550,
    }  # fmt: skip
    return Note(**(usual | fields))


def note(outbox: Outbox, *notes: Note, raw: Raw | None = None) -> list[Noted]:
    return outbox.database.run(note_returns(notes, raw=raw))


def stopped(outbox: Outbox) -> list[Suppression]:
    return outbox.database.run(suppressions(limit=100))


def test_a_bounce_is_in_the_history_the_stream_and_beside_the_recipient(
    outbox: Outbox, clock: Clock, ours: EmailId
) -> None:
    [noted] = note(outbox, bounce(mention(outbox, ours)))
    email = outbox.get(ours)
    [fate] = [each.returned for each in email.recipients]
    [*_, event] = read_until(outbox, 2)

    assert (noted.email_id, noted.duplicate, noted.suppressed) == (ours, False, True)
    assert (email.status, email.history[-1].what) == (Status.SENT, "bounced")
    assert email.history[-1].detail == {"return": noted.id, "class": "permanent", "status": "5.1.1", "code": 550}
    assert fate is not None
    assert (fate.what, fate.bounce_class, fate.code, fate.at) == (Return.BOUNCED, BounceClass.PERMANENT, 550, clock.now)
    assert (event.change, event.email_id, event.workspace) == (Change.BOUNCED, ours, "hotel")
    assert outbox.conservation().holds


def test_a_hard_bounce_stops_mail_to_the_address_in_the_workspace_of_the_email(outbox: Outbox, ours: EmailId) -> None:
    note(outbox, bounce(mention(outbox, ours)))
    [entry] = stopped(outbox)

    assert (entry.address, entry.scope, entry.workspace) == (ADA, SuppressionScope.WORKSPACE, "hotel")
    assert (entry.reason, entry.email_id) == (SuppressionReason.HARD_BOUNCE, ours)
    assert "550 5.1.1" in entry.evidence


def test_a_complaint_stops_mail_if_the_reader_has_made_it(outbox: Outbox, ours: EmailId) -> None:
    about = mention(outbox, ours)
    machine = bounce(about, what=Return.COMPLAINED, bounce_class=None, feedback="auth-failure")
    reader = replace(machine, source_id="2", feedback="abuse", objected=True)

    assert not note(outbox, machine)[0].suppressed
    assert note(outbox, reader)[0].suppressed
    assert [entry.reason for entry in stopped(outbox)] == [SuppressionReason.COMPLAINT]


@pytest.mark.parametrize("what", [what for what in Return if what is not Return.COMPLAINED])
@pytest.mark.parametrize("bounce_class", [None, BounceClass.TRANSIENT, BounceClass.UNDETERMINED])
def test_nothing_else_stops_anybody(
    outbox: Outbox, ours: EmailId, what: Return, bounce_class: BounceClass | None
) -> None:
    [noted] = note(outbox, bounce(mention(outbox, ours), what=what, bounce_class=bounce_class))

    assert (noted.email_id, stopped(outbox)) == (ours, [])


def test_a_message_taken_in_twice_is_one_event(outbox: Outbox, ours: EmailId) -> None:
    about = mention(outbox, ours)
    [first], [again] = note(outbox, bounce(about)), note(outbox, bounce(about))

    assert (first.duplicate, again.duplicate, again.suppressed) == (False, True, False)
    assert [entry.what for entry in outbox.get(ours).history] == ["bounced"]
    assert len(outbox.database.run(returns(limit=9))) == 1
    assert [each.change for each in read_until(outbox, 2)].count(Change.BOUNCED) == 1


def test_taken_in_by_many_at_once_it_is_one_event(outbox: Outbox, ours: EmailId) -> None:
    about, results = mention(outbox, ours), list[Noted]()
    together = threading.Barrier(6)

    def take() -> None:
        together.wait()
        results.extend(note(outbox, bounce(about), bounce(about, part=1, what=Return.REPLIED, bounce_class=None)))

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(results), sum(not each.duplicate for each in results)) == (12, 2)
    assert sorted(entry.what for entry in outbox.get(ours).history) == ["bounced", "replied"]


# ---------------------------------------------------------------- forged and strange ones


def test_a_forged_bounce_about_a_stranger_stops_nobody(outbox: Outbox, ours: EmailId) -> None:
    [noted] = note(outbox, bounce(mention(outbox, ours), address="grace@example.org"))

    assert (noted.email_id, noted.suppressed, stopped(outbox)) == (ours, False, [])


@pytest.mark.parametrize("message_id", ["", "<>", "<else@example.org>"])
def test_an_id_alone_is_not_believed_the_message_id_must_be_the_email_s(
    outbox: Outbox, ours: EmailId, message_id: str
) -> None:
    [noted] = note(outbox, bounce(Mention(id=ours, message_id=message_id)))

    assert (noted.email_id, noted.note.problem, stopped(outbox)) == (None, UNKNOWN, [])
    assert outbox.get(ours).history == ()


def test_a_bounce_that_mentions_no_email_is_kept_and_shown(outbox: Outbox) -> None:
    [noted] = note(outbox, bounce())
    [kept] = outbox.database.run(returns(limit=9, unclear=True))

    assert (kept.id, kept.email_id, kept.problem, kept.address) == (noted.id, None, UNMENTIONED, ADA)
    assert stopped(outbox) == []


def test_a_signed_mention_needs_no_message_id_and_no_name(outbox: Outbox, ours: EmailId) -> None:
    [noted] = note(outbox, bounce(Mention(id=ours, signed=True), address=""))

    assert (noted.email_id, noted.note.address, noted.suppressed) == (ours, ADA, True)


def test_a_signed_bounce_of_a_forwarded_email_is_told_of_and_stops_nobody(outbox: Outbox, ours: EmailId) -> None:
    [noted] = note(outbox, bounce(Mention(id=ours, signed=True), address="ada@elsewhere.example"))

    assert (noted.note.address, noted.suppressed) == ("ada@elsewhere.example", False)
    assert outbox.get(ours).recipients[0].returned is not None
    assert stopped(outbox) == []


def test_a_message_that_names_many_strangers_says_it_once(outbox: Outbox, ours: EmailId) -> None:
    about = Mention(id=ours, signed=True)
    noted = note(outbox, *(bounce(about, part=part, address=f"x{part}@example.net") for part in range(50)))

    assert (len(noted), {each.duplicate for each in noted}) == (50, {False})
    assert [entry.what for entry in outbox.get(ours).history] == ["bounced"]


def test_what_is_no_email_is_about_nobody_s_mailbox(outbox: Outbox) -> None:
    hook = outbox.enqueue(Webhook(url="https://example.org/hook", event="e"), route="webhooks").id
    [noted] = note(outbox, bounce(Mention(id=hook, signed=True), address=""))

    assert (noted.suppressed, noted.note.problem, stopped(outbox)) == (False, GONE, [])


def test_an_alias_that_the_report_names_is_the_recipient(outbox: Outbox, ours: EmailId) -> None:
    aliased = bounce(mention(outbox, ours), address="ada@elsewhere.example", aliases=("ADA@example.org",))

    assert note(outbox, aliased)[0].note.address == ADA
    assert [entry.address for entry in stopped(outbox)] == [ADA]


def test_of_several_recipients_only_the_one_that_is_named_has_a_fate(outbox: Outbox) -> None:
    id = outbox.enqueue(email(to=[ADA, "grace@example.org"])).id
    settle(outbox, [sent(each) for each in claim(outbox)])
    about = Mention(id=id, signed=True)
    note(outbox, bounce(about, address="grace@example.org"), bounce(about, part=1, address=""))

    assert [each.returned is not None for each in outbox.get(id).recipients] == [False, True]
    assert [entry.detail.get("recipient") for entry in outbox.get(id).history] == [2, None]
    assert stopped(outbox) == [], "each of them knows what the email is known by, and could say it of the other"


def test_a_bounce_about_an_email_that_was_pruned_is_kept_and_says_so(
    outbox: Outbox, clock: Clock, ours: EmailId
) -> None:
    about = mention(outbox, ours)
    clock.advance(days=60)
    assert outbox.prune(older_than=timedelta(days=30)).removed == 1
    [signed] = note(outbox, bounce(Mention(id=ours, signed=True)))
    [unsigned] = note(outbox, bounce(about, source_id="2"))

    assert (signed.email_id, signed.note.problem) == (ours, GONE)
    assert (unsigned.email_id, unsigned.note.problem) == (None, UNKNOWN)
    assert stopped(outbox) == []
    assert outbox.conservation().holds


# ---------------------------------------------------------------- the second axis


def test_no_late_event_undoes_a_stronger_one_in_any_order(outbox: Outbox, ours: EmailId) -> None:
    about = mention(outbox, ours)
    heard = [
        bounce(about, what=Return.DELIVERED, bounce_class=None, status="2.0.0", code=250),
        bounce(about, bounce_class=BounceClass.TRANSIENT, status="4.2.2", code=452),
        bounce(about),
    ]
    ends = set()
    for round, order in enumerate(permutations(heard)):
        outbox.database.run(forget_fates(outbox))
        for number, each in enumerate(order):
            note(outbox, replace(each, source_id=f"{round}.{number}"))
        fate = outbox.get(ours).recipients[0].returned
        assert fate is not None
        ends.add((fate.what, fate.bounce_class, fate.status, fate.code))

    assert ends == {(Return.BOUNCED, BounceClass.PERMANENT, "5.1.1", 550)}


def forget_fates(outbox: Outbox) -> Plan[None]:
    yield ask_sql(f"DELETE FROM {outbox.database.dialect.tables}fates")


def test_a_return_made_without_a_message_is_noted_like_any_other(outbox: Outbox, ours: EmailId) -> None:
    """As a page for unsubscribing does it."""
    wish = Note(
        source="unsubscribe",
        source_id=ours,
        what=Return.UNSUBSCRIBED,
        mentions=(Mention(id=ours, signed=True),),
        address=ADA,
    )
    [noted], [again] = note(outbox, wish), note(outbox, wish)
    fate = outbox.get(ours).recipients[0].returned

    assert (noted.email_id, noted.duplicate, again.duplicate) == (ours, False, True)
    assert (fate and fate.what) is Return.UNSUBSCRIBED


def test_those_who_listen_hear_of_it_once(outbox: Outbox, ours: EmailId) -> None:
    heard: list[Changed] = []

    def hear(changed: Any) -> Plan[None]:
        heard.extend(changed)
        yield from ()

    outbox.database.listeners = (Listener("test", hear),)
    about = mention(outbox, ours)
    note(outbox, bounce(about))
    note(outbox, bounce(about))

    assert [(each.id, each.change, each.status) for each in heard] == [(ours, Change.BOUNCED, Status.SENT)]


# ---------------------------------------------------------------- what is kept


def test_everything_about_a_return_is_kept_as_it_was_read(outbox: Outbox, clock: Clock, ours: EmailId) -> None:
    raw = Raw(content=b"\0\xff From: x\r\n", size=70_000)
    given = bounce(
        mention(outbox, ours), what=Return.AUTORESPONDED, bounce_class=None, text="away\0 until\r\nMonday \ud800",
        message_id="<r@example.org>", reader="thread", until=date(2026, 4, 1), feedback="",
    )  # fmt: skip
    [noted] = note(outbox, given, raw=raw)
    assert noted.id is not None
    found = outbox.database.run(read_return(noted.id))
    assert found is not None
    kept, message = found

    assert message == raw
    assert (kept.text, kept.until, kept.reader) == ("away until Monday", date(2026, 4, 1), "thread")
    assert (kept.received_at, kept.email_id, kept.message_id) == (clock.now, ours, "<r@example.org>")
    assert outbox.database.run(returns_of_email(ours, limit=9)) == [kept]
    assert outbox.database.run(read_return(new_id())) is None


def test_a_message_about_a_sensitive_email_is_not_kept_for_it_may_quote_it(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.SENT, sensitive=True)
    [noted] = note(outbox, bounce(Mention(id=id, signed=True)), raw=Raw(content=b"your code is 1234", size=17))
    assert noted.id is not None
    found = outbox.database.run(read_return(noted.id))

    assert found is not None
    assert found[1] is None


def test_of_a_long_message_more_is_kept_where_a_person_has_to_look(outbox: Outbox, ours: EmailId) -> None:
    long = Raw(content=b"x" * 2_000_000, size=2_000_000)
    [matched] = note(outbox, bounce(mention(outbox, ours)), raw=long)
    [unmatched] = note(outbox, bounce(source_id="2"), raw=long)
    sizes = []
    for id in (matched.id, unmatched.id):
        assert id is not None
        found = outbox.database.run(read_return(id))
        assert found is not None
        assert found[1] is not None
        sizes.append((len(found[1].content), found[1].size))

    assert sizes == [(KEPT, 2_000_000), (KEPT_UNCLEAR, 2_000_000)]


def test_returns_are_listed_latest_first_page_by_page(outbox: Outbox) -> None:
    ids = [note(outbox, bounce(source_id=str(number)))[0].id for number in range(3)]
    first = outbox.database.run(returns(limit=2))
    second = outbox.database.run(returns(limit=2, before=first[-1].id))

    assert [each.id for each in (*first, *second)] == ids[::-1]
    assert outbox.database.run(returns(limit=9, what="unreadable")) == []


def test_messages_go_before_what_they_said_and_fates_with_their_email(
    outbox: Outbox, clock: Clock, ours: EmailId
) -> None:
    [noted] = note(outbox, bounce(mention(outbox, ours)), raw=Raw(content=b"x", size=1))
    assert noted.id is not None
    clock.advance(days=40)
    outbox.prune(older_than=timedelta(days=30))
    found = outbox.database.run(read_return(noted.id))
    assert found is not None

    assert found[1] is None
    clock.advance(days=60)
    outbox.prune(older_than=timedelta(days=30))
    assert outbox.database.run(read_return(noted.id)) is None
    assert stopped(outbox) != []


# ---------------------------------------------------------------- in whose workspace, and lists of some


def test_a_return_is_in_the_workspace_of_its_email_for_good(outbox: Outbox, ours: EmailId) -> None:
    note(outbox, bounce(mention(outbox, ours)))
    note(outbox, bounce(source_id="2"))
    outbox.database.run(_forget(ours))

    assert [each.workspace for each in outbox.database.run(returns(limit=9))] == [None, "hotel"]


def test_what_came_back_before_an_upgrade_is_put_into_its_workspace(outbox: Outbox, ours: EmailId) -> None:
    note(outbox, bounce(mention(outbox, ours)))
    note(outbox, bounce(source_id="2"))
    dialect = outbox.database.dialect
    [migration] = [each for each in migrations(dialect.name) if each.name == "returns_shown"]
    [update] = re.findall(r"^UPDATE .*?(?=;$)", migration.sql, re.MULTILINE | re.DOTALL)

    def before() -> Plan[None]:
        yield ask_sql(f"UPDATE {dialect.tables}returns SET workspace = NULL")
        yield ask_sql(update)

    outbox.database.run(before())
    assert [each.workspace for each in outbox.database.run(returns(limit=9))] == [None, "hotel"]


def test_a_list_is_of_a_kind_of_an_address_or_of_some_workspaces(outbox: Outbox) -> None:
    of = {name: bring_to(outbox, Status.SENT, workspace=name) for name in ("hotel", "bakery", "bank")}
    for number, (name, id) in enumerate(of.items()):
        note(outbox, bounce(mention(outbox, id), source_id=f"b{number}"))
        note(outbox, bounce(mention(outbox, id), source_id=f"r{number}", what=Return.REPLIED, address=f"{name}@x.org"))
    note(outbox, bounce(source_id="u", what="unreadable", address=""))

    def listed(**how: Any) -> list[tuple[str, str | None]]:
        return [(each.what, each.workspace) for each in outbox.database.run(returns(**({"limit": 9} | how)))]

    assert listed(what="replied") == [("replied", "bank"), ("replied", "bakery"), ("replied", "hotel")]
    assert listed(what="replied", limit=1) == [("replied", "bank")]
    assert listed(workspaces=("hotel", "bakery"), limit=3) == [
        ("replied", "bakery"), ("bounced", "bakery"), ("replied", "hotel"),
    ]  # fmt: skip
    assert listed(workspaces=("hotel", "bakery"), what="bounced") == [("bounced", "bakery"), ("bounced", "hotel")]
    assert listed(workspaces=()) == []
    assert listed(unclear=True) == listed(unclear=True, what="unreadable") == [("unreadable", None)]
    assert listed(unclear=True, what="bounced") == listed(unclear=True, workspaces=("hotel",)) == []
    at = outbox.database.run(returns_at_address("Hotel@X.org", limit=9))
    assert [(each.what, each.workspace) for each in at] == [("replied", "hotel")]
    assert outbox.database.run(returns_at_address("hotel@x.org", limit=9, workspaces=("bakery",))) == []
    assert len(outbox.database.run(returns_at_address(ADA, limit=9, workspaces=("bakery", "bank")))) == 2
    assert {each.email_id for each in outbox.database.run(returns_of_emails(of.values(), limit=1))} == {*of.values()}


def test_what_is_unreadable_about_a_known_email_is_unclear_in_its_workspace(outbox: Outbox, ours: EmailId) -> None:
    note(outbox, bounce(Mention(id=ours, signed=True), what="unreadable"))
    [found] = outbox.database.run(returns(limit=9, unclear=True, workspaces=("hotel",)))

    assert (found.what, found.email_id, found.unclear) == ("unreadable", ours, True)
    assert outbox.database.run(returns(limit=9, unclear=True, what="bounced", workspaces=("hotel",))) == []


def _forget(id: EmailId) -> Plan[None]:
    yield ask("forget", ids=[id], events=True)
