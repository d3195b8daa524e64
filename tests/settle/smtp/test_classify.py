from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.send.contract import Fault, FaultKind, Phase, Reply, Report
from postroom.settle.smtp.classify import classify
from postroom.settle.smtp.judge import judge
from postroom.settle.verdict import About, Fate, Health
from postroom.settle.wording import describe, without_addresses

TALK = [Phase.GREETING, Phase.TLS, Phase.HELLO, Phase.AUTH]
CONTENT = [Phase.DATA, Phase.BODY, Phase.DOT]

YES = Reply(phase=Phase.RCPT, code=250, text="ok")
QUEUED = Reply(phase=Phase.DOT, code=250, enhanced="2.0.0", text="queued as 4711")
NO_SUCH_USER = Reply(phase=Phase.RCPT, code=550, enhanced="5.1.1", text="no such user")
BUSY_MAILBOX = Reply(phase=Phase.RCPT, code=450, enhanced="4.2.1", text="mailbox busy")

phases = st.sampled_from(list(Phase))
codes = st.integers(200, 599)
replies = st.builds(Reply, phase=phases, code=codes, text=st.text(max_size=40), enhanced=st.none() | st.just("4.7.1"))
rcpt_replies = st.builds(Reply, phase=st.just(Phase.RCPT), code=codes, text=st.text(max_size=40))
faults = st.builds(Fault, phase=phases, kind=st.sampled_from(list(FaultKind)), text=st.text(max_size=40))
reports = st.builds(
    Report,
    recipients=st.lists(st.none() | rcpt_replies, min_size=1, max_size=5).map(tuple),
    reply=st.none() | replies,
    fault=st.none() | faults,
    dot_left=st.booleans(),
)


def fates(report: Report) -> list[Fate]:
    return [heard.fate for heard in classify(report).recipients]


def test_an_accepted_dot_speaks_for_those_whom_rcpt_accepted() -> None:
    report = Report(recipients=(YES, NO_SUCH_USER, BUSY_MAILBOX), reply=QUEUED, dot_left=True)

    assert fates(report) == [Fate.ACCEPTED, Fate.REFUSED, Fate.DEFERRED]
    assert classify(report).transport == classify(Report(recipients=(YES,), reply=QUEUED, dot_left=True)).transport


