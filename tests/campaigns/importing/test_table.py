"""A CSV file is read row by row: what is wrong with it is told before the first, and a bad row costs itself alone."""

from __future__ import annotations

import csv
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroom.campaigns.importing.columns import Columns
from postroom.campaigns.importing.seen import nothing_seen
from postroom.campaigns.importing.table import LONGEST_ROW, Row, open_table
from postroom.errors import InvalidCampaign


def rows_of(tmp_path: Path, content: str | bytes, **options: str) -> list[Row]:
    file = tmp_path / "prospects.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with open_table(file, **options) as table:
        return list(table.rows())


def cells_of(tmp_path: Path, content: str | bytes, **options: str) -> list[tuple[str, ...]]:
    return [row.cells for row in rows_of(tmp_path, content, **options)]


@pytest.mark.parametrize(
    "content",
    [
        "email,name\nada@example.org,Ada\n",
        "email;name\r\nada@example.org;Ada",
        "email\tname\rada@example.org\tAda\r",
        b"\xef\xbb\xbfemail,name\nada@example.org,Ada\n",
        '"email","name"\n"ada@example.org","Ada"\n',
        "email,name\n\n  ,\nada@example.org,Ada\n\n",
    ],
    ids=["comma", "semicolon", "tab", "with a mark of UTF-8", "quotes", "blank lines"],
)
def test_delimiters_line_ends_and_marks_of_every_kind_are_understood(tmp_path: Path, content: str | bytes) -> None:
    assert cells_of(tmp_path, content) == [("email", "name"), ("ada@example.org", "Ada")]


def test_a_delimiter_that_is_given_is_not_looked_for(tmp_path: Path) -> None:
    assert cells_of(tmp_path, "email;a,b\nx;1,2\n", delimiter=";") == [("email", "a,b"), ("x", "1,2")]
    with pytest.raises(InvalidCampaign, match=r"delimiter: .* comma, semicolon, tab"):
        rows_of(tmp_path, "email\n", delimiter="|")


def test_where_two_delimiters_are_possible_nobody_guesses(tmp_path: Path) -> None:
    with pytest.raises(InvalidCampaign, match="the first line has comma and semicolon; say which with --delimiter"):
        rows_of(tmp_path, "email;name,company\n")
    assert cells_of(tmp_path, 'email,"name; or so"\n') == [("email", "name; or so")]


def test_rows_know_the_lines_on_which_they_begin(tmp_path: Path) -> None:
    found = rows_of(tmp_path, 'email,note\na@b.c,"two\nlines"\n\nd@e.f,one\n')

    assert [(row.line, row.cells) for row in found[1:]] == [(2, ("a@b.c", "two\nlines")), (5, ("d@e.f", "one"))]


@pytest.mark.parametrize(
    "bad", ['"never closed,x', 'a,"b"c', "a," + "x" * LONGEST_ROW], ids=["open quote", "stray quote", "too long"]
)
def test_a_row_that_cannot_be_read_costs_no_other(tmp_path: Path, bad: str) -> None:
    found = rows_of(tmp_path, f'email,name\na@b.c,A\n{bad}\nd@e.f,D\ng@h.i,"G\nH"\n')

    assert [row.line for row in found] == [1, 2, 3, 4, 5]
    assert [bool(row.problem) for row in found] == [False, False, True, False, False]
    assert found[2].problem.startswith("row: ")
    assert found[3].cells == ("d@e.f", "D")
    assert found[4].cells == ("g@h.i", "G\nH")


def test_the_last_row_may_be_bad_too(tmp_path: Path) -> None:
    found = rows_of(tmp_path, 'email\na@b.c\n"x')

    assert [(row.line, bool(row.problem)) for row in found] == [(1, False), (2, False), (3, True)]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("email\nJürgen\n".encode("latin-1"), "line 2 is not UTF-8; save it as «CSV UTF-8», or convert it: iconv"),
        ("email\n".encode("utf-16"), "is UTF-16, and not UTF-8; save it .* iconv -f UTF-16 -t UTF-8"),
        (b"PK\x03\x04rest", "is a spreadsheet, and not UTF-8; open it, and save its sheet as «CSV UTF-8»$"),
        (b"", "has no first line; write a line of headings"),
        (b"\xef\xbb\xbf\n \n", "has no first line"),
        (b"email\nab\xc3", "its last character is cut off"),
    ],
    ids=["latin-1", "utf-16", "spreadsheet", "empty", "blank", "cut off"],
)
def test_a_file_that_is_not_utf8_is_refused_with_the_remedy(tmp_path: Path, content: bytes, told: str) -> None:
    with pytest.raises(InvalidCampaign, match=told):
        rows_of(tmp_path, content)


def test_the_line_of_a_wrong_octet_is_found_far_into_the_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidCampaign, match="line 30001 is not UTF-8"):
        rows_of(tmp_path, b"email@example.org\n" * 30_000 + b"\xe4\n")
    with pytest.raises(InvalidCampaign, match="line 2 is not UTF-8"):  # where one piece of the file ends
        rows_of(tmp_path, b"x" * 65_533 + b"\n\xe2\x82" + b"\n\n\n")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """E9: thirty times the rows, about the same memory."""
    peaks = []
    for rows in (1_000, 30_000):
        file = tmp_path / f"{rows}.csv"
        file.write_text("email\n" + "".join(f"p{number}@example.org\n" for number in range(rows)))
        tracemalloc.start()
        with open_table(file) as table, nothing_seen() as seen:
            assert sum(seen.before(row.cells[0], row.line) is None for row in table.rows()) == rows + 1
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 2 * peaks[0] + 100_000


