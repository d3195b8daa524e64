"""The broker at the other end of a network that fails."""

from __future__ import annotations

from dataclasses import replace

from postroom.broker.topology import Broker
from postroom.testing import FaultProxy


def through(network: FaultProxy, broker: Broker) -> Broker:
    """The same broker by way of that network."""
    head, _, _ = broker.url.rpartition(":")
    return replace(broker, url=f"{head}:{network.port}/")


def port_of(broker: Broker) -> int:
    """Where it listens."""
    return int(broker.url.rpartition(":")[2].rstrip("/"))
