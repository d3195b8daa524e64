"""What comes back stops campaigns in the transaction that takes it down (P12), and campaigns look after themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date, timedelta
from itertools import count
from random import Random
from typing import Any

import pytest

from postroom.campaigns.looking.explaining import explain
from postroom.campaigns.looking.totals import discrepancies, totals_of
from postroom.campaigns.sending.acting import (
    pause_campaign,
    pause_prospect,
    resume_campaign,
    resume_prospect,
    stop_in_campaign,
)
from postroom.campaigns.stopping.following import hold_campaigns
from postroom.campaigns.stopping.suppressing import suppress_in_campaigns
from postroom.operate import Operations
from postroom.returns.intake import Taker
from postroom.returns.recording import record_returns
from postroom.returns.unsubscribing.asking import Wish
from postroom.returns.unsubscribing.recording import resubscribed, unsubscribed
from postroom.sealing import Ticket
from postroom.store.contract import Claimed, Settlement
from postroom.store.plan import Plan, ask, ask_sql
from postroom.store.returns import Mention, Note, Noted
from postroom.store.suppressions import Stop, suppressions
from postroom.vocabulary import (
    BounceClass,
    CampaignStatus,
    EmailId,
    EnrolmentStatus,
    Return,
    Status,
    SuppressionReason,
    SuppressionScope,
)
from tests.campaigns.sending.stage import MONDAY, OPEN_ALWAYS, SHOP, Fate, Stage, dead, fails, in_doubt, sent

WAITED_FOR = "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
_ids = count(1)


def about(stage: Stage, what: Return, key: str, campaign: str = "spring", **fields: Any) -> Note:
    """What somebody's mail system, or somebody, says to a mail that was sent."""
    mail = stage.mail(key, campaign)
    usual: dict[str, Any] = {
        "source": "mail", "source_id": str(next(_ids)), "what": what, "address": f"{mail.prospect_id}@example.org",
        "mentions": (Mention(id=mail.id, message_id=mail.message_id or ""),),
    }  # fmt: skip
    if what is Return.BOUNCED:
        usual |= {"bounce_class": BounceClass.PERMANENT, "code": 550, "status": "5.1.1"}
    return Note(**(usual | {"objected": what is Return.COMPLAINED} | fields))


def came_back(stage: Stage, *notes: Note) -> list[Noted]:
    return stage.run(record_returns(notes))


def ticket(stage: Stage, key: str, **fields: Any) -> Ticket:
    mail = stage.mail(key)
    usual: dict[str, Any] = {
        "email_id": mail.id, "address": f"{mail.prospect_id}@example.org", "workspace": SHOP, "kind": "campaign",
    }  # fmt: skip
    return Ticket(**(usual | fields))


@pytest.fixture
def two(stage: Stage) -> Stage:
    """Two campaigns, and the first mail of the first is sent to p1."""
    stage.settings()
    stage.launched("spring", 2, (0, 1))
    stage.draft("summer", ["p1", "p2"])
    assert stage.send() == "p1:spring-words:1"
    stage.launch("summer")
    return stage


def ended(stage: Stage, prospect: str = "p1") -> dict[str, tuple[str, str | None]]:
    found = {campaign: stage.enrolments(campaign)[prospect] for campaign in ("spring", "summer")}
    return {campaign: (each.status.value, each.reason) for campaign, each in found.items()}


def balanced(stage: Stage, *campaigns: str) -> bool:
    return not any(stage.go_through(discrepancies(SHOP, each)) for each in campaigns)


# ---------------------------------------------------------------- P12


def test_a_reply_stops_the_campaign_p12(two: Stage) -> None:
    """And no other: whoever answers one may still get another."""
    came_back(two, about(two, Return.REPLIED, "p1:spring-words:1"))

    assert ended(two) == {"spring": ("replied", "replied"), "summer": ("active", None)}
    assert two.mail("p1:spring-words:2").reason == "replied"
    two.send_until(MONDAY + timedelta(days=4))
    assert [each.key for each in two.log] == [
        "p1:spring-words:1", "p2:spring-words:1", "p1:summer-words:1", "p2:summer-words:1", "p2:spring-words:2",
    ]  # fmt: skip
    assert two.run(totals_of(SHOP, "spring")).stopped == {"replied": 1}
    assert two.campaign("spring").status is CampaignStatus.COMPLETED
    assert balanced(two, "spring", "summer")


def test_a_reply_from_another_address_stops_it_all_the_same_p12(two: Stage) -> None:
    came_back(two, about(two, Return.REPLIED, "p1:spring-words:1", address="me@home.example"))

    assert ended(two)["spring"] == ("replied", "replied")


