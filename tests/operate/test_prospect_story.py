"""The story of one prospect, on both stores: what left, what came back, what was done, in order of time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from itertools import count
from typing import Any

import pytest

from postroom import Outbox
from postroom.errors import InvalidCampaign
from postroom.operate.campaign_acts import CampaignActs
from postroom.operate.campaign_looks import CampaignLookVerbs
from postroom.operate.happening_wording import detail_of, title_of
from postroom.operate.prospect_story import LONGEST, Happening, ProspectStory
from postroom.operate.verb import Blocking
from postroom.returns.recording import record_returns
from postroom.store.plan import Plan, ask
from postroom.store.returns import Mention, Note
from postroom.vocabulary import BounceClass, EmailId, Return
from tests.campaigns.sending.stage import LINKS, MONDAY, SHOP, Stage, dead
from tests.store.journey import Clock, email

P1 = "p1@example.org"
HARD = "Stopped: bounced – bounced: 5.1.1; "
_ids = count(1)


class Looks(Blocking, CampaignLookVerbs):
    """For this thread."""


class Acts(Blocking, CampaignActs):
    """For this thread."""


@pytest.fixture
def stage(outbox: Outbox, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A campaign; its first mail to p1 was sent."""
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)
    clock.now = MONDAY
    with Outbox(outbox.database_url, clock=clock) as told:
        stage = Stage(told, clock)
        stage.settings()
        stage.launched("spring", 1, (0, 1, 2))
        assert stage.send() == "p1:spring-words:1"
        stage.advance(hours=1)
        yield stage


def came_back(stage: Stage, what: str, key: str | None = "p1:spring-words:1", **fields: Any) -> None:
    campaign = key.split(":")[1].removesuffix("-words") if key else ""
    mail = stage.mail(key, campaign) if key else None
    mentions = (Mention(id=mail.id, message_id=mail.message_id or ""),) if mail else ()
    usual = {"source": "mail", "source_id": str(next(_ids)), "what": what, "address": P1, "mentions": mentions}
    stage.run(record_returns([Note(**(usual | fields))]))
    stage.advance(minutes=1)


def story(stage: Stage, campaign: str = "spring", workspaces: Any = None) -> ProspectStory:
    return Looks(stage.outbox).person(SHOP, campaign, "p1", workspaces=workspaces).story


def told(stage: Stage, **how: Any) -> list[str]:
    return [f"{title_of(each)} – {detail_of(each)}".removesuffix(" – ") for each in story(stage, **how).happenings]


def forget(stage: Stage, id: EmailId) -> None:
    """Its email goes, as it does at once where sent emails are not kept."""

    def plan() -> Plan[None]:
        yield ask("forget", ids=[id], events=True)

    stage.run(plan())


def test_what_left_what_came_back_and_what_was_done_stand_in_order_of_time(stage: Stage) -> None:
    acts = Acts(stage.outbox)
    came_back(stage, Return.BOUNCED, bounce_class=BounceClass.TRANSIENT, code=452, status="4.2.2")
    came_back(stage, Return.DELIVERED)
    came_back(stage, Return.AUTORESPONDED, until=date(2026, 4, 7))
    acts.pause_prospect(SHOP, "spring", "p1", by="grace")
    stage.advance(minutes=1)
    acts.resume_prospect(SHOP, "spring", "p1", by="grace")
    stage.advance(minutes=1)
    came_back(stage, Return.REPLIED, address="me@home.example")

    assert told(stage) == [
        "Step 1 was sent",
        "Bounced – not for good (452 4.2.2)",
        "Delivered – it is in the mailbox",
        "Autoresponded – a program has answered, back on 7 Apr 2026",
        "Paused – by grace",
        "Resumed – by grace",
        "Replied – somebody has answered",
        "Stopped: replied – steps 2 and 3 will not leave",
    ]
    [sent, *_, replied, _ended] = story(stage).happenings
    assert (sent.kept, sent.email_id, sent.subject) == (True, stage.mail("p1:spring-words:1").id, "Hello P1")
    assert replied.returned is not None
    assert (replied.steps, replied.returned.address) == ((1,), "me@home.example")


@pytest.mark.parametrize(
    ("what", "fields", "ending"),
    [
        (Return.BOUNCED, {"bounce_class": BounceClass.PERMANENT, "status": "5.1.1"}, HARD),
        (Return.COMPLAINED, {"objected": True}, "Stopped: complained – "),
        (Return.UNSUBSCRIBED, {}, "Stopped: unsubscribed – "),
    ],
)  # fmt: skip
def test_every_end_says_why(stage: Stage, what: Return, fields: dict[str, Any], ending: str) -> None:
    came_back(stage, what, **fields)

    assert told(stage)[-1] == f"{ending}steps 2 and 3 will not leave"


