"""What helps us test Postroom, for the tests of those who use it.

`ScriptedSmtp` is a mail server that does as it is told, `ScriptedHttp` a web server of that kind, `FaultProxy` a
network that fails when asked to, and `MemoryTransport` a way out that leads nowhere. `VirtualWorkers` send campaigns
by a `VirtualClock`: weeks in seconds.
`pytest_plugins = ["postroom.testing.fixtures"]` makes them fixtures.
"""

from __future__ import annotations

from postroom.send.memory import MemoryTransport
from postroom.send.script import Hold, Moment, Rule
from postroom.testing.http import ReceivedRequest, ScriptedHttp
from postroom.testing.proxy import FaultProxy
from postroom.testing.record import ReceivedMessage
from postroom.testing.smtp import ScriptedSmtp
from postroom.testing.virtual import VirtualClock, VirtualWorker, VirtualWorkers

__all__ = [
    "FaultProxy",
    "Hold",
    "MemoryTransport",
    "Moment",
    "ReceivedMessage",
    "ReceivedRequest",
    "Rule",
    "ScriptedHttp",
    "ScriptedSmtp",
    "VirtualClock",
    "VirtualWorker",
    "VirtualWorkers",
]
