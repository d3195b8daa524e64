"""What has become of a connection while it lay in the pool, found out without asking the server.

A server that goes away, or ends a session, says so or hangs up: then the socket has something to read, and nothing has
otherwise, because nobody has asked for anything. One system call tells, where a question would cost a round trip.
A line that was cut without a word (a cable, a firewall that forgets) is found only by using it.
"""

from __future__ import annotations

import select


def has_news(socket: int) -> bool:
    """Whether there is something to read, or nobody left to write it."""
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([socket], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))
