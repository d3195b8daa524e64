"""The documentation is true: examples run, links lead somewhere, and the reference pages leave nothing out."""

from __future__ import annotations

import inspect
import os
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

import pytest

import postroom
from postroom import AsyncOutbox, DeadReason, OnDoubt, Outbox, Status, errors
from postroom.outbox.submission import Wishes
from postroom.settle.attempt import RecipientStatus
from postroom.settle.policy import PRESETS
from postroom.store.contract import Filter, Receipt, StoredEmail
from postroom.vocabulary import LANES
from postroom.work.breaker import BreakerState
from tests.documentation import drawings
from tests.documentation.drawings import DRAWINGS
from tests.documentation.page import ROOT, Page, pages

PAGES = {page.name: page for page in pages()}
REFERENCE = "docs/reference"

RABBITMQ = "docs/how-to/rabbitmq.md"
PLAYED_ELSEWHERE = {
    RABBITMQ: "with a broker, below",
    "README.md": "line by line, below",
    "docs/how-to/test-your-mail.md": "its example is run by pytest, in tests/testing",
}


def playable() -> list[str]:
    """The pages that show something that can be run."""
    return [
        name
        for name, page in PAGES.items()
        if name not in PLAYED_ELSEWHERE and any(block.is_played for block in page.blocks())
    ]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def play(page: str, folder: Path, postgres_url: str, *options: str, settings: Mapping[str, str] = {}) -> None:
    """Play a page in a folder of its own, with no setting from outside."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("POSTROOM_", "SMTP_", "EMAIL_"))}
    result = subprocess.run(
        [sys.executable, "-m", "tests.documentation.play", str(ROOT / page),
         "--port", str(free_port()), "--postgres", postgres_url, *options],
        cwd=folder,
        env=ours | {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "200", **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip

    assert result.returncode == 0, f"{page}\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the files that pages speak of as if the reader had them."""
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "summary.txt").write_text("All is well.\n")
    return tmp_path


@pytest.mark.parametrize("page", playable())
def test_every_example_of_a_page_runs(page: str, folder: Path, postgres_url: str) -> None:
    play(page, folder, postgres_url)


def test_two_schedulers_and_three_senders_run_after_five_commands_as_written(
    folder: Path, postgres_url: str, broker_url: str, dispatcher: str
) -> None:
    """On queues of the test's own, for the broker is shared; nothing else is set that the page does not set."""
    queues = {"POSTROOM_SEND_QUEUE": f"{dispatcher}.send", "POSTROOM_DEAD_QUEUE": f"{dispatcher}.dead"}

    play(RABBITMQ, folder, postgres_url, "--broker", broker_url, settings=queues)

    first = next(block for block in PAGES[RABBITMQ].blocks() if block.language == "console")
    assert len([*first.commands()]) == 5


def test_the_quick_start_can_be_pasted_line_by_line_on_sqlite(folder: Path, postgres_url: str) -> None:
    play("README.md", folder, postgres_url, "--line-by-line")

    assert (folder / "app.db").exists()


def test_the_quick_start_can_be_pasted_line_by_line_with_a_postgresql_url(folder: Path, postgres_url: str) -> None:
    play("README.md", folder, postgres_url, "--line-by-line", "--database", postgres_url)

    assert not (folder / "app.db").exists()


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    page = PAGES[name]
    for link in page.links():
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path

        assert target.exists(), f"{name} links to {link}"
        assert not anchor or anchor in Page.read(target).anchors(), f"{name} links to {link}"


def test_every_page_can_be_found_from_the_index() -> None:
    found: set[Path] = set()
    waiting = [ROOT / "docs" / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in found or path.suffix != ".md":
            continue
        found.add(path)
        links = (link.partition("#")[0] for link in Page.read(path).links() if not re.match(r"[a-z]+:", link))
        waiting += [(path.parent / link).resolve() for link in links if link]

    assert [name for name, page in PAGES.items() if name.startswith("docs/") and page.path not in found] == []


@pytest.mark.parametrize("name", PAGES)
def test_what_is_not_run_says_why_and_nothing_is_about_one_machine(name: str) -> None:
    page = PAGES[name]

    assert all(block.not_run is None or len(block.not_run) > 10 for block in page.blocks())
    assert re.findall(r"(?<![\w/])/(?:work|root|home|Users)/\S*", page.text) == []


@pytest.mark.parametrize(
    "words", [Status, DeadReason, RecipientStatus, BreakerState, OnDoubt], ids=lambda w: w.__name__
)
def test_every_word_of_the_vocabulary_is_in_the_reference(words: type[Enum]) -> None:
    page = PAGES[f"{REFERENCE}/statuses.md"].text

    assert [word.value for word in words if f"`{word.value}`" not in page] == []


def test_every_priority_and_policy_is_in_the_reference() -> None:
    page = PAGES[f"{REFERENCE}/statuses.md"].text

    assert [name for name in (*(lane.label for lane in LANES), *PRESETS) if f"`{name}`" not in page] == []


def test_every_event_of_a_history_is_in_the_reference() -> None:
    """The events are named where they are written: by acts of people, by settlements, by take-overs, by statements."""
    names = (
        "store/acts.py", "store/dismissals.py", "work/parcel.py", "work/recovery.py", "work/clearance.py",
        "regions/arriving.py",
    )  # fmt: skip
    sources = [ROOT / "src/postroom" / name for name in names]
    written = re.compile(
        r'(?:what=|"what": |event=|_event\(email, |^        return )"(\w+)"|return "(\w+)" if', re.MULTILINE
    )
    events = {one or other for path in sources for one, other in written.findall(path.read_text("utf-8"))}
    for path in (ROOT / "src/postroom/store/sqlite/queries").glob("*.sql"):
        events |= set(re.findall(r"^SELECT e.id, :now, '(\w+)'", path.read_text("utf-8"), re.MULTILINE))
    table = PAGES[f"{REFERENCE}/statuses.md"].text.partition("## History")[2].partition("\n## ")[0]

    assert events == set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) - {"what"}


