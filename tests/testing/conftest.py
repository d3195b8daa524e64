"""The fixtures under test."""

from __future__ import annotations

from postroom.testing.fixtures import fault_proxy, memory_transport, postroom_outbox, smtp_server

__all__ = ["fault_proxy", "memory_transport", "postroom_outbox", "smtp_server"]
