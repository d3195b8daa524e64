"""An email's HTML as a document that can be looked at without being trusted.

Whoever wrote an email may have meant harm to whoever reads it here. Three walls stand between them, and each would do
alone:

1. the page shows the document in `<iframe sandbox srcdoc>`: no scripts, no forms, no origin, no pop-ups;
2. nh3 has removed every element and attribute that could run, submit, frame, redirect or reach out;
3. the document's own Content-Security-Policy is `default-src 'none'`: whatever slipped through loads nothing.

Nor may looking cost much: the HTML is written anew first, within bounds (see `taming`), because parsing what somebody
has nested or left open on purpose takes minutes. It still takes a second at worst, so it is done in a thread; nh3 lets
go of the interpreter while it works.

Pictures that came inside the email are shown; those on other hosts are not asked for until a person wants them, because
the request itself tells the sender that, when and where the email was read.

A document in `srcdoc` also obeys the policy of the page around it: that page must allow inline styles and `data:`
pictures (and `https:` ones when asked for), see `headers.content_policy`.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from urllib.parse import unquote

import nh3

from postroom.admin.taming import LONGEST, CannotShow, tamed
from postroom.compose.markup import Tag, pieces

__all__ = ["CannotShow", "Inline", "remote_image_count", "safe_document"]

Inline = Mapping[str, tuple[str, bytes]]
"""Pictures of the email itself: Content-ID (with or without `<>`) to media type and octets."""

NOTHING_INLINE: Inline = MappingProxyType({})

PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"})
"""What may become a `data:` picture. SVG is left out: it is a document, not a picture."""

PRESENTATION = frozenset({
    "align", "valign", "width", "height", "bgcolor", "border", "cellpadding", "cellspacing", "color", "face", "size",
    "style", "class", "dir", "lang", "title", "role",
})  # fmt: skip

TAGS = (nh3.ALLOWED_TAGS | {"font", "center", "section", "main", "big"}) - {"area", "map"}

ATTRIBUTES: dict[str, set[str]] = {
    "*": set(PRESENTATION),
    "a": {"href", "name"},
    "img": {"src", "alt"},
    "td": {"colspan", "rowspan", "headers", "background"},
    "th": {"colspan", "rowspan", "headers", "scope", "background"},
    "table": {"summary", "background"},
    "ol": {"start", "type"},
}

CANVAS = (
    "html{color-scheme:light;background:#fff;color:#1a1a1a}"
    "body{margin:16px;font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}img{max-width:100%}"
)
"""A white sheet, in dark mode too: emails are drawn for one."""


_STYLED = re.compile(r"url\(\s*+['\"]?+\s*+(?:https?:|//)", re.IGNORECASE)
"""A picture that a style asks for."""
_PICTURED = frozenset(("img", "table", "td", "th"))
_STYLE = re.compile(r"<style(?=[\s/>])", re.IGNORECASE)
_STYLE_END = re.compile(r"</style(?=[\s/>])", re.IGNORECASE)


def safe_document(html: str, *, remote_images: bool = False, inline: Inline = NOTHING_INLINE) -> str:
    """A whole HTML document for `srcdoc` that runs nothing, and asks other hosts for nothing.

    With `remote_images`, pictures at `https:` addresses are loaded, and still nothing else.
    The result is not escaped for an attribute: the template does that, as with every text. Raises `CannotShow` where
    looking at it would take too much.
    """
    body = nh3.clean(
        tamed(html, tags=TAGS, attributes=ATTRIBUTES),
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        attribute_filter=_filter(inline, remote_images=remote_images),
        url_schemes={"http", "https", "mailto", "tel", "cid", "data"},
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )
    return (
        "<!doctype html><html><head>"
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_policy(remote_images))}">'
        '<meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{CANVAS}</style><style>{_read(html).safe_styles()}</style></head><body>{body}</body></html>"
    )


def remote_image_count(html: str) -> int:
    """How many pictures the email would fetch from elsewhere, were it allowed to; none if it is too large to show."""
    return _read(html).remote_images if len(html) <= LONGEST else 0


def _policy(remote_images: bool) -> str:
    pictures = "data: https:" if remote_images else "data:"
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src {pictures}; base-uri 'none'; form-action 'none'"


def _filter(inline: Inline, *, remote_images: bool) -> Callable[[str, str, str], str | None]:
    pictures = {name.strip("<>"): picture for name, picture in inline.items()}

    def keep(tag: str, attribute: str, value: str) -> str | None:
        if attribute in ("src", "background"):
            return _picture(value.strip(), pictures, remote_images=remote_images)
        if attribute == "href" and value.strip().lower().startswith(("data:", "cid:")):
            return None
        return value

    return keep


def _picture(address: str, pictures: Inline, *, remote_images: bool) -> str | None:
    """The address under which a picture may be shown, if any."""
    scheme = address.partition(":")[0].lower()
    if scheme == "cid":
        media_type, octets = pictures.get(unquote(address[4:]), ("", b""))
        return f"data:{media_type};base64,{b64encode(octets).decode()}" if media_type in PICTURE_TYPES else None
    if scheme == "data":
        return address if address[5:].partition(";")[0].lower() in PICTURE_TYPES else None
    return address if remote_images and scheme == "https" else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one look through the HTML finds: style sheets, and how many pictures live elsewhere."""

    styles: tuple[str, ...]
    remote_images: int

    def safe_styles(self) -> str:
        """The email's own style sheets; one with `<` in it, which could end the element, is left out whole."""
        return "\n".join(sheet for sheet in self.styles if "<" not in sheet)


def _read(html: str) -> _Reading:
    """In time that grows with the length only: the standard library's parser takes minutes for 60 kB of `<a `."""
    styles = tuple(_style_sheets(html))
    tags = (piece for piece in pieces(html) if isinstance(piece, Tag) and piece.source)
    remote = sum(map(_remote_pictures, tags)) + sum(len(_STYLED.findall(sheet)) for sheet in styles)
    return _Reading(styles, remote)


def _remote_pictures(tag: Tag) -> int:
    given = {name: value.strip().lower() for name, value in tag.attributes().items()}
    styled = len(_STYLED.findall(given.get("style", "")))
    if tag.name not in _PICTURED:
        return styled
    addresses = (given.get("src", ""), given.get("background", ""))
    return styled + sum(address.startswith(("http:", "https:", "//")) for address in addresses)


def _style_sheets(html: str) -> Iterator[str]:
    position = 0
    while (opening := _STYLE.search(html, position)) and (start := html.find(">", opening.end()) + 1):
        closing = _STYLE_END.search(html, start)
        yield html[start : closing.start() if closing else len(html)]
        if closing is None:
            return
        position = closing.end()
