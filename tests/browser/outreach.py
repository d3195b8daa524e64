"""Campaigns at every stage, for pictures and for tests that want a workspace that is lived in."""

from __future__ import annotations

import sqlite3
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from postroom.campaigns.drafts.describing import read_description
from postroom.campaigns.importing.table import open_table
from postroom.campaigns.sending.replanning import replan
from postroom.operate.campaigns import CampaignOperations
from postroom.store.plan import drive
from tests.browser.house import House

WORKSPACE = "hillhouse"
BY = "grace@hillhouse.example"
LINKS = {
    "POSTROOM_PUBLIC_URL": "https://mail.hillhouse.example",
    "POSTROOM_SECRET": "a secret of the pictures, long enough",
}
"""What links to unsubscribe are made with."""

NAMES = (
    "Ada", "Grace", "Katherine", "Dorothy", "Mary", "Annie", "Joan", "Hedy", "Radia", "Barbara", "Frances", "Jean",
    "Lise", "Emmy", "Sofja", "Maryam", "Rosalind", "Chien-Shiung",
)  # fmt: skip
PLACES = ("Engine Works", "Harbour Boats", "Orbit Bakery", "Loom & Sons", "Quiet Hotels", "North Mill")

DESCRIPTION = """
[campaign]
id = "{id}"
name = "{name}"
{sequence}
{senders}
"""
SETTINGS = '''
[settings]
sending_days = ["mon", "tue", "wed", "thu", "fri"]
start_hour = 9
end_hour = 17
timezone = "Europe/Berlin"
daily_quota = 40
ramp_up = [10, 20, 30]
gap_seconds = [30, 90]

[[senders]]
id = "ada"
name = "Ada of Hill House"
address = "ada@hillhouse.example"

[[senders]]
id = "grace"
name = "Grace of Hill House"
address = "grace@hillhouse.example"
daily_quota = 25

[[steps]]
subject = "A question about {{ company }}"
text = """
Hello {{ name }},

we read about {{ company }} and wondered whether your people would like
a few quiet days on the hill this spring.

Ada
"""

[[steps]]
delay_days = 3
text = """
Hello {{ name }},

did you find the time to read my letter?

Ada
"""

[[steps]]
delay_days = 5
subject = "One last word, {{ name }}"
text = """
I will not write again; our door is open.

Ada
"""
'''


def table(count: int, *, start: int = 0) -> str:
    """So many prospects as CSV."""
    rows = ["email,name,company,city"]
    for number in range(start, start + count):
        name, place = NAMES[number % len(NAMES)], PLACES[number % len(PLACES)]
        rows.append(f"{name.lower()}.{number}@{place.split()[0].lower()}.example,{name},{place},Bergen")
    return "\n".join(rows)


def fill(house: House, campaign: str, text: str) -> None:
    """Prospects into a draft."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "prospects.csv"
        path.write_text(text, "utf-8")
        with open_table(path) as rows:
            CampaignOperations(house.outbox).import_prospects(WORKSPACE, rows, by=BY, campaign=campaign)


def outreach(house: House) -> None:
    """Two campaigns that run, one of them for some days already; one that is paused, one draft, one cancelled."""
    campaigns = CampaignOperations(house.outbox)
    for id, name, count in (
        ("spring", "Spring letter to companies", 120),
        ("harbour", "Harbour towns", 45),
        ("bakers", "Bakers we know", 30),
        ("summer", "Summer on the hill", 80),
        ("old", "An idea of last year", 0),
    ):
        shared = 'sequence = "spring"\nsenders = ["ada", "grace"]'
        text = DESCRIPTION.format(id=id, name=name, sequence="" if id == "spring" else shared, senders="")
        text += SETTINGS if id == "spring" else ""
        campaigns.new(WORKSPACE, read_description(text), by=BY)
        if count:
            fill(house, id, table(count, start=1_000 * len(name)))
    for id in ("spring", "harbour", "bakers"):
        campaigns.launch(WORKSPACE, id, by=BY)
    campaigns.pause(WORKSPACE, "bakers", by=BY, reason="the words are looked at again")
    campaigns.cancel(WORKSPACE, "old", by=BY)
    past_days(house, "spring")


def past_days(house: House, campaign: str) -> None:
    """As if a campaign had sent on the working days before, in a ramp-up; and what came of some of it."""
    today = datetime.now(UTC).date()
    days = [each for back in range(9, 0, -1) if (each := today - timedelta(days=back)).weekday() < 5][-4:]
    number = 1
    with sqlite3.connect(house.database.removeprefix("sqlite:///")) as database:
        for day, count in zip(days, (10, 20, 30, 31), strict=False):
            database.execute(
                "UPDATE postroom_campaign_mails"
                " SET state = 'sent', day = ?, email_status = 'sent', left_at = changed_at,"
                " subject = 'A question about your company',"
                " message_id = '<' || replace(email_id, '-', '') || '@hillhouse.example>'"
                " WHERE campaign_id = ? AND step = 1 AND number BETWEEN ? AND ?",
                (day.isoformat(), campaign, number, number + count - 1),
            )
            database.execute(
                "UPDATE postroom_campaign_mails SET state = 'ready', due_day = ?"
                " WHERE campaign_id = ? AND step = 2 AND number BETWEEN ? AND ?",
                ((day + timedelta(days=3)).isoformat(), campaign, number, number + count - 1),
            )
            database.execute(
                "UPDATE postroom_enrolments SET next_step = 2, last_sent_on = ?"
                " WHERE campaign_id = ? AND number BETWEEN ? AND ?",
                (day.isoformat(), campaign, number, number + count - 1),
            )
            database.execute(
                "INSERT INTO postroom_campaign_days (workspace, sender_id, day, used, accepted)"
                " VALUES (?, '', ?, ?, ?)",
                (WORKSPACE, day.isoformat(), count, count),
            )
            number += count
        for ended, person, reason in (
            ("replied", 3, "replied"), ("unsubscribed", 7, "unsubscribed"), ("bounced", 12, "hard_bounce"),
        ):  # fmt: skip
            database.execute(
                "UPDATE postroom_enrolments SET status = ?, reason = ? WHERE campaign_id = ? AND number = ?",
                (ended, reason, campaign, person),
            )
            database.execute(
                "UPDATE postroom_campaign_mails SET state = 'stopped', reason = ?"
                " WHERE campaign_id = ? AND number = ? AND state <> 'sent'",
                (reason, campaign, person),
            )
        database.execute(
            "UPDATE postroom_campaign_mails SET state = 'dead', reason = 'permanent: 550 no such user'"
            " WHERE campaign_id = ? AND step = 1 AND number = 12",
            (campaign,),
        )
    drive(replan(WORKSPACE), house.outbox.database.run)
