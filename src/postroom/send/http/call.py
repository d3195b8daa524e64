"""A request that is to be made, and the answer to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

LONGEST_TEXT = 500
"""Characters of an answer's body that are kept."""

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, complete but for what the connection needs."""

    method: str
    secure: bool
    host: str
    """A name or an address, without brackets."""
    port: int
    target: str
    """Path and query, as they stand on the request line."""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @classmethod
    def to(cls, url: str, *, method: str, headers: tuple[tuple[str, str], ...] = (), body: bytes = b"") -> Call:
        """A request to a URL that was checked before."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        path = parts.path or "/"
        return cls(
            method=method,
            secure=parts.scheme == "https",
            host=parts.hostname,
            port=parts.port or _PORTS[parts.scheme],
            target=f"{path}?{parts.query}" if parts.query else path,
            headers=headers,
            body=body,
        )

    @property
    def authority(self) -> str:
        """As the header `Host` has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = _PORTS["https" if self.secure else "http"]
        return host if self.port == usual else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back: the status decides, and the beginning of the body is for people."""

    status: int
    reason: str = ""
    headers: Mapping[str, str]
    """By name in lower case; of several with one name the last."""
    body: bytes = b""

    @property
    def text(self) -> str:
        """The beginning of the body on one line, printable; what the status is called where there is none."""
        decoded = self.body[: 8 * LONGEST_TEXT].decode("utf-8", "replace")
        words = "".join(character if character.isprintable() else " " for character in decoded)
        return " ".join(words.split())[:LONGEST_TEXT] or self.reason[:LONGEST_TEXT]

    def retry_after(self, now: datetime) -> float | None:
        """Seconds that `Retry-After` asks us to wait, from now; None where it is absent or makes no sense."""
        said = self.headers.get("retry-after", "").strip()
        if said.isascii() and said.isdigit():
            return float(said[:9])
        try:
            when = parsedate_to_datetime(said)
        except (TypeError, ValueError):
            return None
        return max(0.0, ((when if when.tzinfo else when.replace(tzinfo=UTC)) - now).total_seconds())