def test_a_stop_by_hand_is_told_once_with_its_reason_and_by_whom(stage: Stage) -> None:
    Acts(stage.outbox).stop_prospect(SHOP, "spring", "p1", by="grace", reason="asked on the phone")

    assert told(stage)[1:] == ["Stopped – asked on the phone; steps 2 and 3 will not leave; by grace"]


def test_a_pause_is_told_once_and_a_refused_act_is_no_story(stage: Stage) -> None:
    acts = Acts(stage.outbox)
    acts.pause_prospect(SHOP, "spring", "p1", by="grace")
    assert told(stage)[1:] == ["Paused – by grace"]
    stage.advance(minutes=1)
    acts.stop_prospect(SHOP, "spring", "p1", by="grace", reason="moved away")
    with pytest.raises(InvalidCampaign):
        acts.resume_prospect(SHOP, "spring", "p1", by="eve")

    assert told(stage)[2:] == ["Stopped – moved away; steps 2 and 3 will not leave; by grace"]


def test_it_works_when_the_email_was_deleted_and_what_comes_back_later_is_in_it(stage: Stage) -> None:
    mail = stage.mail("p1:spring-words:1")
    forget(stage, mail.id)
    came_back(stage, Return.AUTORESPONDED)
    came_back(stage, Return.REPLIED, address="me@home.example")

    assert told(stage) == [
        "Step 1 was sent",
        "Autoresponded – a program has answered",
        "Replied – somebody has answered",
        "Stopped: replied – steps 2 and 3 will not leave",
    ]
    found = story(stage, workspaces=frozenset({SHOP})).happenings
    assert [each.kept for each in found] == [False] * 4
    assert found[2].returned is not None
    assert (found[2].returned.workspace, found[2].returned.unclear) == (SHOP, False)
    assert found[2].returned.problem == "the email it is about is not in the outbox any more"


def test_a_mail_that_was_given_up_and_what_it_withheld_are_told(stage: Stage) -> None:
    stage.advance(days=1)
    stage.settle(dead(stage.claim()))
    stage.nothing_leaves()

    assert told(stage)[1:] == ["Step 2 was given up – permanent", "Stopped – permanent; step 3 will not leave"]


def test_other_campaigns_to_the_same_person_are_told_and_said_to_be_others(stage: Stage) -> None:
    stage.draft("summer", ["p1"])
    stage.launch("summer")
    assert stage.send() == "p1:summer-words:1"
    stage.advance(minutes=1)
    came_back(stage, Return.REPLIED, "p1:summer-words:1")
    happenings = story(stage).happenings

    assert [(each.what, each.campaign_id) for each in happenings] == [
        ("sent", "spring"), ("sent", "summer"), ("replied", "summer"), ("ended", "summer"),
    ]  # fmt: skip
    assert story(stage).campaigns == {"spring": "spring", "summer": "summer"}


def test_an_answer_to_another_email_of_the_workspace_is_in_it_and_one_of_elsewhere_is_not(stage: Stage) -> None:
    for workspace in (SHOP, "elsewhere"):
        receipt = stage.outbox.enqueue(email(to=P1), workspace=workspace)
        mention = Mention(id=receipt.id, signed=True)
        note = Note(source="mail", source_id=workspace, what=Return.AUTORESPONDED, address=P1, mentions=(mention,))
        stage.run(record_returns([note]))

    assert told(stage)[1:] == ["Autoresponded – a program has answered"]


def test_an_answer_that_names_no_email_is_told_to_those_who_see_every_workspace(stage: Stage) -> None:
    came_back(stage, Return.REPLIED, None)

    assert told(stage)[1:3] == ["Replied – somebody has answered", "Stopped: replied – steps 2 and 3 will not leave"]
    assert told(stage, workspaces=frozenset({SHOP}))[1:] == ["Stopped: replied – steps 2 and 3 will not leave"]


def test_a_flood_of_answers_ends_the_story_and_not_the_page(stage: Stage) -> None:
    mail = stage.mail("p1:spring-words:1")
    mention = Mention(id=mail.id, message_id=mail.message_id or "")
    flood = [
        Note(source="mail", source_id="flood", part=part, what=Return.AUTORESPONDED, address=P1, mentions=(mention,))
        for part in range(LONGEST + 50)
    ]
    stage.run(record_returns(flood))

    assert len(story(stage).happenings) <= LONGEST


def test_before_the_launch_there_is_no_story(stage: Stage) -> None:
    stage.draft("autumn", ["p9"])

    assert Looks(stage.outbox).person(SHOP, "autumn", "p9").story.happenings == ()


def test_words_are_there_for_what_is_rare() -> None:
    at = MONDAY + timedelta(hours=1)
    leaving = Happening(at=at, what="leaving", steps=(2,), reason="in_doubt")
    withheld = Happening(at=at, what="withheld", steps=(2, 3, 4), reason="cancelled")

    assert (title_of(leaving), detail_of(leaving)) == ("Step 2 is on its way", "in doubt")
    assert (title_of(withheld), detail_of(withheld)) == ("Steps 2, 3 and 4 will not leave", "cancelled")
