"""What happens to the campaign in its second playing: people answer, a mailbox is gone, the team rests."""

from __future__ import annotations

from datetime import date, timedelta
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from examples.outreach.log import Delivery
from examples.outreach.returned import absence, bounce, complaint, reply
from examples.outreach.team import CAMPAIGN, TEAM, WORKSPACE
from examples.outreach.weeks import Play
from postroom.returns.intake.taking import Taker

BACK = date(2026, 4, 14)
"""When the person returns who is away."""
LONGEST_REQUEST = 30
"""Seconds."""


def live_through(play: Play) -> None:
    """Three weeks, day by day; then nothing comes between any more, and the campaign comes to its end."""
    taker = Taker(play.outbox)

    def at(day: int, hour: int, minute: int = 0, *, month: int = 3) -> None:
        play.work_until(play.local(date(2026, month, day), hour, minute))

    def returns(message: bytes, of: Delivery) -> None:
        taker.take(message, delivered_to=[of.envelope_sender])

    def leaves(of: Delivery, why: str) -> None:
        play.stops[of.to] = play.clock.now
        _tell(play, why)

    at(24, 12)
    gone = play.log.first_to(0)
    returns(bounce(gone, play.clock.now), gone)
    leaves(gone, f"{gone.to} bounces for good: there is no such mailbox")

    at(25, 12)
    for place in (1, 7):
        keen = play.log.first_to(place)
        returns(reply(keen, play.clock.now), keen)
        leaves(keen, f"{keen.to} answers")

    at(26, 10, 30)
    weary = play.log.first_to(3)
    _press(weary.unsubscribe)
    leaves(weary, f"{weary.to} unsubscribes with one click")

    at(27, 12)
    cross = play.log.first_to(12)
    returns(complaint(cross, play.clock.now), cross)
    leaves(cross, f"{cross.to} calls it spam")
    away = play.log.first_to(15)
    returns(absence(away, play.clock.now, back=BACK), away)
    play.held[away.to] = play.clock.now, BACK
    _tell(play, f"{away.to} is out of office until {BACK:%-d %B}")

    at(31, 9, 20)
    play.campaigns.pause(WORKSPACE, CAMPAIGN, by=TEAM, reason="the whole team is out")
    _tell(play, "the team pauses the campaign")
    begin = play.clock.now
    at(1, 9, 20, month=4)
    play.campaigns.resume(WORKSPACE, CAMPAIGN, by=TEAM)
    play.pauses.append((begin, play.clock.now))
    _tell(play, "the team goes on")

    at(2, 9, 15, month=4)
    play.server.stop()
    _tell(play, "the mail server is away")
    play.work_until(play.clock.now + timedelta(hours=1))
    play.server.start()
    _tell(play, "the mail server is back")
    play.work_to_the_end()


def _press(link: str) -> None:
    """What a mailbox does when its owner presses «unsubscribe», RFC 8058: no cookie, no question, no page."""
    form = urlencode({"List-Unsubscribe": "One-Click"}).encode()
    request = Request(link, data=form, method="POST")  # noqa: S310  our own link, to this machine
    with urlopen(request, timeout=LONGEST_REQUEST) as answer:  # noqa: S310
        assert answer.status == 200, f"the link answers {answer.status}"


def _tell(play: Play, what: str) -> None:
    local = play.clock.now.astimezone(play.settings.zone)
    play.happened.append(f"{local:%a %-d %b %H:%M}  {what}")
