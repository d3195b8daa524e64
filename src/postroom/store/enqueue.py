"""Taking emails in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, islice

from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store.contract import Receipt
from postroom.store.fields import GIVEN, GIVEN_CONTENT, columns, given_in_order
from postroom.store.order import Order, written
from postroom.store.plan import Copy, Plan, Row, ask
from postroom.store.suppressions import (
    AS_SHIPPED,
    Mail,
    Suppression,
    SuppressionRules,
    normal_address,
    stopped_by,
    suppressions_of,
)
from postroom.vocabulary import EmailId

CHUNK = 500
"""Emails per statement: enough to make the round trip cheap, little enough to keep memory flat."""
_LEFT_OUT = datetime.min.replace(tzinfo=UTC)
"""When entries are looked at that the database has found in force: it has left the others out, by its own clock."""
COPIED = 2_000
"""Emails per COPY; their bodies pass through, only a few hundred bytes of each are kept until the next."""


def enqueue(orders: Sequence[Order], *, rules: SuppressionRules = AS_SHIPPED) -> Plan[list[Receipt]]:
    """Take emails in, in the order given; a receipt for each.

    They are in the outbox when the surrounding transaction commits, and not at all when it rolls back. A key that is
    there already makes a duplicate: nothing is added and the transaction stays usable. While another transaction is
    about to commit the same key, this one waits for it.

    Recipients who are not to be mailed are named on the receipt, and keep nothing from being taken in: the entry may be
    gone when the email is due, and until then everybody can see it. A duplicate's receipt does not name them.
    """
    if len(orders) == 1 and _is_plain(orders[0]):
        rows = yield ask("enqueue_one", **orders[0].as_plain_row())
        known = yield from _known([row[0] for row in rows])
        return [_new(orders[0], known, rules)]
    yield from store_attachments(attachment for order in orders for attachment in order.letter.attachments)
    rows = yield ask("enqueue", emails=[order.as_row() for order in orders])
    entered = {row[0] for row in rows}
    known = yield from _known([row[2] for row in rows if row[0] is None])
    firsts = yield from _first_under_keys([order for order in orders if order.id not in entered])
    return [_receipt(order, firsts.get(_name(order)), known, rules) for order in orders]


def enqueue_each(orders: Iterable[Order], *, copies: bool) -> Plan[int]:
    """Take many emails in with constant memory; how many were new.

    Plain ones are copied, and composed while the database is busy with those before; from the first that is not plain
    on, a chunk goes by statement, because keys may collide.
    """
    added = 0
    iterator = iter(orders)
    while (first := next(iterator, None)) is not None:
        if copies and _is_plain(first):
            run = _Run(first, iterator)
            added += yield from _copy(run)
            if run.odd is None:
                continue
            first = run.odd
        receipts = yield from enqueue([first, *islice(iterator, CHUNK - 1)])
        added += sum(not receipt.duplicate for receipt in receipts)
    return added


def _is_plain(order: Order) -> bool:
    """Nothing to look up and nothing to share: its rows can simply be written."""
    return order.key is None and order.lease is None and not order.letter.attachments


_STATE_COLUMNS = ("id", "status", *columns(GIVEN), "due_at", "created_at")
_CONTENT_COLUMNS = ("email_id", *columns(GIVEN_CONTENT), "terms")

_state = given_in_order(GIVEN)
_content = given_in_order(GIVEN_CONTENT)


class _Run:
    """Plain orders in a row, at most `COPIED`, taken from an iterator one by one."""

    def __init__(self, first: Order, following: Iterator[Order]) -> None:
        self.odd: Order | None = None
        """The order that ended the run by not being plain, if one did."""
        self.states: list[Row] = []
        """Of each order, its row of state without the times that are not known yet."""
        self.terms: list[Row] = []
        self.routes: set[str] = set()
        self._orders = chain([first], islice(following, COPIED - 1))

    def contents(self) -> Iterator[Row]:
        """The rows of their content, made as they are asked for and not kept."""
        for order in self._orders:
            if not _is_plain(order):
                self.odd = order
                return
            found = order.terms()
            yield (order.id, *_content(order), written(found))
            self.terms.extend([(term, order.id) for term in found])
            self.routes.add(order.route)
            self.states.append((order.id, "pending", *_state(order), order.not_before))


def _copy(run: _Run) -> Plan[int]:
    now: datetime = (yield ask("clock"))[0][0]
    yield Copy("contents", _CONTENT_COLUMNS, run.contents())
    yield Copy("terms", ("term", "email_id"), run.terms)
    yield Copy("emails", _STATE_COLUMNS, ((*state[:-1], state[-1] or now, now) for state in run.states))
    yield ask("copied", count=len(run.states), routes=sorted(run.routes))
    return len(run.states)


def store_attachments(attachments: Iterable[tuple[str, bytes]]) -> Plan[None]:
    """Have every attachment in the store, held until the transaction ends.

    Between storing and holding, a sweep may take one away that was there and unused: then it is stored again.
    """
    contents = dict(attachments)
    while contents:
        for digest, content in sorted(contents.items()):
            yield ask("store_attachment", digest=digest, content=content, size=len(content))
        held = {row[0] for row in (yield ask("hold_attachments", digests=sorted(contents)))}
        contents = {digest: content for digest, content in contents.items() if digest not in held}


def _name(order: Order) -> tuple[str, str | None]:
    return order.workspace, order.key


def _first_under_keys(orders: Sequence[Order]) -> Plan[dict[tuple[str, str | None], tuple[EmailId, str]]]:
    if not orders:
        return {}
    rows = yield ask("first_under_key", keys=[{"workspace": o.workspace, "key": o.key} for o in orders])
    firsts = {(workspace, key): (EmailId(id), fingerprint) for workspace, key, id, fingerprint in rows}
    if any(_name(order) not in firsts for order in orders):
        raise StoreUnavailable("an idempotency key was swept away while it was being asked for; enqueue again")
    return firsts


def _known(addresses: Sequence[str]) -> Plan[dict[str, list[Suppression]]]:
    """What is known of recipients who were found among those not to be mailed: hardly ever anything, or asked."""
    return (yield from suppressions_of(addresses)) if addresses else {}


def _new(order: Order, known: Mapping[str, Sequence[Suppression]], rules: SuppressionRules) -> Receipt:
    """The receipt of an email that entered."""
    if not known:
        return Receipt(id=order.id)
    mail = Mail(workspace=order.workspace, kind=order.kind, unsubscribable=order.unsubscribable)
    stopped = [
        address
        for address in order.letter.recipients
        if stopped_by(known.get(normal_address(address), ()), mail, now=_LEFT_OUT, rules=rules)
    ]
    return Receipt(id=order.id, suppressed=tuple(stopped))


def _receipt(
    order: Order,
    first: tuple[EmailId, str] | None,
    known: Mapping[str, Sequence[Suppression]],
    rules: SuppressionRules,
) -> Receipt:
    if first is None or first[0] == order.id:
        return _new(order, known, rules)
    id, fingerprint = first
    receipt = Receipt(id=id, duplicate=True, content_differs=fingerprint != order.letter.fingerprint)
    logger.info(
        "duplicate email skipped",
        email_id=id,
        kind=order.kind,
        workspace=order.workspace,
        content_differs=receipt.content_differs,
    )
    return receipt
