"""One template, in one language, with one sample: all that its page shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

from postroom.compose import Attachment, Email
from postroom.errors import InvalidTemplate
from postroom.gallery.breakage import Breakage, breakage_of
from postroom.gallery.document import document_of
from postroom.gallery.scheme import knows_dark
from postroom.gallery.snippet import snippet_of
from postroom.operate.wording import count_of
from postroom.templates.checks import Cell, Finding, Severity
from postroom.templates.checks.rendered import GMAIL_CUTS, HEAVY
from postroom.templates.files import HTML, MJML, SAMPLE, SUBJECT, TEXT
from postroom.templates.portal import Portal

SOMEBODY = "you@example.org"
"""Whom a sample is addressed to while it is only looked at."""
LONGEST_SOURCE = 300_000
"""Characters of HTML that a page shows as source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """What the template is told."""

    name: str
    type: str
    value: str
    """Empty where there is no sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """How heavy the HTML is, against what Gmail shows."""

    html: int
    whole: int
    """With text and pictures, before they are encoded."""

    @property
    def share(self) -> int:
        """Per cent of what Gmail shows; more than a hundred where it cuts."""
        return max(1, round(100 * self.html / GMAIL_CUTS))

    @property
    def tone(self) -> str:
        return "errors" if self.html > GMAIL_CUTS else "warnings" if self.html > HEAVY else "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was asked for."""

    portal: Portal
    name: str
    language: str
    sample: str

    @property
    def kind(self) -> str:
        return f"{self.portal.name}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A rendered sample, or why there is none."""

    look: Look
    samples: tuple[str, ...]
    variables: tuple[Variable, ...]
    email: Email | None
    breakage: Breakage | None
    findings: tuple[Finding, ...]
    """The worst first."""
    files: tuple[str, ...]
    """What its words are in, within the portal's folder."""

    @property
    def verdict(self) -> tuple[Cell, str]:
        """How it does, as the matrix would say it."""
        severities = [each.severity for each in self.findings]
        if errors := severities.count(Severity.ERROR):
            return Cell.ERRORS, count_of(errors, "error")
        if severities:
            return Cell.WARNINGS, count_of(len(severities), "warning")
        return Cell.OK, "fine"

    @property
    def version(self) -> str:
        return self.email.edition.version if self.email and self.email.edition else ""

    @property
    def written_in(self) -> str:
        """The language that was really used."""
        return self.email.edition.language if self.email and self.email.edition else self.look.language

    @property
    def html(self) -> str:
        return (self.email.html or "") if self.email else ""

    @property
    def snippet(self) -> str:
        return snippet_of(self.html)

    @property
    def knows_dark(self) -> bool:
        return knows_dark(self.html)

    @property
    def source(self) -> tuple[str, ...]:
        return tuple(self.html[:LONGEST_SOURCE].splitlines())

    @property
    def weight(self) -> Weight:
        assert self.email is not None
        html = len(self.html.encode())
        rest = len(self.email.text.encode()) + sum(len(each.content) for each in self.pictures)
        return Weight(html=html, whole=html + rest)

    @property
    def pictures(self) -> tuple[Attachment, ...]:
        return self.email.attachments if self.email else ()

    def document(self, scheme: str) -> str:
        """What a frame shows of it."""
        return document_of(self.html, self.pictures, scheme)


def spoken(portal: Portal, language: str) -> str:
    """A language that is not there is taken for the first."""
    known = portal.languages.spoken
    return language if language in known else known[0]


def exhibit(portal: Portal, name: str, *, language: str, sample: str, findings: Iterable[Finding] = ()) -> Exhibit:
    """Look at a template. A sample or a language that is not there is taken for the first; what is broken is told."""
    language = spoken(portal, language)
    contexts: Mapping[str, Any] = {}
    email = breakage = None
    suspects = tuple(_files(portal, name, language, (SAMPLE,)))
    try:
        contexts = portal.samples(name, language)
        sample = sample if sample in contexts else next(iter(contexts), "")
        suspects = (*_files(portal, name, language), *_shared(portal, language))
        email = _email(portal, name, language, contexts, sample)
    except Exception as error:  # noqa: BLE001 -- while a template is being written, anything may be wrong with it
        breakage = breakage_of(error, portal, language, suspects)
    return Exhibit(
        look=Look(portal=portal, name=name, language=language, sample=sample),
        samples=tuple(contexts),
        variables=tuple(_variables(portal, name, contexts.get(sample))),
        email=email,
        breakage=breakage,
        findings=tuple(sorted(findings, key=lambda each: each.severity is not Severity.ERROR)),
        files=tuple(_files(portal, name, language, (SUBJECT, HTML, MJML, TEXT, SAMPLE))),
    )


def addressed(portal: Portal, name: str, *, language: str, sample: str, to: str) -> Email:
    """A sample for somebody, to be sent; `InvalidEmail` where that cannot be."""
    language = spoken(portal, language)
    contexts = portal.samples(name, language)
    return _email(portal, name, language, contexts, sample or next(iter(contexts), ""), to=to)


def _email(
    portal: Portal, name: str, language: str, contexts: Mapping[str, Any], sample: str, *, to: str = SOMEBODY
) -> Email:
    if sample not in contexts:
        problem = f"it has no sample {sample!r}" if contexts else "it has no sample to be shown with"
        raise InvalidTemplate(f"{portal.name}.{name}", problem, f"write it in {name}/{SAMPLE}")
    return portal.email(contexts[sample], to=to, language=language, tags="preview")


def _variables(portal: Portal, name: str, context: Any) -> Iterator[Variable]:
    contract = portal.contract(name)
    for field in fields(contract.context):
        kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
        value = "" if context is None else _written(getattr(context, field.name))
        yield Variable(name=field.name, type=kind, value=value)


def _written(value: Any) -> str:
    """As a person would write it down."""
    if isinstance(value, bool | list | tuple | dict) or value is None or is_dataclass(value):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value.value if isinstance(value, Enum) else value)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def _files(
    portal: Portal, name: str, language: str, parts: tuple[str, ...] = (SUBJECT, HTML, MJML, TEXT)
) -> Iterator[str]:
    """A template's own files, as the language that it is found in spells them."""
    chain = portal.languages.chain(language)
    chain = chain[next((place for place, tag in enumerate(chain) if portal.files.speaks(name, tag)), 0) :]
    return (file for part in parts if (file := portal.files.find(f"{name}/{part}", chain)))


def _shared(portal: Portal, language: str) -> Iterator[str]:
    """Layouts and pieces of the portal that stand in no other language's name."""
    others = {each for each in portal.languages.spoken if each != language}
    for place in sorted(portal.root.glob("*.*")):
        if place.suffix in (".html", ".txt", ".mjml") and not others.intersection(place.name.split(".")):
            yield place.name