def test_a_reply_to_another_email_of_the_workspace_stops_by_the_address_p12(two: Stage) -> None:
    from tests.store.journey import email

    receipt = two.outbox.enqueue(email(to="p1@example.org"), workspace=SHOP)
    elsewhere = two.outbox.enqueue(email(to="p1@example.org"), workspace="elsewhere")
    note = about(two, Return.REPLIED, "p1:spring-words:1", mentions=(mention(two, elsewhere.id),))
    came_back(two, note)
    assert ended(two) == {"spring": ("active", None), "summer": ("active", None)}
    came_back(two, about(two, Return.REPLIED, "p1:spring-words:1", mentions=(mention(two, receipt.id),)))

    assert ended(two) == {"spring": ("replied", "replied"), "summer": ("replied", "replied")}


def ask_sql_of(stage: Stage, sql: str) -> Plan[None]:
    yield ask_sql(sql.format(stage.outbox.database.dialect.tables))


def mention(stage: Stage, id: EmailId) -> Mention:
    return Mention(id=id, message_id=stage.outbox.get(id).message_id)


def test_who_makes_up_a_message_id_stops_nobody_p12(two: Stage) -> None:
    forged = Mention(id=two.mail("p1:spring-words:1").id, message_id="<made-up@example.net>")
    note = about(two, Return.REPLIED, "p1:spring-words:1", mentions=(forged,), address="stranger@example.net")
    came_back(two, note)

    assert ended(two) == {"spring": ("active", None), "summer": ("active", None)}


def test_a_reply_that_names_no_email_is_known_by_its_address_p12(two: Stage) -> None:
    """Some programs lose the headers of a thread."""
    came_back(two, about(two, Return.REPLIED, "p1:spring-words:1", mentions=(), address="P1@example.org"))

    assert ended(two) == {"spring": ("replied", "replied"), "summer": ("replied", "replied")}
    assert ended(two, "p2") == {"spring": ("active", None), "summer": ("active", None)}


BY_HAND = b"From: Pat <P1@example.org>\nTo: desk@example.org\nMessage-ID: <by-hand@example.org>\n"


def written(stage: Stage, octets: bytes) -> Noted:
    """A message as it comes in, taken in, and told as what it was taken for."""
    taken = Taker(stage.outbox).take(octets)
    [noted] = taken.noted
    assert (taken.kind, taken.record()["kind"]) == (noted.note.what, noted.note.what)
    assert taken.record()["reader"] == noted.note.reader
    return noted


@pytest.mark.parametrize("sign", [b"", b"X-Auto-Response-Suppress: All\n", b"List-Id: <g>\nList-Post: <mailto:g>\n"])
def test_who_writes_a_letter_of_their_own_has_answered_p12(two: Stage, sign: bytes) -> None:
    """No thread and no «Re:»: people look an address up and write."""
    noted = written(two, BY_HAND + sign + b"Subject: Your letter\n\nPlease do not write to me again.")

    assert (noted.note.what, noted.note.address, noted.note.reader) == (Return.REPLIED, "p1@example.org", "author")
    assert ended(two) == {"spring": ("replied", "replied"), "summer": ("replied", "replied")}
    assert ended(two, "p2") == {"spring": ("active", None), "summer": ("active", None)}
    assert two.run(suppressions(limit=9)) == []
    assert balanced(two, "spring", "summer")


@pytest.mark.parametrize(
    "octets",
    [
        BY_HAND.replace(b"P1@", b"stranger@") + b"Subject: Your letter\n\nPlease do not write to me again.",
        BY_HAND + b"Auto-Submitted: auto-generated\nSubject: Ticket 12\n\nWe have opened a ticket.",
        BY_HAND + b"Return-Path: <>\nSubject: Your letter\n\nWe have it.",
        BY_HAND + b"Precedence: bulk\nSubject: Your letter\n\nWe have it.",
        BY_HAND + b"List-Unsubscribe: <mailto:l@example.org>\nSubject: Our news\n\nMuch has happened.",
        BY_HAND.replace(b"P1@", b"p1@example.net, p2@") + b"Subject: Your letter\n\nWhose?",
        BY_HAND + b"Subject: Mail delivery failed\n\nA message could not be delivered to the following address.",
    ],
    ids=["a stranger", "a program", "nobody", "a machine for many", "a newsletter", "two", "a report"],
)
def test_what_no_prospect_has_written_by_hand_stops_nobody_p12(two: Stage, octets: bytes) -> None:
    assert written(two, octets).note.what == "unreadable"
    assert ended(two) == {"spring": ("active", None), "summer": ("active", None)}


