"""What an email would fetch when it is opened, which tells somebody that it was; and what mail programs take out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from postroom.templates.checks.finding import Finding, Place
from postroom.templates.checks.page import Element, Page

_REMOTE = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
_URL = re.compile(r"url\([\s'\"]*((?:https?:)?//[^)'\"]*)", re.IGNORECASE)
_IMPORT = re.compile(r"@import\b", re.IGNORECASE)
_IN_A_COMMENT = re.compile(r"\b(?:src|background)\s*=\s*['\"]?((?:https?:)?//[^'\"\s>]*)", re.IGNORECASE)
_STYLESHEET = re.compile(r"<link\b[^<>]*\brel\s*=\s*['\"]?[^<>'\"]*stylesheet", re.IGNORECASE)
_FETCHING = ("src", "srcset", "background", "poster", "data")
_TAKEN_OUT = ("script", "iframe", "frame", "object", "embed", "applet", "form", "video", "audio")
_RULE = "remote-content"
_REMEDY = "an email must bring along all it shows: use {{ brand.logo }}, colours and text"


def check_sources(place: Place, sources: Mapping[str, str]) -> Iterator[Finding]:
    """Stylesheets that are linked to: the inliner takes them out unread, and nobody would see why it looks plain."""
    for file, source in sources.items():
        if _STYLESHEET.search(source):
            yield place.error(
                _RULE,
                f"{file} links to a stylesheet, which is not fetched",
                "write the rules into the layout's <style>",
                file=file,
            )


def check_remote(place: Place, page: Page) -> Iterator[Finding]:
    """All that is not in the email itself."""
    for element in page.elements():
        yield from _check_element(place, element)
    styles = page.styles()
    if _IMPORT.search(styles):
        yield place.error(_RULE, "its styles have an @import", "write the rules into the layout's <style>")
    for found in _URL.findall(styles):
        yield place.error(_RULE, f"its styles fetch {_host(found)}", _REMEDY)
    for comment in page.comments:
        for found in _IN_A_COMMENT.findall(comment) + _URL.findall(comment):
            yield place.error(_RULE, f"Outlook would fetch {_host(found)}", _REMEDY)


def _check_element(place: Place, element: Element) -> Iterator[Finding]:
    if element.tag in _TAKEN_OUT:
        yield place.error(_RULE, f"it has a <{element.tag}>, which mail programs take out", "say it in words or a link")
        return
    for name in _FETCHING:
        if _REMOTE.match(address := element.attributes.get(name, "")):
            yield place.error(_RULE, f"<{element.tag} {name}> fetches {_host(address)}", _REMEDY)
    for found in _URL.findall(element.attributes.get("style", "")):
        yield place.error(_RULE, f"the style of a <{element.tag}> fetches {_host(found)}", _REMEDY)


def _host(address: str) -> str:
    """As much of an address as says where to look, and nothing of what somebody was given in it."""
    return re.split(r"[/?#\s]", address.strip().partition("//")[2])[0] or "something"
