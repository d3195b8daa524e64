"""The judge of the reader counts as it should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.judges import bounces
from tests.returns.reading.mailbag import octets_of


def expected(address: str, *, hard: bool = False, feedback: str = "", code: str = "") -> dict[str, Any]:
    return {"recipient": address, "hard": hard, "feedback": feedback, "code": code}


def corpus(folder: Path, wanted: dict[str, list[dict[str, Any]]]) -> Path:
    (folder / "mails").mkdir()
    for name in wanted:
        (folder / "mails" / name).write_bytes(octets_of(name))
    (folder / "expected.json").write_text(json.dumps(wanted))
    return folder


def test_what_is_read_right_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = [expected("Ada@example.org", hard=True), expected("bo@example.org")]
    complaint = [expected("ada@example.org", feedback="abuse")]

    passes = bounces.judge(corpus(tmp_path, {"postfix-two": two, "complaint": complaint, "reply": []}))

    assert passes
    assert capsys.readouterr().out.splitlines()[-1].split() == [
        *["all", "3", "3", "of", "3", "(100.0%)", "2", "of", "2", "(100.0%)", "–", "0"],
    ]


def test_codes_are_counted_where_one_is_known_and_are_no_bar(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = [expected("ada@example.org", hard=True, code="550"), expected("bo@example.org", code="552")]
    wrong = [expected("ada@example.org", hard=True, code="551")]
    elsewhere = [expected("bo@example.org", code="552")]
    score = bounces.Score()
    for name, wanted in (("postfix-two", right), ("postfix-unknown", wrong), ("exim-full", elsewhere)):
        score.add(bounces.compare(name, bounces.read(octets_of(name)), wanted))

    assert (score.codes, score.coded) == (1, 2)
    assert bounces.judge(corpus(tmp_path, {"postfix-unknown": wrong}))
    assert "0 of 1 (0.0%)" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "wanted", "wrong"),
    [
        ("postfix-unknown", [expected("ada@example.org")], 1),  # would suppress what is soft
        ("postfix-unknown", [], 1),  # would suppress by what is no bounce
        ("complaint", [expected("ada@example.org")], 1),
        ("postfix-unknown", [expected("bo@example.org", hard=True)], 1),
        ("exim-full", [expected("ada@example.org", hard=True)], 0),
        ("exim-full", [expected("bo@example.org")], 0),
    ],
)
def test_what_is_read_wrong_fails(tmp_path: Path, name: str, wanted: list[dict[str, Any]], wrong: int) -> None:
    score = bounces.compare(name, bounces.read(octets_of(name)), wanted)

    assert (len(score.wrong), score.passes) == (wrong, False)
    assert not bounces.judge(corpus(tmp_path, {name: wanted}))


def test_without_messages_one_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounces.judge(tmp_path / "nowhere")
    assert capsys.readouterr().out.startswith("bounces: not judged")
