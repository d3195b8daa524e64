from __future__ import annotations

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.send.contract import Phase, Reply
from postroom.settle.smtp.judge import judge
from postroom.settle.smtp.providers import Effect, KnownReply, known_replies, recognise
from postroom.settle.verdict import Fate, Health
from postroom.settle.waits import LONGEST_WAIT, named_wait

EXAMPLES = [
    pytest.param(known, example, id=f"{known.provider}: {example[:50]}")
    for known in known_replies()
    for example in known.examples
]


def as_reply(said: str, phase: Phase) -> Reply:
    code, enhanced, text = re.fullmatch(r"(\d{3}) (?:(\d\.\d{1,3}\.\d{1,3}) )?(.*)", said).groups()  # type: ignore[union-attr]
    return Reply(phase=phase, code=int(code), enhanced=enhanced, text=text)


@pytest.mark.parametrize(("known", "example"), EXAMPLES)
def test_each_example_is_recognised_by_its_own_entry(known: KnownReply, example: str) -> None:
    assert recognise(as_reply(example, Phase.DOT)) is known


@pytest.mark.parametrize("phase", [Phase.AUTH, Phase.MAIL, Phase.RCPT, Phase.DATA, Phase.DOT])
@pytest.mark.parametrize(("known", "example"), EXAMPLES)
def test_no_known_reply_costs_an_email_its_life(known: KnownReply, example: str, phase: Phase) -> None:
    """Not even when the provider says 550."""
    judgement = judge(as_reply(example, phase))
    expected = {Effect.THROTTLE: Health.THROTTLE, Effect.PAUSE: Health.PAUSE, Effect.WAIT: Health.OK}[known.effect]

    assert judgement.fate is Fate.DEFERRED
    assert judgement.transport.health is expected


@pytest.mark.parametrize("known", known_replies(), ids=lambda known: known.provider)
def test_each_entry_says_what_it_means_and_shows_an_example(known: KnownReply) -> None:
    assert known.meaning.endswith(".")
    assert known.examples


@pytest.mark.parametrize(
    "said",
    [
        "550 5.1.1 The email account that you tried to reach does not exist. - gsmtp",
        "552 5.2.2 The email account that you tried to reach is over quota. - gsmtp",
        "452 4.2.2 Mailbox full, over quota",
        "554 5.7.1 Relay access denied",
        "554 5.7.1 Message rejected as spam",
        "550 5.7.1 Service unavailable; client host blocked using a list",
        "451 4.3.0 Temporary lookup failure",
        "452 4.5.3 Too many recipients",
        "554 Message rejected: Email address is not verified.",
    ],
)
def test_ordinary_replies_are_left_to_their_code(said: str) -> None:
    assert recognise(as_reply(said, Phase.RCPT)) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("try again in 300 seconds", 300),
        ("Please retry in 2 hours", 7200),
        ("Greylisting in action, please come back later in 00:05:00", 300),
        ("Greylisted, retry in 00:05:00", 300),
        ("Greylisted for 300 seconds (see http://example.org/)", 300),
        ("Greylisted, see http://isg.example.org/ or wait 300 seconds", 300),
        ("try again after 5 minutes", 300),
        ("Try again in 1 min", 60),
        ("Too many messages. Try again in 92 seconds.", 92),
        ("throttled, wait at least 10s", 10),
        ("retry after 1 day", 86400),
        ("try again in 99999999 days", 86400),
        ("try again later", None),
        ("only 100 messages in 1 hour are allowed", None),
        ("message older than 5 days", None),
        ("", None),
    ],
)
def test_the_time_a_reply_names_is_understood(text: str, seconds: int | None) -> None:
    assert named_wait(text) == (None if seconds is None else timedelta(seconds=seconds))


@given(st.text(max_size=500) | st.from_regex(r"(try again|wait) (in )?\d{1,30} ?(s|min|hours|days)"))
def test_no_text_asks_for_more_than_a_day(text: str) -> None:
    wait = named_wait(text)

    assert wait is None or timedelta(0) <= wait <= LONGEST_WAIT