@pytest.mark.parametrize("subject", [b"unsubscribe", b"Re: unsubscribe"])
def test_who_asks_to_be_left_out_in_a_letter_of_their_own_is_p12(two: Stage, subject: bytes) -> None:
    """In their name anybody may: so campaigns alone leave them out, and a receipt or another letter still arrives."""
    written(two, BY_HAND + b"Subject: " + subject + b"\n\nunsubscribe")

    assert ended(two) == {"spring": ("unsubscribed", "unsubscribed"), "summer": ("unsubscribed", "unsubscribed")}
    assert ended(two, "p2") == {"spring": ("active", None), "summer": ("active", None)}
    [entry] = two.run(suppressions(limit=9))
    assert (entry.address, entry.reason) == ("p1@example.org", SuppressionReason.UNSUBSCRIBE)
    assert (entry.scope, entry.workspace, entry.kind) == (SuppressionScope.KIND, SHOP, "campaign")
    two.send_until(MONDAY + timedelta(days=4))
    assert [each.key for each in two.log[1:]] == ["p2:spring-words:1", "p2:summer-words:1", "p2:spring-words:2"]
    assert balanced(two, "spring", "summer")


def test_a_stranger_who_asks_to_be_left_out_is_no_prospect_p12(two: Stage) -> None:
    written(two, BY_HAND.replace(b"P1@", b"stranger@") + b"Subject: unsubscribe\n\nunsubscribe")

    assert ended(two) == {"spring": ("active", None), "summer": ("active", None)}
    assert two.run(suppressions(limit=9)) == []


def test_who_answers_another_email_with_unsubscribe_is_left_out_p12(two: Stage) -> None:
    from tests.store.journey import email

    receipt = two.outbox.enqueue(email(to="p1@example.org"), workspace=SHOP)
    came_back(two, about(two, Return.UNSUBSCRIBED, "p1:spring-words:1", mentions=(mention(two, receipt.id),)))

    assert ended(two) == {"spring": ("unsubscribed", "unsubscribed"), "summer": ("unsubscribed", "unsubscribed")}


def test_nobody_is_put_off_by_who_writes_in_their_name(two: Stage) -> None:
    """Whoever has any email of the workspace could answer it as somebody else."""
    from tests.store.journey import email

    receipt = two.outbox.enqueue(email(to="mallory@example.net"), workspace=SHOP)
    forged = {"mentions": (mention(two, receipt.id),), "until": date(2026, 6, 1)}
    came_back(two, about(two, Return.AUTORESPONDED, "p1:spring-words:1", **forged))

    assert {each.not_before for each in (*two.mails("spring"), *two.mails("summer"))} == {None}


def test_who_answers_a_cancelled_campaign_is_not_in_it_when_it_is_launched_again_p12(two: Stage) -> None:
    two.cancel()
    came_back(two, about(two, Return.REPLIED, "p1:spring-words:1"))
    two.launch("spring", again=True)
    two.send_until(MONDAY + timedelta(days=4))

    assert ended(two)["spring"] == ("replied", "replied")
    assert "p1:spring-words:2" not in [each.key for each in two.log]
    assert "p2:spring-words:2" in [each.key for each in two.log]
    assert balanced(two, "spring", "summer")


def test_who_is_stopped_by_hand_after_a_cancel_is_not_in_it_when_it_is_launched_again(two: Stage) -> None:
    two.cancel()
    assert two.run(stop_in_campaign(SHOP, "spring", "p1", reason="asked on the phone")).campaigns == ("spring",)
    assert not two.run(stop_in_campaign(SHOP, "spring", "p1", reason="asked on the phone"))
    two.launch("spring", again=True)
    two.send_until(MONDAY + timedelta(days=4))

    assert ended(two)["spring"] == ("stopped", "asked on the phone")
    assert "p1:spring-words:2" not in [each.key for each in two.log]
    assert "p2:spring-words:2" in [each.key for each in two.log]
    assert balanced(two, "spring", "summer")


def test_who_was_paused_before_a_cancel_is_so_when_it_is_launched_again(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2, (0, 0))
    stage.run(pause_prospect(SHOP, "spring", "p1"))
    stage.cancel()
    stage.launch("spring", again=True)
    stage.send_until(MONDAY + timedelta(days=2))

    assert stage.enrolments()["p1"].status is EnrolmentStatus.PAUSED
    assert [each.key for each in stage.log] == ["p2:spring-words:1", "p2:spring-words:2"]
    stage.run(resume_prospect(SHOP, "spring", "p1"))
    stage.send_until(MONDAY + timedelta(days=4))
    assert [each.key for each in stage.log][2:] == ["p1:spring-words:1", "p1:spring-words:2"]
    assert stage.campaign().status is CampaignStatus.COMPLETED


