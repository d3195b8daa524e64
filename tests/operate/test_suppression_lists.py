"""Lists of who is not to be mailed: what is read, what is refused, and that what we write comes back the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO, RawIOBase
from typing import Any, BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as some

from postroom import Outbox
from postroom.errors import InvalidEmail
from postroom.operate import AsyncOperations
from postroom.operate.suppressing import BATCH, PATIENCE
from postroom.operate.suppression_lists import SHOWN, ImportReport, as_meant, as_text, read_list, written
from postroom.store.suppressions import Stop, Suppression, suppress
from postroom.vocabulary import SuppressionReason, SuppressionScope
from tests.operate.test_suppressing import recorded
from tests.store.journey import Clock

HOTEL = frozenset({"hotel"})


async def import_of(operations: AsyncOperations, text: str | bytes, **options: Any) -> ImportReport:
    content = text if isinstance(text, bytes) else text.encode()
    return await operations.import_suppressions(BytesIO(content), by="root", **options)


async def entries(operations: AsyncOperations) -> dict[str, Suppression]:
    return {entry.address: entry for entry in (await operations.suppressions(limit=10_000)).entries}


async def test_a_bare_list_of_addresses_is_a_list(outbox: Outbox, operations: AsyncOperations) -> None:
    report = await import_of(operations, "ada@example.org\r\n\r\n  Grace@Example.org \n")
    known = await entries(operations)

    assert report == ImportReport(lines=2, added=2)
    assert {(each.reason, each.scope, each.actor) for each in known.values()} == {("imported", "all", "root")}
    assert set(known) == {"ada@example.org", "grace@example.org"}
    (began, _), (ended, told) = recorded(outbox)
    assert (began, ended) == ("suppressions_import", "suppressions_import")
    assert told.keys() == {"act", "state", "entries"}, "no address, and nothing else of what it says"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
async def test_columns_are_known_by_their_names(operations: AsyncOperations, delimiter: str) -> None:
    lines = [
        ["Name", "EMAIL", "reason", "scope", "workspace", "kind", "evidence", "expires_at", "address"],
        ["Ada", "ada@example.org", "complaint", "kind", "hotel", "news", '"said ""no"""', "2027-01-01", "1 Hill Lane"],
        ["", "grace@example.org", "", "", "", "", "", "", ""],
    ]
    report = await import_of(operations, "\ufeff" + "\n".join(delimiter.join(line) for line in lines))
    known = await entries(operations)

    assert (report.added, report.refused) == (2, 0)
    ada = known["ada@example.org"]
    assert (ada.reason, ada.scope, ada.workspace, ada.kind) == ("complaint", "kind", "hotel", "news")
    assert (ada.evidence, ada.expires_at) == ('said "no"', datetime(2027, 1, 1, tzinfo=UTC))
    assert known["grace@example.org"].reason == "imported"


async def test_every_refused_line_is_told_with_the_reason_and_the_others_are_taken(operations: AsyncOperations) -> None:
    report = await import_of(
        operations,
        "address,reason,expires_at\n"
        "ada@example.org,manual,\n"
        "nobody,,\n"
        "grace@example.org,because,\n"
        'alan@example.org,,"soon"\n'
        "hedy@example.org,,,too,much\n"
        '"joan@example.org\nBcc: everybody@example.org",,\n',
    )

    assert (report.lines, report.added, report.refused) == (6, 1, 5)
    told = {each.line: each.problem for each in report.problems}
    assert list(told) == [3, 4, 5, 6, 8]
    assert told[3] == "address: 'nobody' is not an email address; write it like ada@example.org"
    assert told[4].startswith("reason: is none of the reasons; use hard_bounce, complaint")
    assert told[5].startswith("expires_at: is no time; write it as 2026-12-31")
    assert "more cells than there are columns" in told[6]
    assert told[8].startswith("address: ")
    assert set(await entries(operations)) == {"ada@example.org"}


async def test_imported_again_a_list_changes_nothing(operations: AsyncOperations, clock: Clock) -> None:
    text = "".join(f"guest{number}@example.org\n" for number in range(BATCH + 3))
    first = await import_of(operations, text)
    before = await entries(operations)
    clock.advance(hours=1)
    again = await import_of(operations, text + "guest0@example.org\n")

    assert (first.added, first.known) == (BATCH + 3, 0)
    assert (again.added, again.known) == (0, BATCH + 4)
    assert {name: replace(each, noted_at=clock.now) for name, each in before.items()} == await entries(operations)


async def test_lines_that_do_not_say_take_what_was_said_for_them_and_others_do_not(operations: AsyncOperations) -> None:
    await import_of(
        operations,
        "address,scope,workspace\nada@example.org,,\ngrace@example.org,all,\nalan@example.org,,bank\n",
        defaults={"reason": "unsubscribe", "scope": "workspace", "workspace": "hotel", "kind": ""},
    )
    known = await entries(operations)

    assert {(each.address[:4], each.scope, each.workspace) for each in known.values()} == {
        ("ada@", "workspace", "hotel"),
        ("grac", "all", ""),
        ("alan", "workspace", "bank"),
    }
    assert {each.reason for each in known.values()} == {"unsubscribe"}


async def test_who_sees_some_workspaces_imports_into_theirs_only(operations: AsyncOperations) -> None:
    report = await import_of(
        operations,
        "address,workspace\nada@example.org,hotel\ngrace@example.org,bank\nalan@example.org,\n",
        workspaces=HOTEL,
    )

    assert (report.added, [each.line for each in report.problems]) == (1, [3, 4])
    assert set(await entries(operations)) == {"ada@example.org"}


