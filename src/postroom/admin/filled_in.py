"""What people have typed into a form, read within a bound that they are told.

A text that is too long is refused when all of the form has come: a browser whose form is answered before it has sent
everything sees a connection that was reset, tries again, and has no words to show.
"""

from __future__ import annotations

from fastapi import Request
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from postroom.admin.errors import ApiError

LONGEST_FIELD = 2 * 1024 * 1024
"""Bytes of one text as forms are sent: nine for a character that is not Latin, so that the longest of a step fits."""


async def read_form(request: Request) -> FormData:
    """The form of a request, which knows it from then on; 413 if a text in it is too long."""
    try:
        return await request.form(max_part_size=LONGEST_FIELD)
    except HTTPException as error:
        # Starlette says 400 to whatever it cannot take; only what is long can have a text that is too long.
        if error.status_code != 400 or not _is_long(request):
            raise
        async for _ in request.stream():
            pass
        raise ApiError(
            status=413,
            code="too_large",
            message="a text in the form is over 2 MB as it was sent, and was not read",
            remedy="go back and shorten it; a long list of people is imported as a file",
        ) from error


def _is_long(request: Request) -> bool:
    length = request.headers.get("content-length", "")
    return length.isdecimal() and int(length) > LONGEST_FIELD
