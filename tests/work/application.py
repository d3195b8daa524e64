"""An application that sends inline, as a process that may be killed at any moment.

It knows Postroom from outside only, and runs errands in one of several manners until it is killed, told to stop by
SIGTERM, or has run as many as it was asked to. Everything it was promised stands in a diary. When it is told to stop,
it closes its outbox with emails under way, and everything must come to an end: exit code 3 says that something hung.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import secrets
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from postroom import AsyncOutbox, Outbox
from tests.work.diary import Diary, Errand, read_diaries
from tests.work.office import AT_ONCE

MANNERS = ("send", "soon", "async", "fork")
HANDS = 3
"""Threads, or tasks, that send at the same time."""
CHILDREN = 2
LARGEST_BURST = 150
"""Emails for the background at once: more than it takes on, and more than it sends before a short lease is over."""
PATIENCE = 20.0
"""Seconds in which everything under way must have ended when it is told to stop."""
HUNG = 3

Send = Callable[..., Any]


class Application:
    """What all manners share: chance, a diary, errands to run, and when to stop."""

    def __init__(self, folder: Path, *, errands: int) -> None:
        self.dice = random.Random(secrets.randbits(64))
        self.diary = Diary(folder)
        self.stopping = False
        """Set by a signal's handler, which may touch nothing that has a lock."""
        self._left = errands
        self._again = [promise.errand for promise in read_diaries(folder) if promise.errand.keyed]
        """Run by others before: with their keys, so that nobody gets them twice."""

    def stop(self) -> None:
        """Run no more errands."""
        self.stopping = True

    def errands(self) -> Iterator[Errand]:
        """What to run next, for as long as there is something to do."""
        while not self.stopping and self._left > 0:
            self._left -= 1
            yield self._errand()

    def _errand(self) -> Errand:
        if self._again and self.dice.random() < 0.3:
            return self.dice.choice(self._again)
        on_doubt, keyed = self.dice.choice(["hold", "resend", "resend"]), self.dice.random() < 0.5
        tag = f"{os.getpid()}-{secrets.token_hex(6)}"
        return Errand(tag=tag, keyed=keyed, on_doubt=on_doubt)

    def run(self, send: Send, errand: Errand) -> None:
        """One errand, and what was said to it."""
        self.diary.about(errand)
        try:
            outcome = send(errand.email(), key=errand.key, on_doubt=errand.on_doubt, policy=AT_ONCE)
        except Exception as error:  # noqa: BLE001  what it is told is what this is about
            if not self.stopping:  # an outbox that was closed may say so
                self.diary.raised(errand, error)
        else:
            self.diary.returned(errand, outcome.id)


# ---------------------------------------------------------------- manners


def send_in_threads(application: Application) -> None:
    """`Outbox.send` from several threads; closed under them in the end."""

    def hand() -> None:
        for errand in application.errands():
            application.run(outbox.send, errand)

    with Outbox() as outbox:
        hands = [threading.Thread(target=hand, daemon=True) for _ in range(HANDS)]
        for each in hands:
            each.start()
        while any(each.is_alive() for each in hands) and not application.stopping:
            time.sleep(0.02)
    _join(hands)


def send_soon(application: Application) -> None:
    """`Outbox.send_soon`, many at once and then none for a moment."""
    with Outbox() as outbox:
        burst = 0
        for errand in application.errands():
            application.run(outbox.send_soon, errand)
            burst = burst or application.dice.randint(1, LARGEST_BURST)
            burst -= 1
            if not burst:
                time.sleep(application.dice.uniform(0.0, 0.3))


def send_awaiting(application: Application) -> None:
    """`AsyncOutbox.send`, some of them given up by their callers at any moment."""
    asyncio.run(_send_awaiting(application))


