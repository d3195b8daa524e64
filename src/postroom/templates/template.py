"""One template of a portal in one language, compiled; and what it makes of a context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from jinja2 import Template as Compiled
from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

from postroom.errors import InvalidTemplate
from postroom.templates.budget import CHARACTERS, Budget, Exceeded, within
from postroom.templates.contract import Contract
from postroom.templates.engine import Engine, UnknownName
from postroom.templates.facts import Facts, facts_of
from postroom.templates.files import MJML, SUBJECT, TEXT, Files
from postroom.templates.inlining import inlined
from postroom.templates.links import links_in, without_twin
from postroom.templates.mjml import html_from_mjml
from postroom.templates.skeleton import MOST_PAGES, Skeleton, fits

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What a template says to somebody."""

    subject: str
    text: str
    html: str


class Template:
    """A template in one language: its three parts, and the version of all that they are made of."""

    def __init__(
        self, contract: Contract, *, name: str, language: str, files: Files, engine: Engine, brand: str
    ) -> None:
        self.contract = contract
        self.language = language
        self.engine = engine
        self._folder = name
        body = files.body_of(name, language)
        assert body is not None, "whoever asks has seen that it is there"
        self.parts = {part: f"{name}/{part}" for part in (SUBJECT, TEXT, body)}
        self.is_mjml = body == MJML
        found = {name: (source, facts) for name, source, facts in self._files(files)}
        self.sources = {name: source for name, (source, _) in found.items()}
        self.facts = {name: facts for name, (_, facts) in found.items()}
        self._check_names()
        self.version = _digest(self.sources, brand)
        self._subject, self._text, self._body = (self._compiled(place) for place in self.parts.values())
        self._may_leave_places = not self.is_mjml and all(each.keeps_marks for each in self.facts.values())
        self._pages: dict[str, Skeleton | None] = {}

    def render(self, values: Mapping[str, Any]) -> Rendered:
        """What it says to these values, as `Contract.plain` gives them; `InvalidTemplate` where it cannot say it."""
        budget = Budget()
        try:
            with within(budget):
                subject = put_together(self._subject, values).strip()
                said = {**values, "subject": subject}
                text = put_together(self._text, said).strip("\n") + "\n"
                html, links = self._page(said, budget)
        except (TemplateError, Exceeded, ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise self._refused(error) from error
        if lacking := without_twin(links, text):
            raise InvalidTemplate(
                self.contract.template,
                f"its HTML leads to a place that its text does not name ({_without_values(lacking, values)})",
                "write every link in the text, too",
            )
        return Rendered(subject=subject, text=text, html=html)

    def _page(self, values: Mapping[str, Any], budget: Budget) -> tuple[str, Any]:
        """The HTML, and where it leads to."""
        if not self._may_leave_places:
            return self._whole_page(values)
        put_out: list[str] = []
        budget.values = put_out
        page = put_together(self._body, values)
        budget.values = None
        skeleton = self._skeleton(page)
        if skeleton is None or not fits(put_out):
            return self._whole_page(values)
        return skeleton.filled(put_out), skeleton.filled_links(put_out)

    def _whole_page(self, values: Mapping[str, Any]) -> tuple[str, Any]:
        page = put_together(self._body, values)
        html = inlined(html_from_mjml(page) if self.is_mjml else page)
        return html, links_in(html)

    def _skeleton(self, page: str) -> Skeleton | None:
        if page not in self._pages:
            if len(self._pages) >= MOST_PAGES:
                self._pages.clear()
            self._pages[page] = Skeleton.of(page)
        return self._pages.get(page)

    def _compiled(self, place: str) -> Compiled:
        try:
            return self.engine.get_template(place)
        except TemplateError as error:
            raise self._refused(error) from error

    def _files(self, files: Files) -> Iterator[tuple[str, str, Facts]]:
        """All files that it is made of, by their names, with what they say and what is to be known of that."""
        waiting, seen = list(self.parts.values()), set[str]()
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            try:
                source, filename, _ = self.engine.loader.get_source(self.engine, place)  # type: ignore[union-attr]
                facts = facts_of(self.engine, source, place)
            except (TemplateError, RecursionError) as error:
                raise self._refused(error) from error
            for named in facts.leads_to:
                if named is None:
                    raise InvalidTemplate(
                        self.contract.template,
                        "it includes a file whose name is worked out",
                        "write out the file's name",
                    )
                waiting.append(named)
            yield str(filename).removeprefix(f"{files.root}/"), source, facts

    def _check_names(self) -> None:
        """Refuse a variable that nobody gives, whether or not a condition would ever ask for it."""
        known = {*self.contract.names, *self.engine.globals, "subject"}
        for facts in self.facts.values():
            for name in sorted(facts.asks - known - facts.defines):
                raise self.contract.unknown(name)

    def _refused(self, error: Exception) -> InvalidTemplate:
        """What went wrong, in words that hold nothing of what the email was to say."""
        variable = None
        if isinstance(error, UnknownName):
            variable, problem = error.name, str(error)
        elif isinstance(error, TemplateNotFound):
            problem = f"there is no file {error.name} in the portal's folder"
        elif isinstance(error, TemplateSyntaxError):
            problem = f"line {error.lineno} of {error.name}: {error.message}"
        elif isinstance(error, TemplateError | Exceeded):
            problem = str(error)
        else:
            problem = f"{type(error).__name__} while it was rendered"
        return InvalidTemplate(
            self.contract.template, problem, f"correct the files of {self._folder} ({self.language})", variable=variable
        )


def put_together(template: Compiled, values: Mapping[str, Any]) -> str:
    """What it puts out, stopped where it grows too large."""
    parts, size = [], 0
    for part in template.root_render_func(template.new_context(dict(values), shared=False)):
        size += len(part)
        if size > CHARACTERS:
            raise Exceeded(f"it has more than {CHARACTERS:,} characters")
        parts.append(part)
    return "".join(parts)


def _digest(sources: dict[str, str], brand: str) -> str:
    found = sha256(brand.encode())
    for name, source in sorted(sources.items()):
        found.update(f"\0{name}\0{source}".encode())
    return found.hexdigest()[:12]


def _without_values(link: str, values: Mapping[str, Any]) -> str:
    """A link as far as the template has it: what was put into it may be a secret."""
    for value in values.values():
        if isinstance(value, str) and value and value in link:
            return f"{link.partition(value)[0]}…"
    return link.partition("?")[0]
