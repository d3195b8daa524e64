"""Kinds of text that the API takes, under the names of OpenAPI formats.

A schema can say how long a text is, and not what a deliverable address or a safe header is. What it can say, it says
and is held to; what it cannot has the name of a format here, and is decided by `compose` as for every email.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema

from postroom.campaigns.values import LONGEST_ID
from postroom.compose import Limits
from postroom.compose.email import LONGEST_TAG
from postroom.compose.safety import LONGEST_VALUE
from postroom.outbox.submission import LONGEST_NAME

_LIMIT = "x-postroom-limit"
_MOST = {"array": "maxItems", "object": "maxProperties", "string": "maxLength"}


def _format(name: str, example: str) -> Any:
    return Field(json_schema_extra={"format": name, "examples": [example]})


def limited(name: str) -> Any:
    """Bounded by one of the outbox's `Limits`: the outbox refuses what is over it, as it does for everybody."""
    return Field(json_schema_extra={_LIMIT: name})


def within(limits: Limits, described: Any) -> Any:
    """A description with the limits of its outbox where they apply."""
    if isinstance(described, dict):
        if name := described.pop(_LIMIT, None):
            described[_MOST[described["type"]]] = getattr(limits, name)
        for each in described.values():
            within(limits, each)
    elif isinstance(described, list):
        for each in described:
            within(limits, each)
    return described


MailAddress: TypeAlias = Annotated[str, _format("email-address", "Ada Lovelace <ada@example.org>")]
"""An address that can be delivered to, with or without the name of its owner."""

HeaderText: TypeAlias = Annotated[
    str, StringConstraints(max_length=LONGEST_VALUE), _format("header-text", "Your table is booked")
]
"""One line, without control characters or words that are already encoded."""

HeaderName: TypeAlias = Annotated[str, _format("header-name", "X-Campaign")]
"""Of a header that Postroom does not write itself."""

BodyText: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
"""Anything but NUL, which no database takes."""

Tag: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_TAG), _format("printable-text", "summer")
]

Label: TypeAlias = Annotated[str, StringConstraints(max_length=LONGEST_NAME), _format("printable-text", "booking")]
"""Of a kind or a workspace."""


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("holds characters that cannot be printed")
    return text


WorkspaceName: TypeAlias = Annotated[
    str, StringConstraints(max_length=LONGEST_ID), AfterValidator(_printable), _format("printable-text", "north")
]
"""Of a workspace that has campaigns; empty for the one without a name."""

CampaignName: TypeAlias = WorkspaceName
"""The id of a campaign."""

FileName: TypeAlias = Annotated[str, _format("file-name", "menu.pdf")]
"""A bare name: no path, no control or text-direction characters."""

MediaType: TypeAlias = Annotated[str, _format("media-type", "application/pdf")]
ContentId: TypeAlias = Annotated[str, _format("content-id", "logo")]
"""By which the HTML shows a picture: `cid:logo`. No two attachments of an email share one."""


def _decoded(value: Any) -> bytes:
    """Strictly: a decoder that skips what is no Base64 makes some other file of a damaged one."""
    if not isinstance(value, str):
        raise ValueError("give the content as text, in Base64")
    try:
        return b64decode(value, validate=True)
    except ValueError:
        raise ValueError("this is no Base64: letters, digits, + and /, padded with =, in one line") from None


FileContent: TypeAlias = Annotated[
    bytes,
    BeforeValidator(_decoded),
    WithJsonSchema(
        {
            "type": "string",
            "contentEncoding": "base64",
            "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        }
    ),
]
"""In Base64."""

RouteName: TypeAlias = Annotated[str, _format("route", "default")]
"""`default`, or one that the settings of the outbox name."""

PolicyName: TypeAlias = Annotated[str, _format("retry-policy", "patient")]
"""`quick`, `standard`, `patient`, `outreach`, or one that the outbox was given."""

Addresses: TypeAlias = Annotated[list[MailAddress], limited("recipients")] | MailAddress
SomeAddresses: TypeAlias = Annotated[list[MailAddress], Field(min_length=1), limited("recipients")] | MailAddress


def somebody_gets_it(schema: dict[str, Any]) -> None:
    """At least one recipient, in whichever of the three places."""
    given = {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1}]}
    schema["anyOf"] = [{"required": [place], "properties": {place: given}} for place in ("to", "cc", "bcc")]