def test_every_error_is_in_the_reference() -> None:
    page = PAGES[f"{REFERENCE}/errors.md"].text
    raised = [name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)]

    assert len(raised) > 5
    assert [name for name in raised if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("outbox", [Outbox, AsyncOutbox])
def test_every_verb_of_an_outbox_is_in_the_reference(outbox: type) -> None:
    page = PAGES[f"{REFERENCE}/python-api.md"].text
    verbs = [name for name, _ in inspect.getmembers(outbox, inspect.isfunction) if not name.startswith("_")]

    assert len(verbs) > 15
    assert [verb for verb in verbs if f"| `{verb}(" not in page] == []


@pytest.mark.parametrize(
    "value", [Filter, Receipt, StoredEmail, postroom.outbox.outcome.SendOutcome], ids=lambda v: v.__name__
)
def test_every_field_of_what_an_outbox_gives_is_in_the_reference(value: type) -> None:
    page = PAGES[f"{REFERENCE}/python-api.md"].text

    assert [name for name in value.__dataclass_fields__ if f"`{name}`" not in page] == []  # type: ignore[attr-defined]


def test_every_wish_and_every_public_name_is_in_the_reference() -> None:
    page = PAGES[f"{REFERENCE}/python-api.md"].text
    names = [*Wishes.__annotations__, *(name for name in postroom.__all__ if not name.startswith("_"))]

    assert [name for name in names if not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_shows_what_the_arithmetic_says(name: str) -> None:
    """`python -m tests.documentation.drawings` draws them anew."""
    assert (drawings.FOLDER / name).read_text("utf-8") == DRAWINGS[name]()


def test_the_architecture_page_shows_the_direction_of_imports_as_it_is_checked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    [contract] = [each for each in settings["tool"]["importlinter"]["contracts"] if each["id"] == "one-way"]
    checked = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    [*_, shown] = [block.text for block in PAGES["docs/explanation/architecture.md"].blocks() if not block.language]

    assert [line.split(", ") for line in shown.splitlines()] == checked


def test_the_architecture_page_lists_every_folder_and_no_other() -> None:
    table = PAGES["docs/explanation/architecture.md"].text.partition("### The folders")[2].partition("\n##")[0]
    folders = {path.parent.name for path in (ROOT / "src/postroom").glob("*/__init__.py")}

    assert {*re.findall(r"`(\w+)/`", table)} == folders


def test_every_argument_of_an_outbox_is_in_the_reference() -> None:
    page = PAGES[f"{REFERENCE}/python-api.md"].text
    [*arguments] = inspect.signature(Outbox).parameters

    assert arguments == [*inspect.signature(AsyncOutbox).parameters]
    assert [name for name in arguments if f"| `{name}` |" not in page] == []


def test_a_strict_type_checker_takes_typical_calls_and_finds_typical_mistakes() -> None:
    """From the user's side: what `py.typed` promises. In one run, because each takes seconds."""
    mistakes = Path("tests", "type_mistakes.py")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "tests/type_usage.py", "examples"]
    result = subprocess.run([*command, str(mistakes)], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = enumerate((ROOT / mistakes).read_text("utf-8").splitlines(), start=1)
    marked = [(f"{mistakes}:{number}", mark[1]) for number, line in lines if (mark := re.search(r"# !(.+)$", line))]
    found = re.findall(r"^(.+?:\d+): error: .*\[([a-z-]+)\]$", result.stdout, re.MULTILINE)

    assert len(marked) > 10
    assert found == marked, result.stdout + result.stderr
