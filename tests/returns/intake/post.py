"""Messages that come back, written by hand, and programs that take them in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SECRET = "a secret of the tests, long enough to sign with"
RETURN_ADDRESS = "bounces@mail.example.org"
OURS = {"POSTROOM_RETURN_ADDRESS": RETURN_ADDRESS, "POSTROOM_SECRET": SECRET, "POSTROOM_SENDER": "desk@example.org"}


def bounce(
    *,
    to: str = RETURN_ADDRESS,
    recipient: str = "ada@example.org",
    about: str = "",
    status: str = "5.1.1",
    diagnostic: str = "550 5.1.1 no such user here",
    number: int = 1,
    action: str = "failed",
) -> bytes:
    """A delivery report in the form of RFC 3464."""
    original = f"Message-ID: {about}\n" if about else ""
    return f"""From: Mail Delivery System <MAILER-DAEMON@mx.example.net>
To: {to}
Subject: Undelivered Mail Returned to Sender
Date: Mon, 9 Mar 2026 12:00:00 +0000
Message-ID: <report{number}@mx.example.net>
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

I'm sorry to have to inform you that your message could not be delivered.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.net

Final-Recipient: rfc822; {recipient}
Action: {action}
Status: {status}
Diagnostic-Code: smtp; {diagnostic}

--b
Content-Type: text/rfc822-headers

From: desk@example.org
To: {recipient}
Subject: Hi
{original}
--b--
""".replace("\n", "\r\n").encode()


def reply(*, about: str, sender: str = "ada@example.org", automatic: bool = False, text: str = "Thank you!") -> bytes:
    """An answer by a person, or by a program."""
    program = "Auto-Submitted: auto-replied\n" if automatic else ""
    return f"""From: Ada <{sender}>
To: desk@example.org
Subject: Re: Hi
Date: Mon, 9 Mar 2026 12:00:00 +0000
Message-ID: <reply@example.org>
In-Reply-To: {about}
References: {about}
{program}
{text}
""".replace("\n", "\r\n").encode()


def complaint(*, about: str, recipient: str = "ada@example.org") -> bytes:
    """A report of a reader's wish, in the form of RFC 5965."""
    return f"""From: feedback@provider.example
To: abuse@example.org
Subject: FW: Hi
Date: Mon, 9 Mar 2026 12:00:00 +0000
Message-ID: <complaint@provider.example>
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="b"

--b
Content-Type: text/plain

This is an email abuse report.

--b
Content-Type: message/feedback-report

Feedback-Type: abuse
User-Agent: Provider/1.0
Version: 1
Original-Rcpt-To: <{recipient}>

--b
Content-Type: message/rfc822

From: desk@example.org
To: {recipient}
Subject: Hi
Message-ID: {about}

Hello
--b--
""".replace("\n", "\r\n").encode()


def surroundings(database: str, **more: str) -> dict[str, str]:
    """What a program is told, and nothing of what this one was."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("POSTROOM_", "SMTP_"))}
    return kept | OURS | {"POSTROOM_DATABASE": database} | more


def postroom(database: str, *arguments: str, message: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "postroom", *arguments],
        input=message,
        capture_output=True,
        env=surroundings(database, **more),
        timeout=120,
        check=False,
    )


def maildir(folder: Path, *messages: bytes) -> Path:
    """A Maildir with these messages in it, as a mail system would have left them."""
    for name in ("tmp", "new", "cur"):
        (folder / name).mkdir(parents=True)
    for number, message in enumerate(messages):
        (folder / ("cur" if number % 2 else "new") / f"17000000{number:02}.M1P1.host").write_bytes(message)
    return folder
