"""A webhook as the application says it: where to, what happened, and the data. Checked when it is made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from json.encoder import encode_basestring as in_quotes
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from postroom.compose.frozen import Frozen, write_envelope
from postroom.compose.limits import Limits
from postroom.compose.safety import check_body, check_is_text
from postroom.errors import InvalidEmail
from postroom.vocabulary import EmailId

WebhookHeaders: TypeAlias = "Mapping[str, str] | Iterable[tuple[str, str]]"

LONGEST_URL = 2_000
LONGEST_EVENT = 100

_EVENT = re.compile(r"[A-Za-z0-9_.:/-]+")
_URL = re.compile(r"[!-~]+")  # printable ASCII; spaces and line breaks would end the request line
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[ -~]{0,4000}")
_OURS = re.compile(
    r"webhook-.*|connection|content-(?:encoding|length|type)|expect|host|keep-alive|te|trailer|transfer-encoding"
    r"|upgrade|user-agent",
    re.IGNORECASE,
)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Webhook:
    """One event for one URL. Making it checks it: a `Webhook` that exists can be stored and sent.

    What arrives is `{"type": event, "timestamp": when it was enqueued, "data": data}`, as Standard Webhooks has it,
    with the same octets and the same `webhook-id` at every attempt.
    """

    url: str
    """`https://` or `http://`, any port, without user and password. Where it leads is looked at when it is sent."""
    event: str
    """What happened, such as `order.paid`."""
    json: str
    """The data as they will be sent. What the caller does to his own afterwards changes nothing."""
    headers: tuple[tuple[str, str], ...]
    """Headers of the caller's own, in order. They are stored, and shown on the desk."""

    def __init__(self, *, url: str, event: str, data: Any = None, headers: WebhookHeaders = ()) -> None:
        keep = object.__setattr__
        keep(self, "url", _checked_url(url))
        keep(self, "event", _checked_event(event))
        keep(self, "json", _written({} if data is None else data))
        keep(self, "headers", _checked_headers(headers))

    @property
    def data(self) -> Any:
        """The data, read back from what will be sent."""
        return json.loads(self.json)

    def freeze(self, *, id: EmailId, date: datetime, limits: Limits) -> Frozen:
        """As a store keeps it: `text` is the body, octet by octet."""
        stamp = date.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        body = f'{{"type":{in_quotes(self.event)},"timestamp":"{stamp}","data":{self.json}}}'
        size = len(body.encode()) + sum(len(name) + len(value) for name, value in self.headers)
        if size > limits.bytes:
            raise InvalidEmail("data", f"the webhook has {size:,} bytes", f"bring it under {limits.bytes:,}")
        if len(self.headers) > limits.headers:
            raise InvalidEmail("headers", f"has {len(self.headers)} entries", f"give at most {limits.headers}")
        headers = f',"headers":{_encode(self.headers)}' if self.headers else ""
        return Frozen(
            subject=self.event,
            message_id=f"msg_{id.replace('-', '')}",
            envelope=write_envelope(date, f'{{"to":[{in_quotes(self.url)}]{headers}}}'),
            text=body,
            html=None,
            size=size,
            recipients=(self.url,),
            attachments=(),
            tags=(),
            stamp=stamp,
        )


def _checked_url(url: str) -> str:
    check_is_text("url", url)
    if len(url) > LONGEST_URL:
        raise InvalidEmail("url", f"has {len(url):,} characters", f"shorten it to {LONGEST_URL:,}")
    if not _URL.fullmatch(url) or "\\" in url:
        raise InvalidEmail(
            "url", "contains a character that no URL has", "percent-encode the path, and write the host as xn--…"
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidEmail("url", "cannot be read", "write it like https://example.org/hook") from error
    if parts.scheme not in ("https", "http"):
        raise InvalidEmail("url", f"begins with {parts.scheme[:20]!r}", "use https:// (or http://)")
    if not host or port == 0:
        raise InvalidEmail("url", "names no host, or port 0", "write it like https://example.org/hook")
    if parts.username is not None or parts.password is not None:
        raise InvalidEmail("url", "contains a user or a password", "give them in headers={'Authorization': …}")
    if "#" in url:
        raise InvalidEmail("url", "has a fragment, which is never sent", "leave out the # and what follows")
    return url


def _checked_event(event: str) -> str:
    check_is_text("event", event)
    if len(event) > LONGEST_EVENT or not _EVENT.fullmatch(event):
        raise InvalidEmail(
            "event", f"{event[:50]!r} cannot be an event's name", f"use 1 to {LONGEST_EVENT} of A–Z a–z 0–9 _ . : / -"
        )
    return event


def _written(data: Any) -> str:
    try:
        written = _encode(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidEmail(
            "data", f"cannot be written as JSON ({error})", "give text, numbers, lists, dicts"
        ) from error
    check_body("data", written)
    return written


def _checked_headers(headers: WebhookHeaders) -> tuple[tuple[str, str], ...]:
    kept = tuple(headers.items() if isinstance(headers, Mapping) else headers)
    for name, value in kept:
        field = f"headers[{name!r}]"
        check_is_text(field, name)
        check_is_text(field, value)
        if not _TOKEN.fullmatch(name):
            raise InvalidEmail(field, "is not a header name", "use up to 100 letters, digits and hyphens")
        if _OURS.fullmatch(name):
            raise InvalidEmail(field, "is written by Postroom itself", "leave it out")
        if not _VALUE.fullmatch(value) or value != value.strip():
            raise InvalidEmail(
                field, "has a value that HTTP cannot carry", "use up to 4,000 printable ASCII characters"
            )
    return kept
