"""Where the mail of the dev inbox is kept: one SQLite file, one table, one connection behind a lock.

A message is on the shelf before the client hears that it was accepted. The shelf is of a fixed size: beyond it, the
oldest mail is thrown away.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from postroom.errors import ConfigurationError
from postroom.inbox.received import ReadMessage, read_message
from postroom.store.queries import ParameterStyle, Queries
from postroom.testing.record import ReceivedMessage

_SEARCHED = 50_000
"""Characters of a message's text that a search looks at."""
_SNIPPET = 140


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much is kept."""

    messages: int = 5_000
    octets: int = 500_000_000
    message_octets: int = 26_214_400
    """The largest message that is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMessage:
    """A line of the list: what can be said about a message without opening it."""

    id: int
    received_at: datetime
    sender: str
    """From the envelope, as are the recipients: who really sent it, and who really gets it."""
    recipients: tuple[str, ...]
    author: str
    """Who the message says it is from."""
    subject: str
    message_id: str
    snippet: str
    """How its text begins."""
    enclosures: int
    """How many files it carries."""
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which messages to list."""

    words: str = ""
    """Somewhere in subject, addresses, Message-ID or text, in any case."""
    recipient: str = ""
    """To exactly this address."""
    before: int | None = None
    after: int | None = None
    limit: int = 50

    def parameters(self) -> dict[str, Any]:
        escaped = self.words.casefold().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return {
            "words": f"%{escaped}%" if escaped.strip() else None,
            "recipient": self.recipient.lower() or None,
            "before": self.before,
            "after": self.after,
            "limit": self.limit,
        }


class Shelf:
    """The kept mail. Any thread may ask and change it; `wait_until` wakes up at every change."""

    def __init__(self, file: Path | None = None, *, room: Room | None = None) -> None:
        """Without a file, the mail is kept in memory and gone with the process."""
        self.room = room or Room()
        self._queries = Queries("postroom.inbox", "postroom_")
        self._changed = threading.Condition()
        self._listeners: list[Callable[[], object]] = []
        self._closed = False
        self._connection = _open(file)
        self.changes = 0
        """Counts up with every change."""
        for statement in self._queries.spell("create", ParameterStyle.NAMED):
            self._connection.execute(statement.sql)
        self._count, self._octets, _ = self._run("totals").fetchone()

    # Keeping

    def keep(self, message: ReceivedMessage) -> None:
        """Put a message on the shelf, on disk when this returns; the oldest make room for it."""
        row = _row(message, read_message(message.data))
        with self._changed:
            self._run("keep", **row)
            self._count += 1
            self._octets += row["size"]
            if self._count > self.room.messages or self._octets > self.room.octets:
                self._make_room()
            self._tell()

    def _make_room(self) -> None:
        """A tenth more than needed is cleared, so that this is not done for every message of a full shelf."""
        self._run("make_room", messages=self.room.messages * 9 // 10, octets=self.room.octets * 9 // 10)
        self._count, self._octets, _ = self._run("totals").fetchone()

    # Asking

    def list(self, wanted: Wanted) -> list[KeptMessage]:
        """The newest first."""
        with self._changed:
            return [_kept(row) for row in self._run("list", **wanted.parameters())]

    def count(self, wanted: Wanted) -> int:
        """How many there are in all, whatever the page."""
        with self._changed:
            return int(self._run("count", **wanted.parameters()).fetchone()[0])

    def get(self, id: int) -> KeptMessage | None:
        with self._changed:
            row = self._run("get", id=id).fetchone()
        return row and _kept(row)

    def source(self, id: int) -> bytes | None:
        """The message as it came."""
        with self._changed:
            row = self._run("source", id=id).fetchone()
        return row and bytes(row[0])

    def copies(self) -> Counter[str]:
        """Message-ID to number of copies."""
        with self._changed:
            return Counter(dict(self._run("copies").fetchall()))

    def wait_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Ask again after every change; False when time ran out or the shelf was closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or condition(), timeout)
            return not self._closed and condition()

    @contextmanager
    def heard_by(self, listener: Callable[[], object]) -> Iterator[None]:
        """Call this after every change, and when nobody is to wait any more: from whichever thread made it."""
        with self._changed:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._changed:
                self._listeners.remove(listener)

    @property
    def closed(self) -> bool:
        """Nothing more comes."""
        return self._closed

    # Clearing

    def delete(self, id: int) -> bool:
        """Whether there was such a message."""
        return self._clear("delete", id=id) > 0

    def delete_all(self) -> int:
        """How many there were."""
        return self._clear("delete_all")

    def stop_waiting(self) -> None:
        """Nobody waits any more, from now on."""
        with self._changed:
            self._closed = True
            self._wake()

    def close(self) -> None:
        """The file is whole, and nothing more can be asked."""
        self.stop_waiting()
        with self._changed:
            self._connection.close()

    def _clear(self, query: str, **parameters: Any) -> int:
        with self._changed:
            gone = self._run(query, **parameters).rowcount
            self._count, self._octets, _ = self._run("totals").fetchone()
            self._tell()
            return gone

    def _tell(self) -> None:
        self.changes += 1
        self._wake()

    def _wake(self) -> None:
        self._changed.notify_all()
        for listener in self._listeners:
            listener()

    def _run(self, query: str, **parameters: Any) -> sqlite3.Cursor:
        (statement,) = self._queries.spell(query, ParameterStyle.NAMED)
        return self._connection.execute(statement.sql, parameters)


def _open(file: Path | None) -> sqlite3.Connection:
    try:
        if file is not None:
            file.touch(mode=0o600)  # mail may hold secrets: for its owner's eyes only
        connection = sqlite3.connect(file or ":memory:", isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = ON")  # deleted mail is gone from the file too
    except (sqlite3.Error, OSError) as error:
        raise ConfigurationError(f"the inbox cannot be kept in {file}: {error}; name another file") from error
    return connection


def _row(message: ReceivedMessage, letter: ReadMessage) -> dict[str, Any]:
    text = letter.plain_text()
    author, subject = letter.header("From"), letter.header("Subject")
    searched = (subject, author, letter.header("To"), letter.header("Cc"), message.sender, *message.recipients)
    return {
        "received_at": message.at,
        "sender": message.sender,
        "recipients": json.dumps(message.recipients),
        "author": author or message.sender,
        "subject": subject,
        "message_id": message.message_id,
        "snippet": " ".join(text[:1000].split())[:_SNIPPET],
        "enclosures": len(letter.enclosures),
        "size": len(message.data),
        "found_by": "\n".join((*searched, message.message_id, text[:_SEARCHED])).casefold(),
        "source": message.data,
    }


def _kept(row: tuple[Any, ...]) -> KeptMessage:
    id, received_at, sender, recipients, author, subject, message_id, snippet, enclosures, size = row
    return KeptMessage(
        id=id,
        received_at=datetime.fromtimestamp(received_at, UTC),
        sender=sender,
        recipients=tuple(json.loads(recipients)),
        author=author,
        subject=subject,
        message_id=message_id,
        snippet=snippet,
        enclosures=enclosures,
        size=size,
    )
