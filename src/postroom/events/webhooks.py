"""Webhooks of changes: each change that a subscription is about enqueues one, in the transaction of the change.

So none is lost and none tells of what did not happen; it is retried, seen and counted like everything in the outbox.
What becomes of these webhooks themselves is told to nobody, or there would be no end to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from postroom.channels.webhook import WEBHOOK
from postroom.compose import DEFAULT_LIMITS, Webhook
from postroom.config.matching import kind_matches
from postroom.errors import ConfigurationError, InvalidEmail
from postroom.settle.policy import PRESETS, RetryPolicy
from postroom.store.enqueue import enqueue
from postroom.store.ids import new_id
from postroom.store.listening import Changed, Hear
from postroom.store.order import Order
from postroom.store.plan import Plan

if TYPE_CHECKING:
    from postroom.config import EventSettings, Settings

KIND = "postroom.event"
"""Of the webhooks that tell of changes."""

_ADDRESS = re.compile(r"[^\s<>\"'(),;:]+@[^\s<>\"'(),;:]+")


def webhooks_to(settings: Settings) -> Hear:
    """Enqueues what the subscriptions of these settings want to hear. What no webhook can go to is refused now."""
    policy = settings.policies.get(settings.policy) or PRESETS.get(settings.policy)
    if policy is None:
        raise ConfigurationError(f"no retry policy is named {settings.policy!r}; events need the one of the settings")
    for number, subscription in enumerate(settings.events):
        _check(f"events.{number}", subscription)

    def hear(changed: Sequence[Changed]) -> Plan[None]:
        if orders := [_order(*each, policy) for each in _wanted(settings.events, changed)]:
            yield from enqueue(orders)

    return hear


def _check(setting: str, subscription: EventSettings) -> None:
    try:
        Webhook(url=subscription.url, event="email.sent")
    except InvalidEmail as error:
        raise ConfigurationError(f"setting {setting}: {error}") from None


def _wanted(
    subscriptions: Sequence[EventSettings], changed: Sequence[Changed]
) -> Iterator[tuple[EventSettings, Changed]]:
    for each in changed:
        if each.kind == KIND:
            continue
        for subscription in subscriptions:
            if each.change in subscription.of and (
                subscription.kind is None or kind_matches(subscription.kind, each.kind)
            ):
                yield subscription, each


def _order(subscription: EventSettings, changed: Changed, policy: RetryPolicy) -> Order:
    id = new_id()
    webhook = Webhook(url=subscription.url, event=f"email.{changed.change}", data=_data(changed))
    return Order(
        id=id,
        letter=webhook.freeze(id=id, date=changed.at, limits=DEFAULT_LIMITS),
        policy=policy.name if PRESETS.get(policy.name) is policy else policy.to_text(),
        max_attempts=policy.max_attempts,
        kind=KIND,
        workspace=changed.workspace,
        channel=WEBHOOK.name,
        route=WEBHOOK.route,
    )


def _data(changed: Changed) -> dict[str, object]:
    """What receivers are told: nobody's address, also where a server has quoted one."""
    return {
        "id": changed.id,
        "status": changed.status,
        "attempts": changed.attempts,
        "kind": changed.kind,
        "workspace": changed.workspace,
        "route": changed.route,
        "channel": changed.channel,
        "key": changed.key,
        "message_id": changed.message_id,
        "dead_reason": changed.dead_reason,
        "error": None if changed.last_error is None else _ADDRESS.sub("…", changed.last_error),
    }
