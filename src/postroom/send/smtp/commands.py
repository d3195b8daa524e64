"""An envelope as the commands and bytes that carry it. Pure, and careful with what an address might smuggle in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from postroom.send.contract import Envelope, Fault, FaultKind, Phase
from postroom.send.smtp.capabilities import Capabilities

DOT = b".\r\n"
_UNSAFE = re.compile("[<>\r\n\0]")


def unsuitable(envelope: Envelope, capabilities: Capabilities) -> Fault | None:
    """Why this server cannot take this envelope, known before anything is uploaded; None when nothing is known."""
    size = len(envelope.message)
    if capabilities.size is not None and size > capabilities.size:
        text = f"the message has {size} bytes and the server takes at most {capabilities.size}"
        return Fault(phase=Phase.MAIL, kind=FaultKind.TOO_LARGE, text=text, enhanced="5.3.4")
    if not capabilities.smtputf8 and needs_smtputf8(envelope):
        text = "an address or header is not ASCII and the server does not offer SMTPUTF8"
        return Fault(phase=Phase.MAIL, kind=FaultKind.NEEDS_SMTPUTF8, text=text, enhanced="5.6.7")
    return None


def needs_smtputf8(envelope: Envelope) -> bool:
    """Whether the envelope says so, or one of its addresses shows it."""
    return envelope.smtputf8 or not envelope.sender.isascii() or not all(map(str.isascii, envelope.recipients))


def has_spare_parameters(envelope: Envelope, capabilities: Capabilities) -> bool:
    """Whether MAIL carries what this message could do without."""
    return capabilities.size_offered or capabilities.dsn or (capabilities.spare and needs_smtputf8(envelope))


def mail(envelope: Envelope, capabilities: Capabilities) -> bytes:
    """The MAIL command."""
    _check(envelope.sender, envelope.id)
    return _mail(envelope, capabilities, wide=needs_smtputf8(envelope)).encode()


def recipient(address: str, capabilities: Capabilities) -> bytes:
    """One RCPT command."""
    _check(address)
    return f"RCPT TO:<{address}>{_notify(capabilities)}\r\n".encode()


def whole(envelope: Envelope, capabilities: Capabilities) -> bytes:
    """MAIL, every RCPT and DATA, to be written at once."""
    words = _check(envelope.sender, envelope.id, *envelope.recipients)
    notify = _notify(capabilities)
    recipients = f">{notify}\r\nRCPT TO:<".join(envelope.recipients)
    mail = _mail(envelope, capabilities, wide=envelope.smtputf8 or not words.isascii())
    return f"{mail}RCPT TO:<{recipients}>{notify}\r\nDATA\r\n".encode()


def _check(*words: str) -> str:
    """See to it that no address adds a command, or a parameter, of its own; gives them back in one piece."""
    together = "".join(words)
    if _UNSAFE.search(together):
        raise ValueError(
            "an address of the envelope contains '<', '>', a line end or NUL; addresses are to be checked when composed"
        )
    return together


def _mail(envelope: Envelope, capabilities: Capabilities, *, wide: bool) -> str:
    size = f" SIZE={len(envelope.message)}" if capabilities.size_offered else ""
    # A message with UTF-8 headers is 8-bit by nature, and SMTPUTF8 implies 8BITMIME.
    body = (" BODY=8BITMIME SMTPUTF8" if capabilities.spare else " SMTPUTF8") if wide else ""
    # Whoever reports a failure later returns the headers, and names the email by our own id.
    report = f" RET=HDRS{f' ENVID={envelope.id}' if envelope.id else ''}" if capabilities.dsn else ""
    return f"MAIL FROM:<{envelope.sender}>{size}{body}{report}\r\n"


def _notify(capabilities: Capabilities) -> str:
    return " NOTIFY=FAILURE,DELAY" if capabilities.dsn else ""


def stuffed(message: bytes) -> bytes:
    """The message as it goes over the wire, without the final dot.

    A dot is doubled also after a bare line feed, which some servers take for the end of a line: no message can end
    early and go on as commands.
    """
    if message.rfind(b"\n.") >= 0:  # from the end, because that takes half the time of looking from the start
        message = message.replace(b"\n.", b"\n..")
    if message.startswith(b"."):
        message = b"." + message
    return message if message.endswith(b"\r\n") or not message else message + b"\r\n"


def stuffed_blocks(message: bytes, size: int) -> Iterator[bytes]:
    """The same for a large message, in blocks of about this size: there is never a second one of the whole."""
    for start in range(0, len(message), size):
        block = message[start : start + size]
        if block.startswith(b".") and message[start - 1 : start] in (b"", b"\n"):
            block = b"." + block
        yield block.replace(b"\n.", b"\n..")
    if message and not message.endswith(b"\r\n"):
        yield b"\r\n"
