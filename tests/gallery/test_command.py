"""`postroom template preview`, from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
from typer.testing import CliRunner

from postroom.cli.app import app
from tests.documentation.page import ROOT


def test_it_says_where_it_is_shows_the_templates_and_ends_when_told(tmp_path: Path) -> None:
    """Also while somebody waits for a change."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("POSTROOM_", "SMTP_"))}
    settings = {"POSTROOM_PORTALS": '["examples.portals.mail:admin"]', "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "postroom.cli", "template", "preview", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=surroundings | settings, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = re.findall(r"http://\S+", process.stdout.readline())[0]
            page = httpx.get(url, trust_env=False, timeout=60)
            document = httpx.get(f"{url}/admin/tfa/document", trust_env=False, timeout=60)
            sent = httpx.post(f"{url}/admin/tfa/send", data={"to": "ada@example.org"}, trust_env=False, timeout=60)
            process.send_signal(signal.SIGTERM)

            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
    assert "Alder Admin" in page.text
    assert "data:image/png" in document.text
    assert sent.status_code == 422
    assert "postroom migrate" in sent.text
    assert list(tmp_path.iterdir()) == []


def test_a_portal_that_is_not_there_is_told_before_anything_is_served() -> None:
    answer = CliRunner().invoke(app, ["template", "preview"], env={"POSTROOM_PORTALS": '["nowhere.mail:hub"]'})

    assert answer.exit_code == 2
    assert "no module nowhere.mail" in answer.output


def test_without_portals_it_says_how_to_name_them() -> None:
    answer = CliRunner().invoke(app, ["template", "preview"], env={"POSTROOM_PORTALS": "[]"})

    assert answer.exit_code == 2
    assert "no portal is known" in answer.output
