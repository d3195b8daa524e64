"""A terminal to play commands in: what they say is compared with what the page says they say."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

_background: list[tuple[str, subprocess.Popen[str]]] = []
_SHELL_SYNTAX = re.compile(r"[|<>&;$`]")
_BLANKS = re.compile(r"[ \t]+")
_ID, _AGO, _RULE, _ANYTHING = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"\d+ \w+ ago", "─+", r"\s*…\s*"
_VARYING = re.compile(f"({_ID}|{_AGO}|{_RULE}|{_ANYTHING})")


def sit_down_at_a_terminal() -> None:
    """Give this process and its children a terminal for standard input, at which somebody says yes to everything."""
    ours, theirs = pty.openpty()
    os.write(ours, b"y\n" * 50)
    os.dup2(theirs, 0)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def say(command: str) -> str:
    """Carry a command out; what it said. A command that fails ends the play.

    One that ends in `&` goes on in the background until the play is over.
    """
    if command.endswith(" &"):
        _background.append((command, subprocess.Popen(["bash", "-c", f"exec {command[:-2]}"], text=True)))
        return ""
    if command.startswith("export "):
        os.environ.update(dict(part.split("=", 1) for part in shlex.split(command)[1:]))
        return ""
    if command.startswith("postroom ") and not _SHELL_SYNTAX.search(command):
        code, said = _in_this_process(shlex.split(command)[1:])
    else:
        result = subprocess.run(["bash", "-c", command], text=True, capture_output=True, check=False)
        code, said = result.returncode, result.stdout
        sys.stderr.write(result.stderr)
    if code:
        raise SystemExit(f"$ {command}\n{said}\nended with code {code}")
    return said


def leave() -> None:
    """End what goes on in the background, as a person would. Whatever has ended before, has failed."""
    ended = [(command, process.poll()) for command, process in _background]
    for _, process in _background:
        process.terminate()
    for _, process in _background:
        process.wait(60)
    if fallen := [f"$ {command}\nended early with code {code}" for command, code in ended if code is not None]:
        raise SystemExit("\n".join(fallen))


def _in_this_process(arguments: list[str]) -> tuple[int, str]:
    """A Postroom command without a new interpreter, which would take a second each time."""
    from postroom.cli.app import app

    octets = io.BytesIO()
    said = io.TextIOWrapper(octets, encoding="utf-8", write_through=True)
    code: Any = 0
    with contextlib.redirect_stdout(said):
        try:
            app(arguments, prog_name="postroom")
        except SystemExit as end:
            code = end.code or 0
    return int(code), octets.getvalue().decode()


def compare(command: str, said: str, shown: list[str]) -> None:
    """End the play unless it said what the page shows.

    `…` stands for anything, an id for any id, «5 s ago» for any time ago; blanks and lines count as one.
    """
    expected = _squeezed(shown)
    if not expected:
        return
    found = _squeezed(said.splitlines())
    if not re.fullmatch(_pattern(expected), found, re.DOTALL):
        raise SystemExit(f"$ {command}\nsaid:\n{found}\n\nand the page shows:\n{expected}")


def _pattern(expected: str) -> str:
    """What is the same each time stands for itself; what varies, for its kind."""
    parts = _VARYING.split(expected)
    return "".join(_kind(part) if place % 2 else re.escape(part) for place, part in enumerate(parts))


def _kind(part: str) -> str:
    if "…" in part:
        return ".*"
    if re.fullmatch(_AGO, part):
        return f"(?:now|{_AGO})"
    return _ID if re.fullmatch(_ID, part) else _RULE


def _squeezed(lines: list[str]) -> str:
    squeezed = (_BLANKS.sub(" ", line).strip() for line in lines)
    return "\n".join(line for line in squeezed if line)
