"""The campaigns of a deployment, for its workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from postroom.campaigns.sending.feed import CampaignFeed
from postroom.claim.feed import Workbench
from postroom.outbox.base import house_rules

if TYPE_CHECKING:
    from postroom.config import Settings
    from postroom.templates.portal import Portal


def campaign_feed(settings: Settings, *, patience: timedelta = timedelta(0)) -> Callable[[Workbench], CampaignFeed]:
    """What makes a worker of these settings send campaigns too: `Worker(…, beside=campaign_feed(settings))`.

    One that stops once there is nothing to do waits for turns that come within its patience.
    """
    rules = house_rules(settings)

    def portals() -> Mapping[str, Portal]:
        if not settings.portals:
            return {}
        from postroom.templates.found import find_portals

        return find_portals(settings.portals)

    return lambda bench: CampaignFeed(bench, rules=rules, portals=portals, patience=patience)
