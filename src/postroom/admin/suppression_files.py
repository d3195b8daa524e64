"""Lists of who is not to be mailed as they leave the web app: page by page, as a file that is never shown as a page."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi.responses import StreamingResponse

from postroom.operate.service import AsyncOperations
from postroom.operate.suppression_lists import written
from postroom.operate.values import Workspaces

AT_ONCE = 1_000
"""Entries of a list that are read and sent at once."""


class CsvFile(StreamingResponse):
    """A file to be kept."""

    media_type = "text/csv"


def exported(operations: AsyncOperations, workspaces: Workspaces) -> CsvFile:
    """All that may be seen, as a list that can be imported again."""
    headers = {
        "Content-Disposition": 'attachment; filename="suppressions.csv"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "no-store",
    }
    return CsvFile(_lines(operations, workspaces), headers=headers)


async def _lines(operations: AsyncOperations, workspaces: Workspaces) -> AsyncIterator[str]:
    """A list, page by page: it takes no more memory than one."""
    yield written((), heading=True)
    before: str | None = None
    while True:
        page = await operations.suppressions(limit=AT_ONCE, before=before, workspaces=workspaces)
        yield written(page.entries)
        if (before := page.next) is None:
            return
