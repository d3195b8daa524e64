"""What the server's EHLO reply says that it can do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroom.send.smtp.replies import Lines, printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The extensions that make a difference to us. The default is a server that knows only HELO."""

    pipelining: bool = False
    size: int | None = None
    """The largest message in bytes; None when the server did not say, or said that there is no fixed limit."""
    size_offered: bool = False
    """MAIL may carry SIZE=."""
    smtputf8: bool = False
    eightbitmime: bool = False
    spare: bool = True
    """MAIL may carry what a message can do without; False once the server has refused that (see `sparing`)."""
    dsn: bool = False
    """Delivery status notifications can be asked for (RFC 3461)."""
    starttls: bool = False
    auth: frozenset[str] = frozenset()
    """The mechanisms, in capitals."""

    def sparing(self) -> Capabilities:
        """The same server, to be told no more with MAIL and RCPT than a message cannot do without."""
        return replace(self, size_offered=False, dsn=False, spare=False)


def parse_capabilities(lines: Lines) -> Capabilities:
    """Read an EHLO reply. Unknown extensions are passed over; of one said twice, AUTH adds up and SIZE is the last."""
    words: dict[str, list[str]] = {}
    auth: set[str] = set()
    for line in lines[1:]:
        # `AUTH=LOGIN` is how servers wrote it before there was a standard, and some still do.
        keyword, *parameters = printable(line[4:]).upper().replace("AUTH=", "AUTH ", 1).split() or [""]
        words[keyword] = parameters
        if keyword == "AUTH":
            auth.update(parameters)
    return Capabilities(
        pipelining="PIPELINING" in words,
        size=_size(words.get("SIZE", [])),
        size_offered="SIZE" in words,
        smtputf8="SMTPUTF8" in words,
        eightbitmime="8BITMIME" in words,
        dsn="DSN" in words,
        starttls="STARTTLS" in words,
        auth=frozenset(auth),
    )


def _size(parameters: list[str]) -> int | None:
    if not parameters or not parameters[0].isascii() or not parameters[0].isdigit():
        return None
    return int(parameters[0][:20]) or None
