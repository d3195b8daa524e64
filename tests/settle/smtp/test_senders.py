from __future__ import annotations

import pytest
from hypothesis import given

from postroom.send.contract import Phase, Reply, Report
from postroom.settle.smtp.classify import classify
from postroom.settle.smtp.senders import of_a_sender
from postroom.settle.verdict import About, Fate
from tests.settle.smtp.test_classify import reports

of_campaigns = of_a_sender(classify)


def at_mail(code: int, enhanced: str | None, text: str) -> Report:
    return Report(recipients=(None,), reply=Reply(phase=Phase.MAIL, code=code, enhanced=enhanced, text=text))


@pytest.mark.parametrize(
    ("code", "enhanced", "text"),
    [
        (550, None, "sender refused"),
        (550, "5.1.8", "sender rejected: domain not found"),
        (553, "5.7.1", "not owned by user"),
        (501, "5.1.7", "bad sender address syntax"),
        (554, "5.7.1", "you are not welcome here"),
        (555, "5.5.4", "unsupported parameter"),
    ],
)
def test_what_is_refused_at_mail_is_kept_and_the_transport_left_alone(code: int, enhanced: str, text: str) -> None:
    meaning = of_campaigns(at_mail(code, enhanced, text))

    assert [heard.fate for heard in meaning.recipients] == [Fate.DEFERRED]
    assert (meaning.about, meaning.transport, meaning.counts) == (About.SENDER, None, False)


@pytest.mark.parametrize(
    ("code", "enhanced", "text"),
    [
        (552, "5.3.4", "message too large"),
        (530, "5.7.0", "authentication required"),
        (535, "5.7.8", "bad credentials"),
        (503, None, "you must log in first"),
        (503, "5.5.1", "sender already given"),
        (550, "5.4.5", "Daily user sending limit exceeded"),
        (451, "4.7.1", "try later"),
    ],
)
def test_what_speaks_of_something_else_means_what_it_always_does(code: int, enhanced: str, text: str) -> None:
    report = at_mail(code, enhanced, text)

    assert of_campaigns(report) == classify(report)


@given(reports)
def test_beyond_mail_nothing_is_judged_otherwise(report: Report) -> None:
    meaning = classify(report)
    if not isinstance(meaning.cause, Reply) or meaning.cause.phase is not Phase.MAIL:
        assert of_campaigns(report) == meaning
