"""The email that everybody sends: about 2.5 kB of text and HTML, plain ASCII, one recipient."""

from __future__ import annotations

from email.message import EmailMessage
from email.policy import SMTP
from functools import cache

from postroom import Email

SENDER = "shop@example.com"
_MARK = 987654321
_ROWS = range(1, 9)

_TEXT = (
    "Hello customer {n},\n\nyour order number {n} has been received and is being prepared.\n\n"
    + "".join(f"  {row}. An ordinary line item with a plain description, quantity {row}, 12.{row}0\n" for row in _ROWS)
    + "\nThank you for your custom.\nThe shop\n"
)
_HTML = (
    "<!doctype html><html><head><title>Order {n}</title></head><body>\n<h1>Hello customer {n}</h1>\n"
    "<p>Your order number {n} has been received and is being prepared.</p>\n<table>\n"
    + "".join(
        f'<tr><td style="padding:4px">{row}</td><td style="padding:4px">An ordinary line item, plain</td>'
        f"<td>12.{row}0</td></tr>\n"
        for row in _ROWS
    )
    + "</table>\n<p>Thank you for your custom.</p>\n<p>The shop</p>\n</body></html>\n"
)


def recipient(number: int) -> str:
    return f"customer{number}@example.net"


def subject(number: int) -> str:
    return f"Your order number {number} has been received"


def text(number: int) -> str:
    return _TEXT.replace("{n}", str(number))


def html(number: int) -> str:
    return _HTML.replace("{n}", str(number))


def email(number: int, *, to: str | None = None) -> Email:
    """The email as Postroom's users write it."""
    return Email(
        sender=SENDER,
        to=to or recipient(number),
        subject=subject(number),
        text=text(number),
        html=html(number),
    )


def built(number: int) -> bytes:
    """The same by the standard library."""
    message = EmailMessage(policy=SMTP)
    message["From"] = SENDER
    message["To"] = recipient(number)
    message["Subject"] = subject(number)
    message["Date"] = "Fri, 01 May 2026 12:00:00 +0000"
    message["Message-ID"] = f"<{number}.bench@example.com>"
    message.set_content(text(number))
    message.add_alternative(html(number), subtype="html")
    return message.as_bytes()


def ready_made(number: int) -> bytes:
    """The same bytes without building them: peers that queue bytes get their best case."""
    return _template().replace(str(_MARK).encode(), str(number).encode())


@cache
def _template() -> bytes:
    return built(_MARK)
