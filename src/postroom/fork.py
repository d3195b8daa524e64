"""What a forked process must not share with its parent: connections, threads, locks, journals.

gunicorn with `--preload`, Celery's prefork pool and `multiprocessing` copy a process that has used an outbox already.
The copy has the parent's sockets and locks, and none of its threads. So whatever holds such things asks to be told, and
begins anew in the child: nobody who uses an outbox has to know of it.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Holds something that belongs to one process."""

    def forget_parent(self) -> None:
        """This is a forked child: let go of what is the parent's, without a word on its sockets, and begin anew.

        Runs before anything else in the child, in its only thread. It must neither wait nor raise.
        """


_forkables: WeakSet[Forkable] = WeakSet()


def tell_after_fork(thing: Forkable) -> None:
    """Have `thing` told, for as long as it lives, when it finds itself in a forked child."""
    _forkables.add(thing)


def lead_nowhere(descriptor: int) -> None:
    """In a child, part with a descriptor of the parent's without a word to whoever is at its other end.

    That would otherwise not hear of the parent's death while a child lives. The number stays taken, so that whoever
    still knows it writes into nothing, never into what was opened since.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, descriptor, inheritable=False)
    os.close(nowhere)


def _in_child() -> None:
    for thing in list(_forkables):
        thing.forget_parent()


if hasattr(os, "register_at_fork"):  # nobody forks on Windows
    os.register_at_fork(after_in_child=_in_child)
