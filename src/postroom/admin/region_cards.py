"""What the overview of regions shows: numbers, and states in words of ours.

Not the sentences of `operate`: those repeat what mail servers and people have said, and that may hold an address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.operate.regions import Reach, RegionView
from postroom.operate.sentences import LATE, nobody_sends
from postroom.operate.values import House
from postroom.operate.wording import count_of
from postroom.work.breaker import BreakerState

_WORDS = {
    "well": ("well", "ok"),
    "attention": ("worth a look", "throttled"),
    "trouble": ("trouble", "broken"),
    Reach.AWAY: ("away", "broken"),
    Reach.UNREADY: ("not set up", "throttled"),
    Reach.UNKNOWN: ("not known here", "unknown"),
}
"""How each state is called, and its colour."""

_UNREACHED = {
    Reach.AWAY: "Its database does not answer. Its emails wait there; no other region is held up by it.",
    Reach.UNREADY: "Its tables are not there, or of another version. Run postroom migrate for it.",
    Reach.UNKNOWN: "Its database is not known on this machine.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionCard:
    """One region."""

    name: str
    state: str
    """`well`, `attention` or `trouble`; or how it could not be reached."""
    sentence: str
    house: House | None
    signed_in: bool
    """Whoever looks has a session in this region."""

    @classmethod
    def of(cls, view: RegionView, *, signed_in: bool) -> RegionCard:
        house = view.house
        state = view.reach.value if house is None else house.tone
        sentence = _UNREACHED[view.reach] if house is None else in_short(house)
        return cls(name=view.name, state=state, sentence=sentence, house=house, signed_in=signed_in)

    @property
    def word(self) -> str:
        return _WORDS[self.state][0]

    @property
    def colour(self) -> str:
        return _WORDS[self.state][1]

    @property
    def link(self) -> bool:
        """Whether there is a desk to go to."""
        return self.state != Reach.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsPage:
    """`/regions`."""

    cards: tuple[RegionCard, ...]
    numbers: bool
    """Whoever looks may see every workspace of some region; else they are shown states alone."""
    sentence: str
    tone: str

    @classmethod
    def of(cls, cards: Sequence[RegionCard], *, numbers: bool) -> RegionsPage:
        sentence, tone = _altogether(cards)
        return cls(cards=tuple(cards), numbers=numbers, sentence=sentence, tone=tone)


def in_short(house: House) -> str:
    """How a region is, without a word that came from outside and without a number."""
    ill = [route for route in house.routes if route.state is not BreakerState.OK]
    if house.oldest_due is not None and house.broker is None and nobody_sends(house.workers):
        return "Mail is due, and no worker is running."
    if ill:
        return f"{'A way out is' if len(ill) == 1 else 'Some ways out are'} in trouble."
    if house.oldest_due_age is not None and house.oldest_due_age > LATE:
        return "Mail is late."
    if house.tone == "trouble":
        return "The broker is in trouble."
    if house.failed_email_count:
        return "Some emails were given up and need a person."
    if house.in_doubt:
        return "Some emails are in doubt."
    if not any(house.counts.values()):
        return "No mail yet."
    return "All mail is moving." if house.pending_email_count else "All mail has gone out."


def _altogether(cards: Sequence[RegionCard]) -> tuple[str, str]:
    here = [card for card in cards if card.state != Reach.UNKNOWN]
    bad = [card.name for card in here if card.state in ("trouble", Reach.AWAY)]
    if bad:
        return f"{_listed(bad)} {'is' if len(bad) == 1 else 'are'} in trouble", "trouble"
    odd = [card.name for card in here if card.state != "well"]
    if odd:
        return f"{_listed(odd)} {'is' if len(odd) == 1 else 'are'} worth a look", "attention"
    return ("The region is well" if len(here) == 1 else f"All {count_of(len(here), 'region')} are well"), "well"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
