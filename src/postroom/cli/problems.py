"""How a command ends when it cannot do what it was asked: one line that says what to do, and a code for scripts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

import typer
from rich.text import Text

from postroom.cli.screen import standard_error
from postroom.cli.secrets import masked
from postroom.errors import ConfigurationError, InvalidCampaign, InvalidEmail, PostroomError, StoreUnavailable

_EXTRAS = {
    "argon2": "web",
    "css_inline": "templates",
    "fastapi": "web",
    "jinja2": "web",
    "minijinja": "templates",
    "multipart": "web",
    "nh3": "web",
    "prometheus_client": "web",
    "python_multipart": "web",
    "starlette": "web",
    "uvicorn": "web",
    "psycopg": "postgres",
    "psycopg_pool": "postgres",
    "pamqp": "rabbitmq",
    "cryptography": "webhooks",
    "httpcore2": "webhooks",
}
"""Packages that not everybody has installed, and the extra that brings each."""


class ExitCode(IntEnum):
    """What scripts can trust."""

    DONE = 0
    NOT_DONE = 1
    """The email is not there, the act does not apply to it, or a check found a problem."""
    USAGE = 2
    """The command or the settings have to be changed first."""
    UNREACHABLE = 3
    """The database cannot be reached, or would not do it; the same command may work later."""
    LEFT_DUE = 4
    """A worker that was to stop when nothing is due has stopped, and emails are due that it could not send."""


@contextmanager
def told_plainly() -> Iterator[None]:
    """End the command with one line on standard error, and never a traceback, for whatever is not a bug of ours."""
    try:
        yield
    except PostroomError as error:
        fail(str(error), code_of(error), cause=error)
    except sqlite3.Error as error:
        fail(f"the database said: {error}; check --database or POSTROOM_DATABASE", ExitCode.UNREACHABLE, cause=error)
    except ModuleNotFoundError as error:
        fail(_missing(error), ExitCode.USAGE, cause=error)
    except BrokenPipeError:
        raise  # whoever read our output has enough of it; Typer ends quietly
    except OSError as error:
        fail(f"{error.strerror or error}: {error.filename or 'input or output'}", ExitCode.NOT_DONE, cause=error)
    except Exception as error:
        if not _is_said_by_postgres(error):
            raise
        first_line = str(error).strip().partition("\n")[0]
        fail(f"PostgreSQL said: {first_line}; is this the right user for it?", ExitCode.UNREACHABLE, cause=error)


def _missing(error: ModuleNotFoundError) -> str:
    """What to install for what is not there. A module of ours that is missing is a bug, and goes on as it is."""
    name = (error.name or "").partition(".")[0]
    if (extra := _EXTRAS.get(name)) is None:
        raise error
    return f"this command needs {name}, which is not installed: pip install 'postroom[{extra}]'"


def code_of(error: PostroomError) -> ExitCode:
    """The exit code of an error."""
    match error:
        case StoreUnavailable():
            return ExitCode.UNREACHABLE
        case ConfigurationError() | InvalidEmail() | InvalidCampaign():
            return ExitCode.USAGE
        case _:
            return ExitCode.NOT_DONE


def fail(problem: str, code: ExitCode, *, cause: Exception | None = None) -> NoReturn:
    """Say what is wrong, in one red line, and end."""
    tell(problem)
    raise typer.Exit(int(code)) from cause


def tell(problem: str) -> None:
    """One red line on standard error; passwords masked."""
    line = " ".join(masked(problem).split())
    standard_error().print(Text("postroom: ", style="bold red") + Text(line, style="red"), soft_wrap=True)


def _is_said_by_postgres(error: Exception) -> bool:
    """Told by its module, so that psycopg is not imported where SQLite is used."""
    return any(kind.__module__.partition(".")[0] == "psycopg" for kind in type(error).__mro__)
