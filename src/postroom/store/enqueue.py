"""Taking emails in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice

from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store.contract import Receipt
from postroom.store.order import Order
from postroom.store.plan import Copy, Plan, ask
from postroom.vocabulary import EmailId

CHUNK = 500
"""Emails per statement or COPY: enough to make the round trip cheap, little enough to keep memory flat."""


def enqueue(orders: Sequence[Order]) -> Plan[list[Receipt]]:
    """Take emails in, in the order given; a receipt for each.

    They are in the outbox when the surrounding transaction commits, and not at all when it rolls back. A key that is
    there already makes a duplicate: nothing is added and the transaction stays usable. While another transaction is
    about to commit the same key, this one waits for it.
    """
    if len(orders) == 1 and _is_plain(orders[0]):
        yield ask("enqueue_one", **orders[0].as_row())
        return [Receipt(id=orders[0].id)]
    yield from _store_attachments(orders)
    rows = yield ask("enqueue", emails=[order.as_row() for order in orders])
    entered = {row[0] for row in rows}
    firsts = yield from _first_under_keys([order for order in orders if order.id not in entered])
    return [_receipt(order, firsts.get(_name(order))) for order in orders]


def enqueue_each(orders: Iterable[Order], *, copies: bool) -> Plan[int]:
    """Take many emails in with constant memory; how many were new. Keyed emails cannot be copied: keys may collide."""
    added = 0
    iterator = iter(orders)
    while chunk := list(islice(iterator, CHUNK)):
        if copies and all(map(_is_plain, chunk)):
            added += yield from _copy(chunk)
        else:
            receipts = yield from enqueue(chunk)
            added += sum(not receipt.duplicate for receipt in receipts)
    return added


def _is_plain(order: Order) -> bool:
    """Nothing to look up and nothing to share: its rows can simply be written."""
    return order.key is None and order.lease is None and not order.letter.attachments


_EMAIL_COLUMNS = (
    *("id", "status", "priority", "due_at", "max_attempts", "policy", "on_doubt", "sensitive", "channel"),
    *("kind", "workspace", "created_at", "expires_at"),
)
_CONTENT_COLUMNS = ("email_id", "subject", "message_id", "envelope", "text", "html", "size", "terms")


def _copy(orders: list[Order]) -> Plan[int]:
    now: datetime = (yield ask("clock"))[0][0]
    rows = [order.as_row() for order in orders]
    yield Copy(
        "contents",
        _CONTENT_COLUMNS,
        (
            (
                *(row["id"], row["subject"], row["message_id"], row["envelope"], row["text"], row["html"]),
                *(row["size"], json.dumps(row["terms"], ensure_ascii=False)),
            )
            for row in rows
        ),
    )
    yield Copy("terms", ("term", "email_id"), ((term, row["id"]) for row in rows for term in row["terms"]))
    yield Copy(
        "emails",
        _EMAIL_COLUMNS,
        (
            (
                *(row["id"], "pending", row["priority"], row["due_at"] or now, row["max_attempts"], row["policy"]),
                *(row["on_doubt"].value, row["sensitive"], row["channel"], row["kind"], row["workspace"], now),
                row["expires_at"],
            )
            for row in rows
        ),
    )
    yield ask("copied", count=len(orders))
    return len(orders)


def _store_attachments(orders: Sequence[Order]) -> Plan[None]:
    """Have every attachment in the store, held until the transaction ends.

    Between storing and holding, a sweep may take one away that was there and unused: then it is stored again.
    """
    contents = {digest: content for order in orders for digest, content in order.letter.attachments}
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


def _receipt(order: Order, first: tuple[EmailId, str] | None) -> Receipt:
    if first is None or first[0] == order.id:
        return Receipt(id=order.id)
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
