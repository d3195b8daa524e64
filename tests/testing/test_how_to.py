"""The page for users is run as it stands."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

from postroom.send.script import At, Rule
from postroom.testing import fixtures

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-your-mail.md"


def test_the_examples_of_the_page_pass(tmp_path: Path) -> None:
    conftest, *examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "conftest.py").write_text(conftest)
    for number, example in enumerate(examples):
        (tmp_path / f"test_example_{number}.py").write_text(example)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    assert result.returncode == 0, result.stdout
    assert "7 passed" in result.stdout


def test_every_fixture_is_on_the_page() -> None:
    page = PAGE.read_text()
    brought = re.findall(r"^@pytest.fixture\ndef (\w+)", inspect.getsource(fixtures), re.MULTILINE)

    assert len(brought) > 3
    assert [name for name in brought if f"| `{name}` |" not in page] == []


def test_every_moment_and_argument_is_on_the_page() -> None:
    page = PAGE.read_text()
    moments = At.__args__  # type: ignore[attr-defined]
    arguments = [name for name in Rule.__dataclass_fields__ if name != "at"]

    assert [moment for moment in moments if f"`{moment}`" not in page] == []
    assert [name for name in arguments if f"`{name}=" not in page] == []
