"""Mail for the inbox, from a client that is not ours."""

from __future__ import annotations

import re
import smtplib
from email.message import EmailMessage
from email.policy import SMTP

from postroom.inbox import DevInbox

PICTURE = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")


def plain(subject: str = "Hello", *, to: str = "ada@example.org", text: str = "Good to see you.") -> EmailMessage:
    """The simplest message."""
    message = EmailMessage()
    message["From"] = "Grace <grace@example.org>"
    message["To"] = to
    message["Subject"] = subject
    message["Message-ID"] = f"<{'-'.join(re.findall('[a-z0-9]+', subject.lower()))}@example.org>"
    message.set_content(text)
    return message


def post(inbox: DevInbox, *messages: EmailMessage | bytes) -> None:
    """Deliver, each to ada@example.org and in one conversation."""
    with smtplib.SMTP("127.0.0.1", inbox.smtp_port, timeout=30) as client:
        for message in messages:
            octets = message if isinstance(message, bytes) else message.as_bytes(policy=SMTP)
            client.sendmail("grace@example.org", ["ada@example.org"], octets)
