"""Templates: how many emails a core renders, what inlining once for many saves, and that memory stays flat."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import css_inline

from bench.readings import Contestant, Reading
from bench.world import World
from examples.portals import mail

ONE = "templates: hub welcome, variables to email, a core"
PAGE = "templates: hub welcome, styles inlined anew for each"
INLINER = "templates: css-inline alone on that page"
LATE = "templates: hub welcome, variables checked and kept (late)"
MEMORY = "templates: growth of memory over all renderings of a bulk"
MANY = 100_000


def contestants(world: World) -> list[Contestant]:
    seconds = world.scale.seconds / 4
    rendering = _Welcome()
    timed = ((ONE, rendering.email), (PAGE, rendering.anew), (INLINER, rendering.inlined), (LATE, rendering.late))
    return [
        *(
            Contestant(name=what, measure=lambda what=what, work=work: [_reading(what, work, seconds)])  # type: ignore[misc]
            for what, work in timed
        ),
        Contestant(name=MEMORY, measure=lambda: [_growth(rendering.email)], once=True),
    ]


class _Welcome:
    """The welcome of the hub portal, to a different person each time."""

    def __init__(self) -> None:
        [self._sample, *_] = mail.hub.samples("welcome", "en").values()
        self._template = mail.hub.in_language("welcome", "en")
        self._page = str(mail.hub.email(self._sample, to="ada@example.org").html)
        self._inliner = css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)

    def email(self, number: int) -> object:
        return mail.hub.email(self._person(number), to="ada@example.org")

    def anew(self, number: int) -> object:
        """As it would be without marks in place of values."""
        self._template._may_leave_places = False
        try:
            return self.email(number)
        finally:
            self._template._may_leave_places = True

    def inlined(self, number: int) -> object:
        return self._inliner.inline(self._page)

    def late(self, number: int) -> object:
        return mail.hub.email(self._person(number), to="ada@example.org", late=True)

    def _person(self, number: int) -> object:
        return type(self._sample)(**{**vars(self._sample), "name": f"Ada {number}"})


def _reading(what: str, work: Callable[[int], object], seconds: float) -> Reading:
    work(0)
    number, started = 0, time.process_time()
    while (elapsed := time.process_time() - started) < seconds:
        number += 1
        work(number)
    return Reading(what=what, value=number / elapsed, unit="emails/s")


def _growth(work: Callable[[int], object]) -> Reading:
    """The highest resident size after a hundred thousand renderings, beyond that after the first thousand."""
    for number in range(1_000):
        work(number)
    before = _highest()
    for number in range(MANY):
        work(number)
    return Reading(what=MEMORY, value=(_highest() - before) / 1e3, unit="MB")


def _highest() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