def test_what_was_seen_is_known_by_its_first_line() -> None:
    with nothing_seen() as seen:
        assert [seen.before("a", 1), seen.before("b", 2), seen.before("a", 3), seen.before("a", 4)] == [
            None,
            None,
            1,
            1,
        ]


def test_headings_mean_what_people_call_them() -> None:
    columns = Columns.of(["E-Mail", " Name ", "First Name", "Größe", "timezone", "id", "language", "", ""])

    assert columns.names == ("address", "name", "first_name", "größe", "timezone", "id", "language")
    assert columns.fields == ("first_name", "größe")


@pytest.mark.parametrize(
    ("headings", "told"),
    [
        (["name", "company"], "email: no column is called that; call the column of addresses email; .* name, company"),
        (["Ada", " ada@example.org"], "file: its first line looks like a person; add a line of headings before it"),
        (["email", "address"], "column 2: is the address for a second time"),
        (["email", "First name", "first_name"], "column 3: is the field first_name for a second time"),
        (["email", "2nd phone"], "column 2: the heading '2nd phone': cannot be written in a template"),
        (["email", "for"], "column 2: the heading 'for': means something else in a template; call it for_field"),
        (["email", "", "x"], "column 2: the heading '': cannot be written"),
        (["email", "_x"], "cannot be written in a template"),
        (["email", "x" * 61], "has 61 characters"),
    ],
)
def test_headings_that_cannot_be_used_are_named(headings: list[str], told: str) -> None:
    with pytest.raises(InvalidCampaign, match=told):
        Columns.of(headings)


def test_a_row_is_read_by_its_columns_and_empty_cells_say_nothing() -> None:
    columns = Columns.of(["email", "name", "company", "id"])
    arrival = columns.read([" Ada@Example.ORG ", "", "Acme", "7"])
    unnamed = columns.read(["ada@example.org", "Ada", "", "", "", ""])

    assert (arrival.prospect.address, arrival.prospect.name) == ("Ada@example.org", None)
    assert (arrival.prospect.id, arrival.has_own_id, arrival.prospect.fields) == ("7", True, {"company": "Acme"})
    assert (unnamed.has_own_id, unnamed.prospect.fields, len(unnamed.prospect.id)) == (False, {}, 36)


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["", "", "", ""], "address: is missing"),
        (["ada", "", "", ""], "address: 'ada' is not an email address"),
        (["ada@localhost", "", "", ""], "address: 'localhost' is no whole domain; write it out"),
        (["Ada <ada@example.org>", "", "", ""], "address: has a name before the address; give the address alone"),
        (["a@example.org", "7:8", "", ""], "id: '7:8' contains «:»"),
        (["a@example.org", "x" * 101, "", ""], "id: has 101 characters; shorten it to 100"),
        (["a@example.org", "", "Europe/Berln", ""], r"timezone: .*did you mean Europe/Berlin\?"),
        (["a@example.org", "", "", "x" * 2_001], "company: has 2,001 characters; shorten it to 2,000"),
        (["a@example.org", "", "", "bell \a"], "company: contains characters that cannot be printed"),
        (["a@example.org", "", "", "x", "y"], "row: has 5 columns, and the headings are 4"),
        (["a@example.org", ""], "row: has 2 columns, and the headings are 4"),
        (["a@example.org"], "row: has 1 column, and the headings are 4"),
    ],
)
def test_a_row_that_cannot_be_kept_is_refused_by_its_field(cells: list[str], told: str) -> None:
    with pytest.raises(InvalidCampaign, match=told):
        Columns.of(["email", "id", "timezone", "company"]).read(cells)


CELLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=4), max_size=8), delimiter=st.sampled_from([",", ";", "\t"]))
def test_what_a_spreadsheet_writes_is_what_is_read(rows: list[list[str]], delimiter: str) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "any.csv")
        with file.open("w", encoding="utf-8", newline="") as opened:
            writer = csv.writer(opened, delimiter=delimiter, quoting=csv.QUOTE_ALL)
            writer.writerows([["email", "x"], *rows])
        with open_table(file, delimiter=delimiter) as table:
            found = list(table.rows())

    assert [list(row.cells) for row in found[1:]] == [row for row in rows if any(cell.strip() for cell in row)]
    assert not any(row.problem for row in found)


@settings(max_examples=150, deadline=None)
@given(content=st.binary(max_size=60) | st.text('a,";\n\r\t @.', max_size=60).map(str.encode))
def test_whatever_a_file_holds_it_is_read_or_refused_and_each_line_is_told_of_once(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "any.csv")
        file.write_bytes(content)
        try:
            with open_table(file, delimiter=",") as table:
                lines = [row.line for row in table.rows()]
        except InvalidCampaign:
            return

    assert lines == sorted(set(lines))
    assert len(lines) <= len(content.splitlines())