def test_who_is_stopped_by_hand_after_a_dead_step_gets_nothing_when_it_is_retried(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(dead(email))
    stage.nothing_leaves()
    stage.run(stop_in_campaign(SHOP, "spring", "p1", reason="asked on the phone"))
    stage.outbox.retry(email.id)
    stage.nothing_leaves()

    assert stage.outbox.get(email.id).status is Status.CANCELLED
    assert set(stage.states().values()) == {"stopped"}
    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert balanced(stage, "spring")


def fails_for_now(email: Claimed) -> Settlement:
    return fails(email, MONDAY)


def is_in_doubt(email: Claimed) -> Settlement:
    return in_doubt(email, None)


@pytest.mark.parametrize("fate", [fails_for_now, is_in_doubt])
def test_who_is_stopped_by_hand_gets_nothing_of_what_is_replayed(stage: Stage, fate: Fate) -> None:
    """Whatever their mail was about when they were stopped: retrying, in hand, or in doubt."""
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(fate(email))
    stage.tick()
    stage.run(stop_in_campaign(SHOP, "spring", "p1", reason="asked on the phone"))
    if stage.outbox.get(email.id).status is Status.IN_DOUBT:
        stage.outbox.retry(email.id)
    stage.nothing_leaves()
    assert stage.outbox.get(email.id).status is Status.CANCELLED
    stage.outbox.replay(email.id)
    stage.nothing_leaves()

    assert stage.outbox.get(email.id).status is Status.CANCELLED
    assert stage.enrolments()["p1"].reason == "asked on the phone"
    assert set(stage.states().values()) == {"stopped"}
    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert balanced(stage, "spring")


def test_who_is_stopped_by_hand_while_their_mail_is_in_hand_gets_nothing_of_it_when_it_is_replayed(
    stage: Stage,
) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.run(stop_in_campaign(SHOP, "spring", "p1", reason="asked on the phone"))
    stage.settle(fails(email, stage.clock.now))
    stage.nothing_leaves()
    stage.outbox.replay(email.id)
    stage.nothing_leaves()

    assert stage.outbox.get(email.id).status is Status.CANCELLED
    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert balanced(stage, "spring")


@pytest.mark.parametrize("reason", ["permanent", "asked on the phone"])
def test_a_stop_by_hand_holds_also_where_it_says_what_the_mail_says(stage: Stage, reason: str) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(dead(email))
    stage.nothing_leaves()
    assert stage.enrolments()["p1"].reason == "permanent"
    stage.run(stop_in_campaign(SHOP, "spring", "p1", reason=reason))
    stage.outbox.retry(email.id)
    stage.nothing_leaves()

    assert stage.enrolments()["p1"].status is EnrolmentStatus.STOPPED
    assert stage.outbox.get(email.id).status is Status.CANCELLED


def test_whom_an_entry_has_stopped_stays_so_when_it_is_taken_away(stage: Stage) -> None:
    """Who comes back is not mailed by surprise."""
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(fails(email, stage.clock.now))
    entry = stage.outbox.suppress("p1@example.org")
    stage.nothing_leaves()
    assert stage.outbox.unsuppress(entry.id)
    stage.outbox.replay(email.id)
    stage.nothing_leaves()

    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert balanced(stage, "spring")


def test_what_a_mail_has_ended_goes_on_when_it_is_sent_after_all(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(dead(email))
    stage.nothing_leaves()
    assert stage.campaign().status is CampaignStatus.COMPLETED
    stage.outbox.retry(email.id)
    stage.send_until(MONDAY + timedelta(days=1))

    assert [each.key for each in stage.log] == ["p1:spring-words:1", "p1:spring-words:2"]
    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert balanced(stage, "spring")


def test_who_was_paused_when_their_mail_was_given_up_is_so_when_it_is_retried(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.run(pause_prospect(SHOP, "spring", "p1"))
    stage.settle(dead(email))
    stage.nothing_leaves()
    stage.outbox.retry(email.id)
    stage.send_until(MONDAY + timedelta(hours=1))
    assert stage.log == []
    assert stage.enrolments()["p1"].status is EnrolmentStatus.PAUSED
    assert balanced(stage, "spring")
    stage.run(resume_prospect(SHOP, "spring", "p1"))
    stage.send_until(MONDAY + timedelta(days=1))

    assert [each.key for each in stage.log] == ["p1:spring-words:1", "p1:spring-words:2"]
    assert stage.campaign().status is CampaignStatus.COMPLETED


def test_what_a_person_replays_of_a_cancelled_campaign_leaves_nobody_in_it(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(dead(email))
    stage.cancel()
    stage.nothing_leaves()
    stage.outbox.retry(email.id)
    stage.nothing_leaves()

    assert stage.enrolments()["p1"].status is EnrolmentStatus.STOPPED
    assert stage.outbox.get(email.id).status is Status.CANCELLED


def test_a_workspace_whose_settings_nobody_can_read_here_keeps_no_other_waiting(stage: Stage) -> None:
    """They are of a newer release, or for a clock that this machine does not know. Its own mail waits."""
    strange, other = Stage(stage.outbox, stage.clock, "a strange one"), Stage(stage.outbox, stage.clock, "another")
    for each in (strange, other):
        each.settings()
        each.launched("spring", 1, (0, 0))
    emails = {email.workspace: email for email in (strange.claim(), other.claim())}
    settings = """UPDATE {}sending_settings SET settings = '{{"timezone": "Mars/Olympus"}}'"""
    stage.run(ask_sql_of(stage, f"{settings} WHERE workspace = 'a strange one'"))
    for each in (strange, other):
        each.settle(sent(emails[each.workspace]))
    unread = {found.passed for found in (stage.tick() for _ in range(2)) if found.unread}
    assert unread == {"a strange one"}
    while stage.tick(unread=sorted(unread)).worked:
        pass

    assert other.states() == {"p1:spring-words:1": "sent", "p1:spring-words:2": "ready"}
    assert strange.states() == {"p1:spring-words:1": "leaving", "p1:spring-words:2": "waiting"}


def test_a_campaign_that_this_worker_cannot_write_waits_for_one_that_can(two: Stage) -> None:
    """Its template is of a portal that another worker knows: nothing is dead, and other workspaces go on."""
    template = "UPDATE {}steps SET template = 'hub.hello', text = NULL, html = NULL, subject = NULL"
    two.run(ask_sql_of(two, template))
    two.advance(minutes=10)
    found = two.tick("another worker")

    assert (found.passed, found.trouble, found.claimed) == (SHOP, True, None)
    assert "dead" not in {each.state.value for each in two.mails("spring")}
    assert not two.tick("another worker", passed=[SHOP]).worked


@pytest.mark.parametrize(
    ("what", "status", "reason", "word"),
    [
        (Return.BOUNCED, "bounced", "bounced: 550 5.1.1", "bounced"),
        (Return.COMPLAINED, "complained", "complained", "complained"),
    ],
)
def test_a_hard_bounce_and_a_complaint_stop_the_whole_workspace_p12(
    two: Stage, what: Return, status: str, reason: str, word: str
) -> None:
    [noted] = came_back(two, about(two, what, "p1:spring-words:1"))

    assert noted.suppressed
    assert ended(two) == {"spring": (status, reason), "summer": (status, reason)}
    assert two.run(totals_of(SHOP, "summer")).stopped == {word: 1}
    two.send_until(MONDAY + timedelta(days=4))
    assert [each.key for each in two.log[1:]] == ["p2:spring-words:1", "p2:summer-words:1", "p2:spring-words:2"]
    assert balanced(two, "spring", "summer")


def test_an_unsubscribe_stops_the_whole_workspace_p12(two: Stage) -> None:
    link = ticket(two, "p1:spring-words:1")
    two.run(unsubscribed(link, Wish.ONE_CLICK))
    two.run(unsubscribed(link, Wish.ONE_CLICK))

    assert ended(two) == {"spring": ("unsubscribed", "unsubscribed"), "summer": ("unsubscribed", "unsubscribed")}
    assert two.run(totals_of(SHOP, "spring")).stopped == {"unsubscribed": 1}
    two.run(resubscribed(link))
    assert ended(two)["summer"] == ("unsubscribed", "unsubscribed"), "who comes back is not mailed by surprise"


def test_an_answer_that_says_only_unsubscribe_is_one_p12(two: Stage) -> None:
    came_back(two, about(two, Return.UNSUBSCRIBED, "p1:spring-words:1", address="me@home.example"))

    assert ended(two) == {"spring": ("unsubscribed", "unsubscribed"), "summer": ("unsubscribed", "unsubscribed")}
    [entry] = two.run(suppressions(limit=9))
    assert (entry.address, entry.reason, entry.workspace) == ("p1@example.org", SuppressionReason.UNSUBSCRIBE, SHOP)


def test_an_unsubscribe_from_another_kind_stops_no_campaign_p12(two: Stage) -> None:
    two.run(unsubscribed(ticket(two, "p1:spring-words:1", kind="digest"), Wish.KIND))

    assert ended(two)["summer"] == ("active", None)


@pytest.mark.parametrize(
    "fields",
    [
        {"what": Return.BOUNCED, "bounce_class": BounceClass.TRANSIENT},
        {"what": Return.BOUNCED, "address": "a.stranger@example.net"},
        {"what": Return.COMPLAINED, "objected": False},
        {"what": Return.AUTORESPONDED},
        {"what": Return.DELIVERED},
        {"what": Return.DEFERRED},
    ],
    ids=lambda fields: f"{fields['what']} {'of a stranger' if 'address' in fields else ''}".strip(),
)
def test_nothing_else_stops_anybody_p12(two: Stage, fields: dict[str, Any]) -> None:
    """An answer by a program is none."""
    came_back(two, about(two, **({"key": "p1:spring-words:1"} | fields)))

    assert ended(two) == {"spring": ("active", None), "summer": ("active", None)}


def test_it_is_heard_when_the_email_itself_is_not_kept_p12(two: Stage) -> None:
    two.run(forget(two.mail("p1:spring-words:1").id))
    stranger = about(two, Return.BOUNCED, "p1:spring-words:1", address="a.stranger@example.net")
    came_back(two, stranger)
    assert ended(two)["summer"] == ("active", None)
    alias = about(
        two, Return.BOUNCED, "p1:spring-words:1", address="p1@inside.example.org", aliases=("P1@example.org",)
    )
    came_back(two, alias)

    assert ended(two)["summer"] == ("bounced", "bounced: 550 5.1.1")
    assert [entry.reason for entry in two.run(suppressions(limit=9))] == [SuppressionReason.HARD_BOUNCE]


def test_an_answer_is_heard_when_the_email_itself_is_not_kept_p12(two: Stage) -> None:
    two.run(forget(two.mail("p1:spring-words:1").id))
    came_back(two, about(two, Return.REPLIED, "p1:spring-words:1"))

    assert ended(two) == {"spring": ("replied", "replied"), "summer": ("active", None)}


def forget(id: EmailId) -> Plan[None]:
    yield ask("forget", ids=[id], events=True)


def test_what_waits_for_another_attempt_is_stopped_with_the_same_reason_p12(stage: Stage) -> None:
    """And what a worker has in hand, too, when it comes back; the quota is for others."""
    stage.settings()
    stage.launched("spring", 2, (0, 0))
    stage.send()
    retrying, in_hand = stage.claim(), stage.claim()
    stage.settle(fails(retrying, stage.clock.now))
    for email in (retrying, in_hand):
        stage.run(suppress_of(stage, email))
    assert stage.objection(in_hand) is not None
    stage.settle(fails(in_hand, stage.clock.now))
    stage.nothing_leaves()

    assert {each.reason for each in stage.mails() if each.state == "stopped"} == {"unsubscribed"}
    assert stage.outbox.get(retrying.id).status == "cancelled"
    assert stage.days() == {"2026-03-09": (1, 1)}
    assert balanced(stage, "spring")


def suppress_of(stage: Stage, email: Claimed) -> Plan[Any]:
    return unsubscribed(ticket(stage, stage.key_of(email.id)), Wish.ALL)


# ---------------------------------------------------------------- away


def test_who_is_away_is_left_alone_until_they_are_back_p12(two: Stage) -> None:
    back = date(2026, 3, 13)
    came_back(two, about(two, Return.AUTORESPONDED, "p1:spring-words:1", until=back))
    told = [each.told(OPEN_ALWAYS) for each in two.run(explain(SHOP, "summer"))]
    assert told[0] == "away, next Fri 13 Mar 00:00"
    two.send_until(MONDAY + timedelta(days=6))

    log = {each.key: each.at.date() for each in two.log}
    assert (log["p1:summer-words:1"], log["p1:spring-words:2"]) == (back, back)
    assert (log["p2:summer-words:1"], log["p2:spring-words:2"]) == (date(2026, 3, 9), date(2026, 3, 10))
    assert {two.campaign(each).status for each in ("spring", "summer")} == {CampaignStatus.COMPLETED}


def test_a_follow_up_says_that_its_person_is_away_also_once_its_step_is_due(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 1))
    email = stage.claim()
    note = about(stage, Return.AUTORESPONDED, "p1:spring-words:1", until=date(2026, 3, 20))
    came_back(stage, note)
    stage.settle(sent(email))
    stage.nothing_leaves()

    [waiting] = stage.run(explain(SHOP, "spring"))
    assert waiting.told(OPEN_ALWAYS) == "away, next Fri 20 Mar 00:00"


def test_a_day_that_has_come_holds_nobody(two: Stage) -> None:
    came_back(two, about(two, Return.AUTORESPONDED, "p1:spring-words:1", until=date(2026, 3, 9)))

    assert {each.not_before for each in two.mails("summer")} == {None}


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize("scope", list(SuppressionScope))
def test_whom_a_person_puts_on_the_list_is_stopped_at_once(two: Stage, scope: SuppressionScope) -> None:
    stop = Stop(
        address="P1@example.org",
        reason=SuppressionReason.MANUAL,
        scope=scope,
        workspace="" if scope is SuppressionScope.ALL else SHOP,
        kind="campaign" if scope is SuppressionScope.KIND else "",
    )
    entry = Operations(two.outbox).suppress(stop, by="grace")

    assert ended(two)["summer"] == ("stopped", f"suppressed: {entry}")
    assert two.run(totals_of(SHOP, "summer")).stopped == {"suppressed": 1}
    assert ended(two, "p2")["summer"] == ("active", None)


def test_an_entry_for_other_mail_stops_no_campaign(two: Stage) -> None:
    for fields in ({"scope": SuppressionScope.WORKSPACE, "workspace": "elsewhere"}, {"expires_at": MONDAY}):
        two.run(suppress_in_campaigns([Stop(address="p1@example.org", reason=SuppressionReason.MANUAL, **fields)]))

    assert ended(two) == {"spring": ("active", None), "summer": ("active", None)}


def test_a_list_that_is_imported_stops_everybody_on_it(two: Stage) -> None:
    from io import BytesIO

    report = Operations(two.outbox).import_suppressions(
        BytesIO(b"p1@example.org\np2@example.org\nnobody@example.org\n"), by="grace"
    )

    assert report.added == 3
    assert {two.campaign(each).status for each in ("spring", "summer")} == {CampaignStatus.COMPLETED}


# ---------------------------------------------------------------- limits


@pytest.fixture
def judged(stage: Stage) -> Stage:
    """Twenty mails of a campaign are sent of a hundred; 10 % may bounce, 5 % complain, once 10 were sent."""
    stage.settings(bounce_limit=0.1, complaint_limit=0.05, limit_after=10)
    stage.launched("spring", 100)
    for _ in range(20):
        stage.send()
    stage.tick()
    return stage


def bounce(stage: Stage, *numbers: int, what: Return = Return.BOUNCED) -> None:
    for number in numbers:
        came_back(stage, about(stage, what, f"p{number}:spring-words:1"))


def test_a_campaign_pauses_itself_when_too_much_bounces(judged: Stage) -> None:
    bounce(judged, 1)
    assert judged.campaign().status is CampaignStatus.RUNNING
    bounce(judged, 1)
    assert judged.campaign().status is CampaignStatus.RUNNING, "a mail bounces once, however often it is heard of"
    bounce(judged, 2)

    campaign = judged.campaign()
    assert (campaign.status, campaign.pause_reason) == (CampaignStatus.PAUSED, "2 of 20 bounced, the limit is 10 %")
    assert judged.nothing_leaves() is None
    bounce(judged, 3)
    assert judged.campaign().pause_reason == "3 of 20 bounced, the limit is 10 %"
    assert balanced(judged, "spring")


def test_a_campaign_pauses_itself_when_readers_complain(judged: Stage) -> None:
    bounce(judged, 1, what=Return.COMPLAINED)

    assert judged.campaign().pause_reason == "1 of 20 complained, the limit is 5 %"


def test_whoever_resumes_it_has_it_judged_by_what_leaves_from_then_on(judged: Stage) -> None:
    bounce(judged, 1, 2)
    judged.advance(minutes=1)
    judged.go_through(resume_campaign(SHOP, "spring"))
    bounce(judged, 3, 4)  # of what was sent before
    assert judged.campaign().status is CampaignStatus.RUNNING
    for _ in range(10):
        judged.send()
    judged.tick()
    bounce(judged, 21)

    assert judged.campaign().pause_reason == "1 of 10 bounced, the limit is 10 %"
    assert balanced(judged, "spring")


def test_a_pause_by_hand_forgets_nothing(judged: Stage) -> None:
    bounce(judged, 1)
    judged.run(pause_campaign(SHOP, "spring", reason="lunch"))
    judged.go_through(resume_campaign(SHOP, "spring"))
    bounce(judged, 2)

    assert judged.campaign().pause_reason == "2 of 20 bounced, the limit is 10 %"


def test_the_numbers_show_also_while_a_person_has_paused_it(judged: Stage) -> None:
    """So that nobody resumes it without having seen them."""
    judged.run(pause_campaign(SHOP, "spring", reason="lunch"))
    bounce(judged, 1, 2)

    assert judged.campaign().pause_reason == "2 of 20 bounced, the limit is 10 %"


def test_a_limit_is_judged_as_soon_as_enough_was_sent(stage: Stage) -> None:
    """Also where the bounces came before the last of those mails."""
    stage.settings(bounce_limit=0.5, limit_after=4)
    stage.launched("spring", 10)
    for _ in range(3):
        stage.send()
    stage.tick()
    bounce(stage, 1, 2)
    assert stage.campaign().status is CampaignStatus.RUNNING
    stage.send()
    stage.nothing_leaves()

    assert stage.campaign().pause_reason == "2 of 4 bounced, the limit is 50 %"


# ---------------------------------------------------------------- the books


def anything(stage: Stage, random: Random) -> Callable[[], object]:
    """Something that may come back about a mail that was sent, or be done about its person."""
    key = random.choice([each.key for each in stage.log])
    what = random.choice([Return.REPLIED, Return.BOUNCED, Return.COMPLAINED, Return.AUTORESPONDED])
    note = about(stage, what, key, until=date(2026, 3, 12) if what is Return.AUTORESPONDED else None)
    link = ticket(stage, key)
    return random.choice(
        [
            lambda: came_back(stage, note),
            lambda: came_back(stage, note),
            lambda: (came_back(stage, note), came_back(stage, note)),
            lambda: stage.run(unsubscribed(link, Wish.ALL)),
        ]
    )


@pytest.mark.parametrize("seed", range(3))
def test_in_whatever_order_it_comes_back_the_books_balance(stage: Stage, seed: int) -> None:
    random = Random(seed)
    stage.settings(limit_after=1_000)
    stage.launched("spring", 12, (0, 1, 1))
    stopped: dict[str, int] = {}
    while stage.campaign().status is CampaignStatus.RUNNING:
        found = stage.tick()
        if found.claimed is not None:
            fate = random.choice([sent, sent, sent, lambda email: fails(email, stage.clock.now)])
            stage.settle(fate(found.claimed))
        elif not found.worked:
            assert found.next_at is not None
            stage.clock.now = max(stage.clock.now, found.next_at)
        if stage.log and random.random() < 0.3:
            anything(stage, random)()
            assert balanced(stage, "spring")
        for prospect, each in stage.enrolments().items():
            if each.status not in (EnrolmentStatus.ACTIVE, EnrolmentStatus.COMPLETED):
                stopped.setdefault(prospect, len(stage.log))
    stage.nothing_leaves()

    assert stopped
    for prospect, before in stopped.items():
        assert all(not each.key.startswith(f"{prospect}:") for each in stage.log[before:]), "mailed after the stop"
    totals = stage.run(totals_of(SHOP, "spring"))
    assert (totals.mails, totals.waiting, totals.dead) == (36, 0, {})
    assert totals.states["sent"] + sum(totals.stopped.values()) == 36
    assert not {"cancelled", "suppressed"} & set(totals.stopped)
    assert balanced(stage, "spring")


# ---------------------------------------------------------------- locks


def test_a_look_and_a_return_never_wait_for_each_other_for_ever(two: Stage) -> None:
    """Both hold the workspace before its emails. Whoever held an email first would wait for the other's workspace, and
    the other for that email."""
    email = two.claim()
    two.settle(fails(email, two.clock.now, minutes=0))
    two.tick()
    key, ready, done = two.key_of(email.id), threading.Event(), []
    note, postgres = about(two, Return.REPLIED, key), two.outbox.database.dialect.tables == "postroom."

    def returning() -> None:
        ready.wait()
        done.append(came_back(two, note))

    def holding() -> Plan[None]:
        """What a look does, with the moment in between in which the return arrives."""
        yield from hold_campaigns(workspaces=[SHOP])
        ready.set()
        while postgres and not (yield ask_sql(WAITED_FOR)):
            pass  # until the return waits for this transaction; on SQLite it cannot even begin
        yield ask("lock", ids=[email.id])

    thread = threading.Thread(target=returning)
    thread.start()
    two.run(holding())
    thread.join(30)

    assert [each.email_id for each in done[0]] == [email.id]
    assert two.outbox.get(email.id).status == "cancelled"
