"""What the formats of the API's description stand for, and the two rules that no schema can say.

Each strategy is as wide as the rule it stands for, as far as that can be written down shortly: a text that it draws
must be accepted, and the suite that uses them fails when one is not.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import schemathesis
from hypothesis import strategies as st

from postroom.settle.policy import PRESETS

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_PRINTABLE = st.characters(exclude_categories=("C", "Z"))
_LINE = st.text(_PRINTABLE | st.just(" "), max_size=60)
_WORD = st.text(_LETTERS, min_size=1, max_size=12)
_DOMAIN = st.lists(_WORD, min_size=1, max_size=4).map(lambda labels: ".".join([*labels, "example"]))
_LOCAL = st.lists(st.text(_LETTERS + "!#$%&'*+/^_`{|}~-", min_size=1, max_size=12), min_size=1, max_size=3).map(
    ".".join
)
_BARE = st.builds("{}@{}".format, _LOCAL, _DOMAIN)
_OWNER = st.text(_PRINTABLE | st.just(" "), max_size=40).filter(lambda name: "=?" not in name)
_NUMBERS = count(1)

FORMATS: dict[str, st.SearchStrategy[str]] = {
    "email-address": _BARE | st.builds(lambda owner, address: f"{_quoted(owner)} <{address}>", _OWNER, _BARE),
    "header-text": _LINE.filter(lambda line: "=?" not in line),
    "header-name": _WORD.map(lambda word: f"X-{word}"),
    "printable-text": st.text(_PRINTABLE | st.just(" "), min_size=1, max_size=60),
    "file-name": st.text(_PRINTABLE, min_size=1, max_size=40)
    .filter(lambda name: not set(name) & set("/\\") and "=?" not in name)
    .map(lambda name: f"{name}.txt"),
    "media-type": st.builds("application/{}".format, _WORD),
    # Never the same twice: no two attachments of an email may share one.
    "content-id": st.builds(lambda: f"part-{next(_NUMBERS)}"),
    "retry-policy": st.sampled_from(sorted(PRESETS)),
    "route": st.just("default"),
}

_PROSPECTS = st.lists(_BARE.filter(lambda address: '"' not in address), max_size=5).map(
    lambda addresses: "\n".join(["email", *addresses]).encode()
)
"""A file of prospects. What a row may hold is told of each row, and refuses no file."""


def _quoted(owner: str) -> str:
    escaped = owner.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def register() -> None:
    """Teach schemathesis what the formats stand for."""
    for name, strategy in FORMATS.items():
        schemathesis.openapi.format(name, strategy)
    schemathesis.openapi.media_type("text/csv", _PROSPECTS)


def as_no_schema_can_say(body: Any) -> Any:
    """The body, held to the rules that are about several fields at once.

    An email expires after its first attempt may be made, and has at most 1,000 recipients in all places together; one
    that can be unsubscribed from has one, no such header of its own, and names that fit into a link.
    """
    if not isinstance(body, dict):
        return body
    kept = body | {place: body[place][:333] for place in ("to", "cc", "bcc") if isinstance(body.get(place), list)}
    if isinstance(kept.get("expiresAt"), str):
        kept |= {"notBefore": None, "expiresAt": "8000-01-01T00:00:00Z"}
    return _to_one(kept) if kept.get("unsubscribable") is True else kept


def _to_one(body: dict[str, Any]) -> dict[str, Any]:
    place = next((each for each in ("to", "cc", "bcc") if body.get(each)), "to")
    given = body.get(place)
    nobody: dict[str, Any] = {"to": None, "cc": None, "bcc": None}
    only = {place: given[:1] if isinstance(given, list) else given}
    names = {name: body[name][:20] for name in ("kind", "workspace") if isinstance(body.get(name), str)}
    return body | nobody | only | names | {"headers": {}}
