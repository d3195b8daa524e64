"""A mail server that takes any amount of mail and keeps none of it: only to whom each email went."""

from __future__ import annotations

import socket
import threading
from io import BufferedReader
from typing import Self

END = b"\r\n.\r\n"


class Drain:
    """Accepts everything. A context manager; it listens on 127.0.0.1 and serves each connection in a thread."""

    def __init__(self) -> None:
        self.recipients: list[str] = []
        """In the order in which their emails were complete."""
        self.holding: set[str] = set()
        """The dots of emails to these people are not answered until `let_go`."""
        self.held = 0
        """So many are being held back."""
        self._let_go = threading.Event()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._listen, name="drain", daemon=True).start()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self._listener.getsockname()[1]}"

    def let_go(self) -> None:
        """Answer the dots that were held back, and hold no more."""
        self._let_go.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.let_go()
        self._listener.close()
        for connection in self._connections:
            connection.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb", buffering=1 << 18) as lines:
                connection.sendall(b"220 drain\r\n")
                recipient = ""
                while command := lines.readline():
                    word = command[:4].upper()
                    if word == b"EHLO":
                        connection.sendall(b"250-drain\r\n250-PIPELINING\r\n250 8BITMIME\r\n")
                    elif word == b"DATA":
                        connection.sendall(b"354 go on\r\n")
                        self._swallow(lines)
                        self._hold_or_note(recipient)
                        connection.sendall(b"250 2.0.0 taken\r\n")
                    else:
                        recipient = command[9:-3].decode() if word == b"RCPT" else recipient
                        connection.sendall(b"250 2.0.0 ok\r\n")
        except OSError:
            return  # the other side is gone, or we are closing

    def _swallow(self, stream: BufferedReader) -> None:
        """Read a message up to its dot, and nothing of what is behind it."""
        tail = b"\r\n"
        while data := stream.peek():
            found = (tail + data).find(END)
            if found >= 0:
                stream.read(found + len(END) - len(tail))
                return
            stream.read(len(data))
            tail = (tail + data)[-4:]
        raise ConnectionError("it ended without a dot")

    def _hold_or_note(self, recipient: str) -> None:
        if recipient in self.holding and not self._let_go.is_set():
            with self._lock:
                self.held += 1
            self._let_go.wait()
        with self._lock:
            self.recipients.append(recipient)
