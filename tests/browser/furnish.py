"""Emails of every kind and fate, for pictures and for tests that want a house that is lived in."""

from __future__ import annotations

import random
import sqlite3
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from postroom import Attachment, Email, Invite, RetryPolicy
from postroom.store.suppressions import Stop, suppress
from postroom.vocabulary import SuppressionReason, SuppressionScope
from tests.browser.house import House

MINUTE = 60_000_000
"""In microseconds, as SQLite keeps time."""

GUESTS = (
    "ada",
    "grace",
    "katherine",
    "dorothy",
    "mary",
    "annie",
    "joan",
    "hedy",
    "radia",
    "barbara",
    "frances",
    "jean",
)

BOOKING = """
<style>.button:hover {{ background: #16306e }}</style>
<div style="max-width:34rem;margin:auto;font-family:Georgia,serif;color:#222">
  <div style="background:#1f3f8f;color:#fff;padding:24px 28px;border-radius:10px 10px 0 0">
    <div style="font-size:13px;letter-spacing:.12em;text-transform:uppercase;opacity:.85">Hill House</div>
    <div style="font-size:26px;margin-top:6px">Your table is booked</div>
  </div>
  <div style="border:1px solid #ddd;border-top:0;padding:24px 28px;border-radius:0 0 10px 10px">
    <p>Dear {guest},</p>
    <p>we look forward to seeing you on <b>Friday at seven</b>, by the window.</p>
    <table style="width:100%;border-collapse:collapse;margin:18px 0">
      <tr><td style="padding:8px 0;border-bottom:1px solid #eee;color:#666">Guests</td>
          <td style="padding:8px 0;border-bottom:1px solid #eee;text-align:right">2</td></tr>
      <tr><td style="padding:8px 0;color:#666">Table</td><td style="padding:8px 0;text-align:right">Window, 14</td></tr>
    </table>
    <p><a class="button" style="background:#1f3f8f;color:#fff;padding:11px 20px;border-radius:6px;text-decoration:none"
          href="https://hillhouse.example/bookings/14">Change your booking</a></p>
    <p style="color:#777;font-size:13px">Hill House, 1 Hill Lane
      <img src="https://hillhouse.example/pixel.gif" alt=""></p>
  </div>
</div>
"""


def booking(guest: str, to: str | None = None) -> Email:
    """A confirmation with an invite and an attachment."""
    start = (datetime.now(ZoneInfo("Europe/Berlin")) + timedelta(days=5)).replace(
        hour=19, minute=0, second=0, microsecond=0
    )
    return Email(
        to=to or f"{guest.capitalize()} <{guest}@example.org>",
        subject="Your table is booked",
        html=BOOKING.format(guest=guest.capitalize()),
        invite=Invite(
            uid=f"booking-{guest}@hillhouse.example",
            start=start,
            end=start + timedelta(hours=2),
            summary="Dinner at Hill House",
            location="Hill House, by the window",
        ),
        attachments=Attachment("menu.pdf", b"%PDF-1.4 not much of a menu"),
        tags="booking",
    )


