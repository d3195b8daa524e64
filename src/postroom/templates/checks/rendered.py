"""What can be wrong with one rendered email, whatever template it is from."""

from __future__ import annotations

from collections.abc import Iterator

from postroom.errors import ConfigurationError
from postroom.templates.checks.contrast import check_contrast
from postroom.templates.checks.finding import Finding, Place
from postroom.templates.checks.page import Element, Page
from postroom.templates.checks.remote import check_remote
from postroom.templates.languages import canonical, direction
from postroom.templates.template import Rendered

GMAIL_CUTS = 102 * 1024
"""Gmail shows so much of a page, in octets, and hides the rest behind a link."""
HEAVY = 80 * 1024
LONGEST_SUBJECT, WHOLE_SUBJECT = 150, 78
_LEADING = ("http://", "https://", "mailto:", "tel:", "sms:")
_SHOWN = ("cid:", "data:", "http:", "https:", "//")


def check_rendered(rendered: Rendered, *, template: str, language: str, sample: str = "") -> Iterator[Finding]:
    """All that is wrong with an email that a template has made."""
    place = Place(template=template, language=language, sample=sample)
    page = Page.of(rendered.html)
    yield from _check_subject(place, rendered.subject)
    if not any(map(str.isalnum, rendered.text)):
        yield place.error("text-empty", "its text says nothing", "write in body.txt what the HTML says")
    octets = len(rendered.html.encode())
    yield from _check_weight(place, octets)
    yield from _check_language(place, page)
    yield from _check_links(place, page)
    yield from _check_pictures(place, page)
    yield from check_remote(place, page)
    if octets <= GMAIL_CUTS:  # it must become shorter in any case, and looking closely takes its time
        yield from check_contrast(place, page)


def _check_subject(place: Place, subject: str) -> Iterator[Finding]:
    if not subject:
        yield place.error("subject", "its subject is empty", "write one in subject.txt")
    elif len(subject.splitlines()) > 1:
        yield place.error("subject", "its subject has several lines", "write subject.txt on one line")
    elif len(subject) > LONGEST_SUBJECT:
        yield place.error(
            "subject",
            f"its subject has {len(subject)} characters, more than {LONGEST_SUBJECT}",
            f"say it in {WHOLE_SUBJECT} or fewer",
        )
    elif len(subject) > WHOLE_SUBJECT:
        yield place.warning(
            "subject",
            f"its subject has {len(subject)} characters, and no list of emails shows more than {WHOLE_SUBJECT}",
            "put what matters first, or say it shorter",
        )


def _check_weight(place: Place, octets: int) -> Iterator[Finding]:
    weighs = f"its HTML weighs {octets / 1024:.0f} kB"
    if octets > GMAIL_CUTS:
        yield place.error("too-heavy", f"{weighs}, and Gmail cuts off what is beyond 102 kB", "make it shorter")
    elif octets > HEAVY:
        yield place.warning("too-heavy", f"{weighs}; Gmail cuts at 102 kB", "make it shorter before it grows")


def _check_language(place: Place, page: Page) -> Iterator[Finding]:
    """`<html lang="de" dir="ltr">`: what reads aloud goes by it, and so does the direction of tables."""
    html = next(page.elements("html"), Element("html", {}))
    spoken, written = html.attributes.get("lang", ""), direction(place.language)
    remedy = 'write <html lang="{{ language }}" dir="{{ direction }}"> in the layout'
    if not spoken:
        yield place.warning("language-attribute", "the page does not say its language", remedy)
    elif not _is_tag_of(spoken, place.language):
        yield place.error("language-attribute", f"the page says that it is in {spoken!r}", remedy)
    given = next((each.attributes["dir"] for each in page.elements("html", "body") if "dir" in each.attributes), "ltr")
    if given.lower() != written:
        yield place.error(
            "language-attribute", f"{place.language} is written {written}, and the page is {given}", remedy
        )


def _is_tag_of(spoken: str, language: str) -> bool:
    """Whether `lang` names the language, or the same with or without its region."""
    try:
        said = canonical(spoken)
    except ConfigurationError:
        return False
    return said == language or said.partition("-")[0] == language or language.partition("-")[0] == said


def _check_links(place: Place, page: Page) -> Iterator[Finding]:
    for link in page.elements("a", "area"):
        leads = link.attributes.get("href")
        if leads is not None and not leads.strip().lower().startswith(_LEADING):
            yield place.error(
                "relative-link",
                f"the link «{_short(link.words() or leads)}» leads to {_short(leads)!r}, which is nowhere in an email",
                "begin it with https://, mailto: or tel:",
            )


def _check_pictures(place: Place, page: Page) -> Iterator[Finding]:
    for picture in page.elements("img"):
        source = picture.attributes.get("src", "")
        if "alt" not in picture.attributes:
            yield place.error(
                "image-without-alt",
                f"the picture {_short(source)!r} has no alt",
                'say what it shows, or write alt="" where it only decorates',
            )
        elif not picture.attributes["alt"].strip() and _is_a_whole_link(picture):
            yield place.error(
                "image-without-alt",
                f"the picture {_short(source)!r} is all there is of a link, and its alt is empty",
                "say in alt where the link leads to",
            )
        if not source.lower().startswith(_SHOWN):
            yield place.error(
                "relative-link",
                f"the picture {_short(source)!r} is nowhere in an email",
                "show the logo as {{ brand.logo }}; other pictures cannot travel with it",
            )


def _is_a_whole_link(picture: Element) -> bool:
    return any(each.tag == "a" and not each.words() for each in picture.ancestry())


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:59]}…"
