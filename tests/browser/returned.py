"""What came back, of every kind there is, for pictures and for tests that want a house that is lived in."""

from __future__ import annotations

import sqlite3

from postroom.campaigns.looking.pages import find_enrolments
from postroom.operate.campaigns import CampaignOperations
from postroom.returns.intake.taking import Taker
from tests.browser.house import House
from tests.browser.outreach import BY, WORKSPACE
from tests.returns.intake.post import bounce, complaint, reply

HOSTILE = "<script>alert(1)</script>"
DIRECTION = "\u202egnp.exe"


def come_back(house: House) -> None:
    """About emails that were sent: what their servers, their readers and their programs say. And what nobody knows."""
    take = Taker(house.outbox).take
    sent = [each for each in house.outbox.list(status="sent", limit=100).emails if each.kind == "booking"]
    about = {each.recipients[0].address.split("@")[0]: each.message_id for each in sent}
    take(bounce(about=about["annie"], recipient="annie@example.org"))
    full = "452 4.2.2 the mailbox of joan is full, and has been for quite a while; ask her to make room"
    take(bounce(about=about["joan"], recipient="joan@example.org", status="4.2.2", diagnostic=full, number=2))
    take(
        bounce(
            about=about["hedy"],
            recipient="hedy@example.org",
            action="delivered",
            status="2.0.0",
            diagnostic="250 2.0.0 kept",
            number=3,
        )
    )
    take(
        bounce(
            about=about["mary"],
            recipient="mary@example.org",
            action="delayed",
            status="4.4.1",
            diagnostic="451 4.4.1 no answer yet",
            number=4,
        )
    )
    take(complaint(about=about["radia"], recipient="radia@example.org"))
    take(reply(about=about["grace"], sender="grace@example.org"))
    away = "I am out of the office until 7 December 2026."
    take(reply(about=about["dorothy"], sender="dorothy@example.org", automatic=True, text=away))
    take(bounce(recipient="somebody.else@department-of-weights-and-measures.example", number=9))
    take(f"Subject: {HOSTILE}\r\n\r\n{HOSTILE} {DIRECTION} \x1b[2J \0 the end\r\n".encode())


def answered(house: House) -> str:
    """Somebody in a campaign whose whole story there is to tell; their id.

    Their first mail bounced softly and came through, a program answered it, and then they did.
    """
    found = house.outbox.database.run(find_enrolments(WORKSPACE, "spring", limit=1), writes=False)
    prospect = found.enrolments[0].prospect
    take = Taker(house.outbox).take
    message_id = _first_message(house, prospect.id)
    full = "452 4.2.2 mailbox is full, try again later"
    take(bounce(about=message_id, recipient=prospect.address, status="4.2.2", diagnostic=full, number=21))
    take(
        bounce(
            about=message_id,
            recipient=prospect.address,
            action="delivered",
            status="2.0.0",
            diagnostic="250 2.0.0 kept",
            number=22,
        )
    )
    away = "I am out of the office until 7 December 2026."
    take(reply(about=message_id, sender=prospect.address, automatic=True, text=away))
    campaigns = CampaignOperations(house.outbox)
    campaigns.pause_prospect(WORKSPACE, "spring", prospect.id, by=BY)
    campaigns.resume_prospect(WORKSPACE, "spring", prospect.id, by=BY)
    take(reply(about=message_id, sender=f"assistant.of.{prospect.address}"))
    return prospect.id


def _first_message(house: House, prospect: str) -> str:
    with sqlite3.connect(house.database.removeprefix("sqlite:///")) as database:
        [[message_id]] = database.execute(
            "SELECT message_id FROM postroom_campaign_mails"
            " WHERE campaign_id = 'spring' AND prospect_id = ? AND step = 1",
            (prospect,),
        )
    database.close()
    return str(message_id)