# ---------------------------------------------------------------- what is no list


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("ada@example.org\n".encode("utf-16"), "save it as CSV in UTF-8"),
        ("ada@example.org\n".encode("utf-16-le"), "save it as CSV in UTF-8"),
        ("address,evidence\nada@example.org,Gruß\n".encode("latin-1"), "save it as CSV in UTF-8"),
        (b"x" * 10_000_000, "more than 65,536 characters"),
        (b"\xff\x00" * 5_000_000, "save it as CSV in UTF-8"),
        (b"no\n" * 3_000_000, "none of its first 1,000 lines could be taken"),
        (b'address,evidence\nada@example.org,"' + b"never ends\n" * 50_000, "a quoted text does not end"),
        (b"name,street\nAda,Hill Lane\n", "names no column `address`"),
    ],
    ids=["UTF-16", "UTF-16 without mark", "Latin-1", "one line", "octets", "words", "quotes", "no column"],
)
async def test_what_is_no_list_is_refused_with_the_remedy(
    outbox: Outbox, operations: AsyncOperations, content: bytes, told: str
) -> None:
    with pytest.raises(InvalidEmail) as refused:
        await import_of(operations, content)

    assert refused.value.field == "file"
    assert told in str(refused.value)
    assert await entries(operations) == {}
    what, detail = recorded(outbox)[-1]
    assert (what, detail["state"]) == ("suppressions_import", "stopped")


async def test_what_was_read_before_a_list_broke_is_in_and_that_is_told(operations: AsyncOperations) -> None:
    good = "".join(f"guest{number}@example.org\n" for number in range(3 * BATCH))

    with pytest.raises(InvalidEmail, match="not UTF-8") as refused:
        await import_of(operations, good.encode() + b"\xff\n")
    known = len(await entries(operations))
    assert known >= BATCH
    assert f"{known:,} lines before that are in; imported again, they change nothing" in refused.value.remedy


async def test_a_report_names_some_refused_lines_and_counts_the_rest(operations: AsyncOperations) -> None:
    report = await import_of(operations, "ada@example.org\n" + "no\n" * (PATIENCE + SHOWN))

    assert (report.refused, len(report.problems), report.problems[0].line) == (PATIENCE + SHOWN, SHOWN, 2)


class Endless(RawIOBase):
    """A list that is read as it is made; how much of it was asked for."""

    def __init__(self) -> None:
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        line = b"ada@example.org\n" * (len(buffer) // 16)
        buffer[: len(line)] = line
        self.given += len(line)
        return len(line)


def test_a_list_is_read_no_further_than_it_is_used() -> None:
    source = Endless()

    with closing(read_list(cast("BinaryIO", source))) as lines:
        assert [next(lines).values["address"] for _ in range(100)] == ["ada@example.org"] * 100
    assert source.given < 1_000_000


# ---------------------------------------------------------------- what we write


async def test_an_exported_list_comes_back_the_same(operations: AsyncOperations, outbox: Outbox, clock: Clock) -> None:
    stops = [
        Stop(address="=1+1@example.org", reason=SuppressionReason.COMPLAINT, evidence="=HYPERLINK(\"http://x\")"),
        Stop(address="'+a@example.org", reason=SuppressionReason.MANUAL, evidence="two\nlines, and «quotes\""),
        Stop(address="ada@example.org", reason=SuppressionReason.UNSUBSCRIBE, scope=SuppressionScope.WORKSPACE),
        Stop(
            address="ada@example.org", reason=SuppressionReason.HARD_BOUNCE, scope=SuppressionScope.KIND,
            workspace=" hotel; bar", kind="@news", expires_at=clock.now + timedelta(microseconds=3_600_000_001),
        ),
    ]  # fmt: skip
    outbox.database.run(suppress(stops))

    def told(found: tuple[Suppression, ...]) -> set[tuple[object, ...]]:
        return {(e.address, e.reason, e.scope, e.workspace, e.kind, e.evidence, e.expires_at) for e in found}

    before = (await operations.suppressions()).entries
    text = written((), heading=True) + written(before)
    for entry in before:
        await operations.unsuppress(entry.id, by="root", confirm=True)
    report = await import_of(operations, text)

    assert report == ImportReport(lines=4, added=4)
    assert told((await operations.suppressions()).entries) == told(before)


def cells(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from (cell.strip('"') for cell in line.split(","))


def test_no_cell_of_a_list_begins_like_a_formula() -> None:
    at = datetime(2026, 3, 9, tzinfo=UTC)
    entry = Suppression(
        id="", address="=cmd|'/c calc'!a0@example.org", scope=SuppressionScope.KIND, workspace="-1", kind="@sum",
        reason=SuppressionReason.MANUAL, evidence="+1", email_id=None, actor=None, created_at=at, noted_at=at,
        expires_at=None,
    )  # fmt: skip

    assert [cell for cell in cells(written([entry])) if cell[:1] in set("=+-@")] == []
    assert sum(cell.startswith("'") for cell in cells(written([entry]))) == 4


@given(some.text(some.sampled_from("'=+-@\t\rab\n")))
def test_what_stands_before_a_formula_is_taken_off_again(value: str) -> None:
    assert as_meant(as_text(value)) == value