def furnish(house: House) -> None:
    """Sent, retrying, dead and scheduled emails, with a worker having made what became of them."""
    smtp, outbox = house.smtp, house.outbox
    soon = RetryPolicy(name="standard", steps=["0s", "0s", "0s"], max_attempts=3)
    smtp.script(at="rcpt", when=lambda moment: "nobody" in moment.argument, reply="550 5.1.1 no such user here")
    smtp.script(at="rcpt", when=lambda moment: "full" in moment.argument, reply="452 4.2.2 mailbox is full")
    smtp.script(at="rcpt", when=lambda moment: "reader" in moment.argument, reply="554 5.7.1 rejected as spam")
    for guest in GUESTS:
        outbox.enqueue(booking(guest), key=f"booking:{guest}", kind="booking")
    for number in range(1, 4):
        email = Email(to=f"nobody{number}@example.org", subject="Welcome to Hill House", text="Welcome!")
        outbox.enqueue(email, kind="welcome", key=f"welcome:{number}")
    outbox.enqueue(
        Email(to="full@example.org", subject="Your invoice for May", text="Attached."), kind="invoice", policy=soon
    )
    outbox.enqueue(
        Email(
            to=["ada@example.org", "nobody@example.org"],
            cc="full@example.org",
            subject="The minutes of Tuesday",
            text="Attached.",
        ),
        kind="minutes",
        policy=soon,
    )
    for number in range(1, 6):
        email = Email(
            to=f"reader{number}@example.org", subject="Newsletter: summer on the hill", text="Sun!", tags="summer"
        )
        outbox.enqueue(email, kind="newsletter", priority="bulk")
    outbox.enqueue(booking("lise", to="Lise <nobody.lise@example.org>"), kind="booking", key="booking:lise")
    house.work(lambda counts: counts["pending"] == counts["sending"] == 0 and counts["dead"] >= 11)
    later = datetime.now(UTC) + timedelta(hours=3)
    outbox.enqueue(
        Email(to="grace@example.org", subject="Tomorrow at Hill House", text="…"), not_before=later, kind="reminder"
    )
    outbox.enqueue(
        Email(to="desk@hillhouse.example", subject="Your sign-in code", text="123456"),
        sensitive=True, priority="urgent", kind="admin.tfa", not_before=later,
    )  # fmt: skip


def stop_some(house: House) -> None:
    """People who are not to be mailed, for every reason there is."""
    dead = next(email for email in house.outbox.list(status="dead").emails if email.kind == "welcome")
    now = datetime.now(UTC)
    entries = [
        Stop(address="hedy@example.org", reason=SuppressionReason.IMPORTED),
        Stop(
            address="a.very.long.name.that.does.not.end.soon@department.of.weights.and.measures.example",
            reason=SuppressionReason.MANUAL,
            evidence="asked on the phone not to be mailed while they are away",
            actor="grace@hillhouse.example",
            expires_at=now + timedelta(days=30),
        ),
        Stop(
            address=dead.recipients[0].address,
            reason=SuppressionReason.HARD_BOUNCE,
            scope=SuppressionScope.WORKSPACE,
            workspace=dead.workspace,
            evidence="550 5.1.1 no such user here",
            email_id=dead.id,
        ),
        Stop(
            address="annie@example.org", reason=SuppressionReason.COMPLAINT, scope=SuppressionScope.WORKSPACE,
            workspace="hotel", evidence="pressed «this is spam»",
        ),
        Stop(
            address="reader1@example.org", reason=SuppressionReason.UNSUBSCRIBE, scope=SuppressionScope.KIND,
            workspace="hotel", kind="newsletter", evidence="by the link in the email",
        ),
    ]  # fmt: skip
    for entry in entries:
        house.outbox.database.run(suppress([entry]))


def past_traffic(house: House, *, seed: int = 7) -> None:
    """A day of traffic in the tallies, as if the house had been open all day."""
    dice = random.Random(seed)
    now = time.time_ns() // 1000 // MINUTE * MINUTE
    rows: list[tuple[int, str, int]] = []
    for ago in range(1, 24 * 60):
        busy = 6 + 5 * dice.random() + (9 if 200 < ago < 700 else 0)
        outage = 17 <= ago <= 23 or 400 <= ago <= 420
        rows.append((now - ago * MINUTE, "sent", round(busy / (6 if outage else 1))))
        if outage or dice.random() < 0.1:
            rows.append((now - ago * MINUTE, "retried", round(busy if outage else 2)))
        if dice.random() < 0.02:
            rows.append((now - ago * MINUTE, "died", 1))
    with sqlite3.connect(house.database.removeprefix("sqlite:///")) as database:
        database.executemany("INSERT INTO postroom_tallies (minute, name, change) VALUES (?, ?, ?)", rows)
    database.close()
