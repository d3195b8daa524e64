"""Whether an inline send may leave now, and by which route; and its row, written in the same transaction.

An application obeys what workers and people know of a route: while it is paused, open or throttled, or its rate is used
up, an email is taken in for later at once, without a time-out. While a route is in trouble, its fallback takes the
email. The question and the row are one transaction, so that the lease counts from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from postroom.claim.allowance import reserve_rate, return_rate
from postroom.claim.route import Route
from postroom.store.contract import Receipt
from postroom.store.enqueue import enqueue
from postroom.store.order import Order
from postroom.store.plan import News, Plan, ask
from postroom.store.suppressions import AS_SHIPPED, SuppressionRules
from postroom.vocabulary import Change
from postroom.work.breaker import Breaker
from postroom.work.breakers import Standing, standing_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What became of an order that wants to leave at once."""

    order: Order
    """As it is taken in: the fallback of its route may have it."""
    standing: Standing
    """How the routes stand."""
    obstacle: str | None
    """Why it has to wait; None when it may leave."""
    receipt: Receipt | None
    """Of its row; None where it may leave and wants no row."""


def admit(
    order: Order, *, routes: Mapping[str, Route], store: bool, rules: SuppressionRules = AS_SHIPPED
) -> Plan[Admission]:
    """Let an order leave, stored under its lease if `store`; or take it in for a worker, due now."""
    standing = yield from standing_of({name: route.server for name, route in routes.items()})
    wished, order = order.route, replace(order, route=_way_out(order.route, routes, standing))
    rate, obstacle = routes[order.route].rate, _closed(standing.breakers[order.route], standing.now)
    if obstacle is None and rate is not None and not (yield from reserve_rate(order.route, 1, rate)).granted:
        obstacle = f"the rate of {rate} is used up just now"
    receipt = None
    if store or obstacle is not None:
        [receipt] = yield from enqueue([order if obstacle is None else replace(order, lease=None)], rules=rules)
    if receipt is not None and receipt.duplicate:
        if rate is not None and obstacle is None:
            yield from return_rate(order.route, 1, rate)
    elif receipt is not None and wished != order.route:
        yield from _tell_of_reroute(order, wished, standing.breakers[wished].reason)
    return Admission(order=order, standing=standing, obstacle=obstacle, receipt=receipt)


def _way_out(route: str, routes: Mapping[str, Route], standing: Standing) -> str:
    """The route itself; or its fallback, while it is in trouble and that is not."""
    other = routes[route].fallback
    if other is None or other not in routes or not standing.breakers[route].in_trouble:
        return route
    return other if standing.breakers[other].may_send(standing.now) else route


def _tell_of_reroute(order: Order, wished: str, reason: str) -> Plan[None]:
    """In the history, in the stream, and to those who listen."""
    detail = json.dumps({"from": wished, "to": order.route, "reason": reason}, ensure_ascii=False)
    event = {"email_id": order.id, "what": "rerouted", "attempt": 0, "actor": None, "detail": detail}
    yield ask("record", events=[event])
    yield ask("note_changes", ids=[order.id], what=Change.REROUTED)
    yield News([order.id], Change.REROUTED)


def _closed(breaker: Breaker, now: datetime) -> str | None:
    if breaker.may_send(now):
        return None
    return f"the route is {breaker.state}: {breaker.reason}" if breaker.reason else f"it is {breaker.state}"
