"""Our own SMTP client: it pipelines, knows its phase to the byte, and answers with values.

A conversation runs from the bottom up: `replies` reads what the server says, `wire` keeps bytes, replies and time
limits in step, `opening` greets, secures and authenticates, `connection` carries one envelope after another, and
`pool` keeps connections for reuse. `server` is what the settings say about the other end.
"""

from __future__ import annotations

from postroom.send.smtp.pool import Line, SmtpTransport
from postroom.send.smtp.server import AuthMechanism, Limits, Server, StartTls

__all__ = ["AuthMechanism", "Limits", "Line", "Server", "SmtpTransport", "StartTls"]
