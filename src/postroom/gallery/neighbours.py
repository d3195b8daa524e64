"""What comes before and after: through the samples of a template, then on to the next template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from postroom.gallery.addresses import Address
from postroom.gallery.exhibit import Exhibit
from postroom.templates.portal import Portal


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Where the arrow keys lead to; None at either end."""

    previous: Address | None
    next: Address | None
    language: Address
    """The same in the portal's next language, the first after the last."""


def neighbours(here: Address, shown: Exhibit, portals: Mapping[str, Portal]) -> Neighbours:
    """From what is shown."""
    spoken = shown.look.portal.languages.spoken
    after = spoken[(spoken.index(shown.look.language) + 1) % len(spoken)]
    return Neighbours(
        previous=_step(here, shown, portals, -1), next=_step(here, shown, portals, 1), language=here.but(language=after)
    )


def _step(here: Address, shown: Exhibit, portals: Mapping[str, Portal], by: int) -> Address | None:
    samples, at = shown.samples, shown.look.sample
    place = samples.index(at) + by if at in samples else -1
    if 0 <= place < len(samples):
        return here.but(sample=samples[place])
    every = [(portal, name) for portal in portals.values() for name in portal.names]
    place = every.index((shown.look.portal, shown.look.name)) + by
    if not 0 <= place < len(every):
        return None
    portal, name = every[place]
    language = here.language if here.language in portal.languages.spoken else ""
    return here.but(portal=portal.name, template=name, language=language, sample="")
