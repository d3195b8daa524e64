"""Plays one page in the present folder, as its reader would: `python -m tests.documentation.play PAGE --port …`.

All Python of a page shares one namespace. A line `print(x)  # text` must print that text. The mail server of the
page is a `ScriptedSmtp`; its port 1025 becomes a free one, and the databases and the broker of the page become ours.
"""

from __future__ import annotations

import argparse
import code
import json
import re
import sys
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from postroom.testing import ScriptedSmtp
from tests.documentation import shell
from tests.documentation.page import Block, Page

_PROMISED_PRINT = re.compile(r"^(\s*)print\((.*)\)  # (.*)$", re.MULTILINE)
_POSTGRES = re.compile(r"postgresql(\+\w+)?://[^\s\"'`)]+")
_BROKER = re.compile(r"amqp://[^\s\"'`)]+")
_OWN_SERVER = "ScriptedSmtp(port=1025)"


class Player:
    """Knows what stands for what, and what the page's Python has left."""

    def __init__(
        self, *, port: int, postgres: str, broker: str | None, database: str | None, line_by_line: bool
    ) -> None:
        self._port = port
        self._postgres = postgres
        self._broker = broker
        self._database = database
        self._line_by_line = line_by_line
        self._stands_for: dict[str, str] = {}
        self._namespace: dict[str, Any] = {"__name__": "__main__", "_must_say": _must_say}

    def play(self, page: Page) -> None:
        """Every block that is not shown only, in order."""
        if _OWN_SERVER not in page.text:
            self._server = ScriptedSmtp(port=self._port).start()
        for block in page.blocks():
            if block.stands_for is not None:
                self._find(*block.stands_for)
            if block.not_run is not None:
                continue
            if block.file is not None:
                place = Path(block.file)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(self._ours(block.text), "utf-8")
            elif block.language == "python":
                self._run(page, block)
            else:
                self._say(block)

    def _ours(self, text: str) -> str:
        text = _POSTGRES.sub(lambda match: self._with_driver(match[1]), text).replace("1025", str(self._port))
        if self._broker:
            text = _BROKER.sub(self._broker, text).replace(
                "localhost:5672", urlsplit(self._broker).netloc.split("@")[-1]
            )
        if self._database:
            text = text.replace("sqlite:///app.db", self._database)
        for shown, real in self._stands_for.items():
            text = text.replace(shown, real)
        return text

    def _with_driver(self, driver: str | None) -> str:
        return self._postgres.replace("postgresql://", f"postgresql{driver or ''}://")

    def _find(self, placeholder: str, command: str) -> None:
        listed = json.loads(shell.say(f"{command} --json"))
        self._stands_for[placeholder] = listed["emails"][0]["id"]

    def _say(self, block: Block) -> None:
        for command, shown in block.commands():
            ours = self._ours(command)
            shell.compare(ours, shell.say(ours), [self._ours(line) for line in shown])

    def _run(self, page: Page, block: Block) -> None:
        source = _PROMISED_PRINT.sub(r"\1_must_say(r'''\3''', \2)", self._ours(block.text))
        if self._line_by_line:
            _Prompt(self._namespace).paste(source)
        else:
            exec(compile("\n" * (block.line - 1) + source, page.name, "exec", dont_inherit=True), self._namespace)
        self._stands_for.update(self._namespace.pop("ids", {}))


class _Prompt(code.InteractiveConsole):
    """A Python prompt into which a block is pasted line by line."""

    def paste(self, source: str) -> None:
        for line in [*source.splitlines(), ""]:
            self.push(line)

    def showtraceback(self) -> None:
        raise SystemExit(traceback.format_exc())

    def showsyntaxerror(self, *arguments: Any, **named: Any) -> None:
        raise SystemExit(traceback.format_exc())


def _must_say(promised: str, *values: object) -> None:
    said = " ".join(map(str, values))
    print(said)
    if said.strip() != promised.strip():
        raise SystemExit(f"the page promises {promised!r} and the code says {said!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--postgres", required=True)
    parser.add_argument("--broker")
    parser.add_argument("--database", help="in place of sqlite:///app.db")
    parser.add_argument("--line-by-line", action="store_true", help="paste Python line by line into a prompt")
    given = parser.parse_args()
    shell.sit_down_at_a_terminal()
    player = Player(
        port=given.port,
        postgres=given.postgres,
        broker=given.broker,
        database=given.database,
        line_by_line=given.line_by_line,
    )
    try:
        player.play(Page.read(given.page))
    finally:
        shell.leave()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
