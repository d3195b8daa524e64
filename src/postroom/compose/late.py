"""Emails whose words are rendered when they are first attempted: until then the context stands in the text's place.

There, and not in the envelope, because who may only look at an outbox sees envelopes and no texts. The envelope does
not begin as JSON does. So releases that know nothing of it cannot read it, and send nothing in its place, least of all
an empty email.
"""

from __future__ import annotations

from json import JSONEncoder, loads
from typing import NoReturn, Protocol

from postroom.compose.attachment import Attachment
from postroom.compose.edition import Edition
from postroom.compose.safety import check_is_text
from postroom.errors import InvalidEmail

LATE = "late:"
"""What the envelope of an email begins with that is not rendered yet."""

_encode = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Words(Protocol):
    """What a template says, filled in."""

    @property
    def subject(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def html(self) -> str | None: ...
    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """Pictures that the HTML shows."""

    @property
    def edition(self) -> Edition:
        """The one really used: the files may have changed since the email was composed."""


class Render(Protocol):
    """Fills a template in: the words of an edition for a context, as JSON.

    Raises `ConfigurationError` where the portal is not known to this process, and `InvalidEmail` for what cannot be
    rendered, whose words name template and variable, and no value.
    """

    def __call__(self, edition: Edition, context: str, /) -> Words: ...


def is_late(envelope: str) -> bool:
    """Whether an envelope says that its words are still to be rendered."""
    return envelope.startswith(LATE)


def checked_context(late: str) -> str:
    """A template's context as compact JSON, equal for what means the same."""
    check_is_text("late", late)
    try:
        context = loads(late, parse_constant=_refuse)
        if isinstance(context, dict):
            written = _encode(dict(sorted(context.items())))
            written.encode()  # half a character could not be stored
            return written
    except (ValueError, RecursionError):
        pass
    raise InvalidEmail("late", "is not a JSON object", 'give the template\'s context, such as {"name":"Ada"}')


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
