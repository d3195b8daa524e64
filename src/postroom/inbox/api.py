"""The JSON API, for tests and scripts: `GET /api/inbox/messages?to=ada@example.org&wait=5`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from postroom.inbox.chaos import COUNTED, Trouble
from postroom.inbox.problems import NoSuchMessage
from postroom.inbox.server import DevInbox
from postroom.inbox.shapes import ChaosState, Deleted, MessageLine, MessageList, State, Switch, WholeMessage
from postroom.inbox.shelf import Shelf, Wanted

router = APIRouter(prefix="/api/inbox")

LARGEST_ID = 2**63 - 1
PATIENCE = 30


def the_inbox(request: Request) -> DevInbox:
    """The inbox that this page is of."""
    inbox: DevInbox = request.app.state.inbox
    return inbox


Inbox = Annotated[DevInbox, Depends(the_inbox)]
Place = Annotated[int | None, Query(ge=0, le=LARGEST_ID)]


@router.get("/messages")
async def list_messages(
    inbox: Inbox,
    q: Annotated[str, Query(max_length=500)] = "",
    to: Annotated[str, Query(max_length=500)] = "",
    before: Place = None,
    after: Place = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    wait: Annotated[float, Query(ge=0, le=PATIENCE)] = 0,
) -> MessageList:
    """The newest first. With `wait`, the answer comes when there is at least one, or after so many seconds."""
    wanted = Wanted(words=q, recipient=to, before=before, after=after, limit=limit)
    if wait:
        await _wait_for(inbox.shelf, wanted, wait)
    return await run_in_threadpool(_listed, inbox, wanted)


def _listed(inbox: DevInbox, wanted: Wanted) -> MessageList:
    found = inbox.shelf.list(wanted)
    return MessageList(
        messages=[MessageLine.of(message) for message in found],
        total=inbox.shelf.count(wanted),
        next=found[-1].id if len(found) == wanted.limit else None,
    )


async def _wait_for(shelf: Shelf, wanted: Wanted, seconds: float) -> None:
    """Until there is one, or time is over. Who waits holds no thread: those are for who is being answered."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    with suppress(TimeoutError), shelf.heard_by(lambda: loop.call_soon_threadsafe(changed.set)):
        async with asyncio.timeout(seconds):
            while not shelf.closed and not await run_in_threadpool(shelf.list, wanted):
                await changed.wait()
                changed.clear()


@router.get("/messages/{id}")
def get_message(inbox: Inbox, id: int) -> WholeMessage:
    """One message, taken apart."""
    message = inbox.shelf.get(id) if 0 <= id <= LARGEST_ID else None
    if message is None:
        raise NoSuchMessage("message")
    return WholeMessage.of(message, inbox.letter(id))


@router.delete("/messages")
def delete_all_messages(inbox: Inbox) -> Deleted:
    """Empty the inbox."""
    return Deleted(deleted=inbox.shelf.delete_all())


@router.delete("/messages/{id}")
def delete_message(inbox: Inbox, id: int) -> Deleted:
    """Delete one message."""
    if not (0 <= id <= LARGEST_ID and inbox.shelf.delete(id)):
        raise NoSuchMessage("message")
    return Deleted(deleted=1)


@router.get("/state")
def get_state(inbox: Inbox) -> State:
    """Whether anything has changed, for very little."""
    return State(changes=inbox.changes)


@router.get("/chaos")
def get_chaos(inbox: Inbox) -> ChaosState:
    """The troubles that are on."""
    return ChaosState(on=[Switch(trouble=trouble, times=times) for trouble, times in inbox.chaos.state().items()])


@router.put("/chaos")
def put_chaos(inbox: Inbox, wanted: ChaosState) -> ChaosState:
    """Switch these troubles on, and all others off."""
    times = {switch.trouble: switch.times for switch in wanted.on}
    for trouble in Trouble:
        if trouble in times:
            inbox.switch_on(trouble, times=times[trouble] if trouble in COUNTED else None)
        else:
            inbox.switch_off(trouble)
    return get_chaos(inbox)