async def _send_awaiting(application: Application) -> None:
    async def hand() -> None:
        for errand in application.errands():
            limit = application.dice.choice([None, application.dice.uniform(0.0, 0.08)])
            await _await(application, outbox, errand, limit)
            await asyncio.sleep(0)

    async with AsyncOutbox() as outbox:
        hands = [asyncio.ensure_future(hand()) for _ in range(2 * HANDS)]
        while not all(each.done() for each in hands) and not application.stopping:
            await asyncio.wait(hands, timeout=0.02)
        for each in hands:
            each.cancel()
        await asyncio.gather(*hands, return_exceptions=True)


async def _await(application: Application, outbox: AsyncOutbox, errand: Errand, limit: float | None) -> None:
    application.diary.about(errand)
    try:
        async with asyncio.timeout(limit):
            outcome = await outbox.send(errand.email(), key=errand.key, on_doubt=errand.on_doubt, policy=AT_ONCE)
    except TimeoutError:
        return  # nobody was told anything
    except Exception as error:  # noqa: BLE001  what it is told is what this is about
        application.diary.raised(errand, error)
    else:
        application.diary.returned(errand, outcome.id)


def send_and_fork(application: Application) -> None:
    """An outbox that has been used, then forked children who go on using it, and so does their parent."""
    children: set[int] = set()
    with Outbox() as outbox:
        for errand in application.errands():
            application.run(application.dice.choice([outbox.send, outbox.send_soon]), errand)
            _bury(children)
            while len(children) < CHILDREN:
                children.add(_fork(application, outbox))
        _dismiss(children, asked_to=application.stopping)


def _fork(application: Application, outbox: Outbox) -> int:
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()
        application.dice.seed(secrets.randbits(64))
        application.diary = Diary(application.diary.folder)
        for errand in application.errands():
            application.run(application.dice.choice([outbox.send, outbox.send_soon]), errand)
        outbox.close()
    except BaseException:  # noqa: BLE001  a child must never run on as a second parent
        traceback.print_exc()
        os._exit(70)
    os._exit(0)


def _follow(parent: int) -> None:
    """An orphan lives on for a moment, and no longer: nobody is left to bury it."""
    while os.getppid() == parent:
        time.sleep(0.02)
    time.sleep(random.uniform(0.0, 0.3))
    os.kill(os.getpid(), signal.SIGKILL)


def _bury(children: set[int]) -> None:
    for child in list(children):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            children.discard(child)
            _check(status)


def _check(status: int) -> None:
    if os.waitstatus_to_exitcode(status) not in (0, -signal.SIGKILL, -signal.SIGTERM):
        raise RuntimeError(f"a child ended with {os.waitstatus_to_exitcode(status)}")


def _dismiss(children: set[int], *, asked_to: bool) -> None:
    """Wait for the children, who have errands of their own; have them stop if that is what was asked."""
    for child in children if asked_to else ():
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE
    while children:
        _bury(children)
        if time.monotonic() > deadline:
            _hang(f"children {children}")
        time.sleep(0.02)


def _join(hands: list[threading.Thread]) -> None:
    deadline = time.monotonic() + PATIENCE
    for each in hands:
        each.join(max(0.0, deadline - time.monotonic()))
    if any(each.is_alive() for each in hands):
        _hang("threads inside send()")


def _hang(who: str) -> None:
    sys.stderr.write(f"still there after {PATIENCE:g} s: {who}\n")
    sys.stderr.flush()
    os._exit(HUNG)


def main(manner: str, folder: str, errands: str = "1000000000") -> None:
    """Run errands in this manner."""
    place = Path(folder)
    application = Application(place, errands=int(errands))
    # Forked children have it too: it is free when the last of them is gone.
    fcntl.flock(os.open(place / "alive.lock", os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_SH)
    signal.signal(signal.SIGTERM, lambda *_: application.stop())
    manners: dict[str, Callable[[Application], Any]] = {
        "send": send_in_threads,
        "soon": send_soon,
        "async": send_awaiting,
        "fork": send_and_fork,
    }
    manners[manner](application)
