"""Typical mistakes; never run, only type-checked, by `tests/test_docs.py`, which expects the errors marked here."""

from __future__ import annotations

from postroom import AsyncOutbox, Email, EmailId, Outbox, RouteSettings


def open_outboxes() -> None:
    Outbox("sqlite:///app.db", stmp="smtp://localhost")  # !call-arg
    AsyncOutbox("sqlite:///app.db", retention=["30d"])  # !arg-type
    Outbox(routes={"backup": 25})  # !dict-item
    Outbox(routes={"backup": RouteSettings(transport="smtp://b", connections="4")})  # !arg-type
    Outbox.from_settings(database="sqlite:///app.db")  # !call-arg


def put_in(outbox: Outbox, email: Email) -> None:
    outbox.enqueue(email, priority="urgnt")  # !arg-type
    outbox.enqueue(email, on_doubt="retry")  # !arg-type
    outbox.enqueue(email, colour="red")  # !call-arg
    outbox.enqueue(email, route=7)  # !arg-type
    outbox.enqueue_many([email], priority="Bulk")  # !arg-type
    outbox.send(email, priority="urgnt")  # !arg-type
    outbox.send_soon(email, on_doubt="holds")  # !arg-type


async def put_in_awaited(outbox: AsyncOutbox, email: Email) -> None:
    await outbox.enqueue(email, priority="urgnt")  # !arg-type
    await outbox.enqueue_many([email], priority="urgnt")  # !arg-type
    await outbox.send(email, on_doubt="holds")  # !arg-type
    await outbox.send_soon(email, rout="backup")  # !call-arg


def address(outbox: Outbox, id: EmailId) -> None:
    Email(to=("ada@example.org", "grace@example.org", "kay@example.org"))  # !arg-type
    Email(to=(("Ada", "ada@example.org"), ("Grace", "grace@example.org")))  # !arg-type
    Email(to="ada@example.org", sender=("Desk", "desk@example.org", "x"))  # !arg-type
    Email(to=[b"ada@example.org"])  # !list-item
    Email(to=7)  # !arg-type
    outbox.replay(id, to=("a@example.org", "b@example.org", "c@example.org"))  # !arg-type