REPLIES_AND_THEIR_MEANING = [
    # Before MAIL everything concerns the transport.
    (TALK, 554, "5.3.2", "no service here", Fate.DEFERRED, About.TRANSPORT, Health.PAUSE),
    (TALK, 500, None, "what?", Fate.DEFERRED, About.TRANSPORT, Health.PAUSE),
    (TALK, 421, None, "shutting down", Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
    (TALK, 451, "4.3.0", "later", Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
    (TALK, 421, "4.7.0", "go away for now", Fate.DEFERRED, About.TRANSPORT, Health.THROTTLE),
    (TALK, 454, "4.7.0", "temporary authentication failure", Fate.DEFERRED, About.TRANSPORT, Health.THROTTLE),
    ([Phase.AUTH], 535, "5.7.8", "wrong password", Fate.DEFERRED, About.TRANSPORT, Health.PAUSE),
    ([Phase.AUTH], 534, "5.7.9", "mechanism too weak", Fate.DEFERRED, About.TRANSPORT, Health.PAUSE),
    # MAIL concerns the sender, unless it names something of this email.
    ([Phase.MAIL], 550, "5.7.1", "may not send", Fate.DEFERRED, About.SENDER, Health.PAUSE),
    ([Phase.MAIL], 553, None, "sender rejected", Fate.DEFERRED, About.SENDER, Health.PAUSE),
    ([Phase.MAIL], 530, "5.7.0", "authentication required", Fate.DEFERRED, About.SENDER, Health.PAUSE),
    ([Phase.MAIL], 503, "5.5.1", "nested MAIL command", Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
    ([Phase.MAIL], 503, "5.5.4", "Authentication required", Fate.DEFERRED, About.SENDER, Health.PAUSE),
    ([Phase.MAIL], 503, None, "please log in first", Fate.DEFERRED, About.SENDER, Health.PAUSE),
    ([Phase.MAIL], 451, "4.3.0", "later", Fate.DEFERRED, About.SENDER, Health.SUSPECT),
    ([Phase.MAIL], 552, "5.3.4", "too big", Fate.REFUSED, About.EMAIL, Health.OK),
    ([Phase.MAIL], 552, None, "too big", Fate.REFUSED, About.EMAIL, Health.OK),
    ([Phase.MAIL], 554, "5.3.4", "too big", Fate.REFUSED, About.EMAIL, Health.OK),
    ([Phase.MAIL], 553, "5.1.7", "bad address syntax", Fate.REFUSED, About.EMAIL, Health.OK),
    ([Phase.MAIL], 550, "5.1.8", "no such domain", Fate.REFUSED, About.EMAIL, Health.OK),
    ([Phase.MAIL], 555, "5.5.4", "unknown parameter", Fate.REFUSED, About.EMAIL, Health.OK),
    ([Phase.MAIL], 501, None, "syntax", Fate.REFUSED, About.EMAIL, Health.OK),
    ([Phase.MAIL], 450, "4.1.8", "domain not found", Fate.DEFERRED, About.EMAIL, Health.OK),
    # RCPT concerns one recipient.
    ([Phase.RCPT], 550, "5.1.1", "no such user", Fate.REFUSED, About.RECIPIENT, Health.OK),
    ([Phase.RCPT], 554, "5.7.1", "relay access denied", Fate.REFUSED, About.RECIPIENT, Health.OK),
    ([Phase.RCPT], 552, "5.2.2", "over quota", Fate.REFUSED, About.RECIPIENT, Health.OK),
    ([Phase.RCPT], 552, None, "exceeded storage allocation", Fate.REFUSED, About.RECIPIENT, Health.OK),
    ([Phase.RCPT], 552, None, "too many recipients", Fate.DEFERRED, About.TRANSPORT, Health.THROTTLE),
    ([Phase.RCPT], 450, "4.2.1", "mailbox busy", Fate.DEFERRED, About.RECIPIENT, Health.OK),
    ([Phase.RCPT], 452, "4.2.2", "mailbox full", Fate.DEFERRED, About.RECIPIENT, Health.OK),
    ([Phase.RCPT], 451, "4.7.1", "Greylisted", Fate.DEFERRED, About.RECIPIENT, Health.OK),
    ([Phase.RCPT], 451, "4.7.0", "policy", Fate.DEFERRED, About.TRANSPORT, Health.THROTTLE),
    ([Phase.RCPT], 452, "4.3.1", "no space", Fate.DEFERRED, About.TRANSPORT, Health.THROTTLE),
    ([Phase.RCPT], 530, None, "authentication required", Fate.DEFERRED, About.TRANSPORT, Health.PAUSE),
    ([Phase.RCPT], 421, None, "bye", Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
    # From DATA on it is about the email.
    (CONTENT, 554, "5.7.1", "spam", Fate.REFUSED, About.EMAIL, Health.OK),
    (CONTENT, 550, None, "no", Fate.REFUSED, About.EMAIL, Health.OK),
    (CONTENT, 451, "4.3.0", "later", Fate.DEFERRED, About.EMAIL, Health.OK),
    (CONTENT, 421, None, "bye", Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
    (CONTENT, 450, "4.7.1", "slowly", Fate.DEFERRED, About.TRANSPORT, Health.THROTTLE),
    (CONTENT, 452, "4.3.1", "no space", Fate.DEFERRED, About.TRANSPORT, Health.THROTTLE),
    (CONTENT, 454, None, "Throttling failure", Fate.DEFERRED, About.TRANSPORT, Health.THROTTLE),
]


@pytest.mark.parametrize(
    ("phase", "code", "enhanced", "text", "fate", "about", "health"),
    [(phase, *rest) for stages, *rest in REPLIES_AND_THEIR_MEANING for phase in stages],
)
def test_the_code_decides_and_where_it_was_said_decides_whom_it_concerns(
    phase: Phase, code: int, enhanced: str | None, text: str, fate: Fate, about: About, health: Health
) -> None:
    reply = Reply(phase=phase, code=code, enhanced=enhanced, text=text)
    after_rcpt = phase in CONTENT
    said = YES if after_rcpt else reply if phase is Phase.RCPT else None
    meaning = classify(Report(recipients=(said,), reply=reply, dot_left=phase is Phase.DOT, capabilities_known=True))

    assert [heard.fate for heard in meaning.recipients] == [fate]
    assert meaning.transport is not None
    assert (meaning.about, meaning.transport.health) == (about, health)


@pytest.mark.parametrize(
    ("kind", "phase", "fate", "about", "health"),
    [
        (FaultKind.REFUSED, Phase.CONNECT, Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
        (FaultKind.TIMEOUT, Phase.CONNECT, Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
        (FaultKind.CUT, Phase.GREETING, Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
        (FaultKind.PROTOCOL, Phase.GREETING, Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
        (FaultKind.TLS, Phase.TLS, Fate.DEFERRED, About.TRANSPORT, Health.PAUSE),
        (FaultKind.TIMEOUT, Phase.TLS, Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
        (FaultKind.CONFIGURATION, Phase.AUTH, Fate.DEFERRED, About.TRANSPORT, Health.PAUSE),
        (FaultKind.CUT, Phase.MAIL, Fate.DEFERRED, About.TRANSPORT, Health.SUSPECT),
        (FaultKind.CUT, Phase.RCPT, Fate.DEFERRED, About.EMAIL, None),
        (FaultKind.TIMEOUT, Phase.BODY, Fate.DEFERRED, About.EMAIL, None),
        (FaultKind.ABANDONED, Phase.DOT, Fate.DEFERRED, About.EMAIL, None),
        (FaultKind.TOO_LARGE, Phase.MAIL, Fate.REFUSED, About.EMAIL, Health.OK),
        (FaultKind.NEEDS_SMTPUTF8, Phase.MAIL, Fate.REFUSED, About.EMAIL, Health.OK),
    ],
)
def test_a_fault_before_the_dot_is_safe_and_concerns_what_its_phase_says(
    kind: FaultKind, phase: Phase, fate: Fate, about: About, health: Health | None
) -> None:
    meaning = classify(Report(recipients=(None,), fault=Fault(phase=phase, kind=kind, text="…")))

    assert [heard.fate for heard in meaning.recipients] == [fate]
    assert meaning.about is about
    assert (meaning.transport and meaning.transport.health) == health


@pytest.mark.parametrize("kind", [FaultKind.CUT, FaultKind.TIMEOUT, FaultKind.PROTOCOL])
def test_a_dot_without_an_answer_leaves_the_fate_unknown(kind: FaultKind) -> None:
    fault = Fault(phase=Phase.DOT, kind=kind, text="…")
    report = Report(recipients=(YES, NO_SUCH_USER, BUSY_MAILBOX), fault=fault, dot_left=True)

    assert fates(report) == [Fate.UNKNOWN, Fate.REFUSED, Fate.DEFERRED]
    assert classify(report).transport is None


def test_a_dot_that_left_for_nobody_leaves_nothing_unknown() -> None:
    """Some servers answer a pipelined DATA with 354 though they accepted no recipient; what follows reaches nobody."""
    fault = Fault(phase=Phase.DOT, kind=FaultKind.CUT, text="…")
    meaning = classify(Report(recipients=(NO_SUCH_USER,), fault=fault, dot_left=True))

    assert not meaning.unknown
    assert (meaning.about, meaning.cause) == (About.RECIPIENT, NO_SUCH_USER)


def test_a_senseless_answer_to_the_dot_leaves_the_fate_unknown() -> None:
    odd = Reply(phase=Phase.DOT, code=354, text="go ahead")

    assert fates(Report(recipients=(YES,), reply=odd, dot_left=True)) == [Fate.UNKNOWN]


def test_no_valid_recipients_at_data_adds_nothing_to_what_rcpt_said() -> None:
    ending = Reply(phase=Phase.DATA, code=554, enhanced="5.5.1", text="no valid recipients")
    report = Report(recipients=(NO_SUCH_USER, BUSY_MAILBOX), reply=ending)

    assert fates(report) == [Fate.REFUSED, Fate.DEFERRED]
    assert classify(report).about is About.RECIPIENT


def test_a_refused_email_is_refused_for_the_deferred_too() -> None:
    spam = Reply(phase=Phase.DOT, code=554, enhanced="5.7.1", text="spam")

    assert fates(Report(recipients=(YES, BUSY_MAILBOX), reply=spam, dot_left=True)) == [Fate.REFUSED, Fate.REFUSED]


def test_a_deferred_email_leaves_a_refused_recipient_refused() -> None:
    later = Reply(phase=Phase.DOT, code=451, text="later")

    assert fates(Report(recipients=(YES, NO_SUCH_USER), reply=later, dot_left=True)) == [Fate.DEFERRED, Fate.REFUSED]


def test_a_session_that_ends_at_rcpt_leaves_those_not_yet_asked_open() -> None:
    bye = Reply(phase=Phase.RCPT, code=421, text="bye")

    assert fates(Report(recipients=(NO_SUCH_USER, bye, None), reply=bye)) == [
        Fate.REFUSED,
        Fate.DEFERRED,
        Fate.DEFERRED,
    ]


def test_a_refusal_that_ends_the_session_at_rcpt_is_only_its_own_recipients() -> None:
    meaning = classify(Report(recipients=(YES, NO_SUCH_USER, None), reply=NO_SUCH_USER))

    assert [heard.fate for heard in meaning.recipients] == [Fate.DEFERRED, Fate.REFUSED, Fate.DEFERRED]
    assert [heard.reply for heard in meaning.recipients] == [None, NO_SUCH_USER, None]


def test_of_several_things_said_about_the_transport_the_gravest_counts() -> None:
    slow = Reply(phase=Phase.RCPT, code=451, enhanced="4.7.0", text="slowly")
    login = Reply(phase=Phase.RCPT, code=530, text="authentication required")
    meaning = classify(Report(recipients=(BUSY_MAILBOX, slow, login)))

    assert meaning.transport is not None
    assert meaning.transport.health is Health.PAUSE
    assert meaning.cause == login


@pytest.mark.parametrize(
    ("code", "enhanced", "text"),
    [
        (452, "4.5.3", "too many recipients"),
        (552, "5.5.3", "that is enough"),
        (552, None, "Too many recipients"),
        (552, "5.3.0", "recipient limit exceeded"),
    ],
)
def test_an_envelope_with_too_many_recipients_is_no_failed_attempt_once_some_were_accepted(
    code: int, enhanced: str | None, text: str
) -> None:
    full = Reply(phase=Phase.RCPT, code=code, enhanced=enhanced, text=text)
    meaning = classify(Report(recipients=(YES, full), reply=QUEUED, dot_left=True))

    assert not meaning.counts
    assert meaning.transport is not None
    assert meaning.transport.health is Health.OK


def test_a_throttled_transport_is_noticed_even_when_the_email_went_through() -> None:
    slow = Reply(phase=Phase.RCPT, code=450, enhanced="4.7.1", text="Error: too many recipients from 192.0.2.1")
    meaning = classify(Report(recipients=(YES, slow), reply=QUEUED, dot_left=True))

    assert meaning.transport is not None
    assert meaning.transport.health is Health.THROTTLE


def test_the_time_a_reply_names_is_handed_on() -> None:
    grey = Reply(phase=Phase.RCPT, code=451, enhanced="4.7.1", text="Greylisted, try again in 300 seconds")
    quota = Reply(phase=Phase.MAIL, code=550, text="Too many messages. Try again in 92 seconds.")

    assert classify(Report(recipients=(grey,))).wait == timedelta(seconds=300)
    throttled = classify(Report(recipients=(None,), reply=quota))
    assert throttled.transport is not None
    assert throttled.transport.wait == timedelta(seconds=92)


@pytest.mark.parametrize(
    ("phase", "code", "text", "blameless"),
    [
        (Phase.AUTH, 535, "wrong password", True),
        (Phase.GREETING, 554, "no", True),
        (Phase.DOT, 454, "Throttling failure: Daily message quota exceeded", True),
        (Phase.RCPT, 530, "authentication required", True),
        (Phase.MAIL, 550, "may not send", False),
        (Phase.DOT, 452, "no space", False),
    ],
)
def test_only_what_no_email_can_have_caused_is_blameless(phase: Phase, code: int, text: str, blameless: bool) -> None:
    assert judge(Reply(phase=phase, code=code, text=text)).blameless is blameless


@given(reports)
def test_an_unknown_fate_needs_a_dot_that_left_and_no_answer_to_it(report: Report) -> None:
    answered = report.reply is not None and report.reply.phase is Phase.DOT and not 300 <= report.reply.code < 400
    unknown = Fate.UNKNOWN in fates(report)

    assert not unknown or (report.dot_left and not answered)


@given(reports)
def test_nobody_is_accepted_without_an_accepted_dot(report: Report) -> None:
    dot = report.reply is not None and report.reply.phase is Phase.DOT and 200 <= report.reply.code < 300
    accepted = [fate is Fate.ACCEPTED for fate in fates(report)]

    assert len(accepted) == len(report.recipients)
    assert dot or not any(accepted)


@given(reports)
def test_a_refusal_at_rcpt_is_never_forgotten(report: Report) -> None:
    meaning = classify(report)
    final = [judge(reply).fate if reply and reply.code >= 300 else None for reply in report.recipients]

    assert all(
        heard.fate is Fate.REFUSED
        for heard, said in zip(meaning.recipients, final, strict=True)
        if said is Fate.REFUSED
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<ada@example.org>: Recipient address rejected", "(address): Recipient address rejected"),
        ("no mailbox ada@example.org here", "no mailbox (address) here"),
        ('"ada.l"@example.org unknown', "(address) unknown"),
        ("ada=example.org@bounces.example.net, later", "(address), later"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_addresses_are_taken_out_of_what_is_shown(text: str, shown: str) -> None:
    assert without_addresses(text) == shown
    assert "@" not in describe(Reply(phase=Phase.RCPT, code=550, text=text))


def test_a_description_names_code_and_phase() -> None:
    assert describe(NO_SUCH_USER) == "refused at RCPT: 550 5.1.1 no such user"
    assert describe(Fault(phase=Phase.CONNECT, kind=FaultKind.REFUSED, text="")) == "no connection while connecting"
