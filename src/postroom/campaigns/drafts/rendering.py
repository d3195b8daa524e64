"""The words of a sequence for one prospect, by the engine that renders every template.

Nothing of Python is in reach, a name that the prospect does not have is an error and no hole, HTML is escaped, and
time, size and loops are bounded. A step that names a template of a portal is rendered by that portal, in the prospect's
language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from postroom.campaigns.values import Prospect, Step
from postroom.compose.safety import check_value
from postroom.compose.unsubscribing import UNSUBSCRIBE_URL, filled
from postroom.errors import ConfigurationError, InvalidCampaign, InvalidEmail, InvalidTemplate
from postroom.extras import needed
from postroom.spelling import nearest, suggestion

if TYPE_CHECKING:
    from jinja2 import Template

    from postroom.templates.budget import OutOfTime
    from postroom.templates.portal import Portal

PARTS = {"subject": "subject.txt", "text": "text.txt", "html": "body.html"}
"""What a step's words are called, and the files they are taken for: by its ending the engine knows what to escape."""

BESIDE = {"unsubscribe_url": UNSUBSCRIBE_URL}
"""What words may say beside what is known of the prospect. Their own link takes its place when the mail is made."""


class TooSlow(InvalidCampaign):
    """Writing it took longer than it may; another time, on a machine that is less busy, it may not."""

    @classmethod
    def because(cls, name: str, error: OutOfTime) -> TooSlow:
        """Whether the words or the machine are to blame is known, and so is what to do."""
        from postroom.templates.budget import Stalled

        remedy = "give it less to do, and try again" if isinstance(error, Stalled) else "make its loops shorter"
        return cls(name, str(error), remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What one step says to one prospect."""

    subject: str | None
    """None goes on in the thread of the step before."""
    text: str
    html: str | None

    def linked(self, link: str) -> Words:
        """The same with a link where they ask for the reader's own."""
        return replace(self, text=filled(self.text, link) or "", html=filled(self.html, link))


class Wording:
    """The steps of a sequence, compiled once for all prospects."""

    def __init__(self, steps: tuple[Step, ...], portals: Mapping[str, Portal]) -> None:
        self._steps = {step.number: step for step in steps}
        self._portals = portals
        self._engine = _engine(steps)
        self._compiled: dict[tuple[int, str], Template] = {}

    def check(self) -> Iterator[InvalidCampaign]:
        """What is wrong with the steps, whoever gets them."""
        for step in self._steps.values():
            for part in ("template", *PARTS):
                if getattr(step, part) is None:
                    continue
                try:
                    if part == "template":
                        self._portal_of(step)
                    else:
                        self._template(step.number, part)
                except InvalidCampaign as error:
                    yield error

    def render(self, number: int, prospect: Prospect) -> Words:
        """What a step says to somebody; `InvalidCampaign` names the part that cannot be said, and why."""
        step = self._steps[number]
        if step.template is not None:
            return self._by_portal(step, prospect)
        said = {part: self._part(step, part, prospect) for part in PARTS}
        if said["subject"] is not None:
            said["subject"] = _subject(f"steps[{number}].subject", said["subject"])
        text = said["text"]
        assert text is not None, "a step without a template has a text"
        return Words(subject=said["subject"], text=text, html=said["html"])

    def _part(self, step: Step, part: str, prospect: Prospect) -> str | None:
        if getattr(step, part) is None:
            return None
        name = f"steps[{step.number}].{part}"
        found = _rendered(name, self._template(step.number, part), known_of(prospect))
        if not found.strip():
            raise InvalidCampaign(name, "says nothing", "write something for those whom its conditions leave out")
        return found

    def _template(self, number: int, part: str) -> Template:
        from jinja2 import TemplateError, TemplateSyntaxError

        if (number, part) not in self._compiled:
            try:
                self._compiled[number, part] = self._engine.get_template(f"{number}/{PARTS[part]}")
            except (TemplateError, RecursionError) as error:
                where = f"line {error.lineno}: " if isinstance(error, TemplateSyntaxError) else ""
                told = f"{where}{getattr(error, 'message', None) or 'it is nested too deeply'}"
                raise InvalidCampaign(f"steps[{number}].{part}", told, "correct what is in braces") from error
        return self._compiled[number, part]

    def _portal_of(self, step: Step) -> tuple[Portal, str]:
        assert step.template is not None
        portal, _, template = step.template.partition(".")
        field = f"steps[{step.number}].template"
        if portal not in self._portals:
            remedy = suggestion(portal, self._portals) if self._portals else "name portals in the setting portals"
            raise InvalidCampaign(field, f"there is no portal {portal!r} here", remedy)
        names = self._portals[portal].names
        if template not in names:
            raise InvalidCampaign(field, f"{portal} has no template {template!r}", suggestion(template, names))
        return self._portals[portal], template

    def _by_portal(self, step: Step, prospect: Prospect) -> Words:
        portal, name = self._portal_of(step)
        try:
            contract = portal.contract(name)
            known = {key: value for key, value in prospect.variables().items() if key in contract.names}
            template = portal.in_language(name, prospect.language)
            rendered = template.render(contract.plain(contract.read(known)))
        except (InvalidTemplate, ConfigurationError) as error:
            raise _refused_by_portal(step, error) from error
        return Words(subject=rendered.subject, text=rendered.text, html=rendered.html)


def unreadable(steps: Iterable[Step]) -> list[InvalidCampaign]:
    """Templates that nobody could read, each by its part of a step. They may be long: not for an event loop.

    Whether a portal is there is left to the check of a campaign: who sends may know more of them than who writes.
    """
    return [error for error in Wording(tuple(steps), {}).check() if not error.field.endswith(".template")]


def insist_on_reading(steps: Iterable[Step]) -> None:
    """Refuse templates that nobody could read where they are written, and not only by the check before a launch."""
    for error in unreadable(steps):
        raise error


def known_of(prospect: Prospect) -> dict[str, str]:
    """What words may say to somebody. No field wins over `BESIDE`, whenever it was stored."""
    return prospect.variables() | BESIDE


def _refused_by_portal(step: Step, error: InvalidTemplate | ConfigurationError) -> InvalidCampaign:
    from postroom.templates.budget import OutOfTime

    field = f"steps[{step.number}].template"
    if isinstance(error.__cause__, OutOfTime):
        return TooSlow.because(field, error.__cause__)
    if isinstance(error, InvalidTemplate):
        told = f"{error.variable}: {error.problem}" if error.variable else error.problem
        return InvalidCampaign(field, told, error.remedy)
    return InvalidCampaign(field, str(error), "give the prospect a language that the portal speaks")


def _engine(steps: tuple[Step, ...]) -> Any:
    with needed("campaigns need", extra="templates"):
        from jinja2 import DictLoader

        from postroom.templates.engine import Engine
    sources = {
        f"{step.number}/{file}": getattr(step, part)
        for step in steps
        for part, file in PARTS.items()
        if getattr(step, part) is not None
    }
    return Engine(DictLoader(sources), known={}, filters={})


def _rendered(name: str, template: Template, variables: Mapping[str, str]) -> str:
    from jinja2 import TemplateError

    from postroom.templates.budget import Budget, Exceeded, OutOfTime, within
    from postroom.templates.engine import UnknownName
    from postroom.templates.template import put_together

    try:
        with within(Budget()):
            return put_together(template, variables)
    except UnknownName as error:
        raise InvalidCampaign(name, f"there is no {error.name!r}", _remedy(error.name, variables)) from error
    except OutOfTime as error:
        raise TooSlow.because(name, error) from error
    except (TemplateError, Exceeded, ArithmeticError, TypeError, ValueError, RecursionError) as error:
        told = str(error) if isinstance(error, TemplateError | Exceeded) else type(error).__name__
        raise InvalidCampaign(name, told, "correct what is in braces") from error


def _remedy(missing: str, variables: Mapping[str, str]) -> str:
    meant = nearest(missing, variables)
    instead = f"{{{{ {missing} | default('…') }}}}"
    return f"did you mean {meant}?" if meant else f"give every prospect one, or write {instead}"


def _subject(name: str, said: str) -> str:
    subject = said.strip()
    try:
        check_value(name, subject)
    except InvalidEmail as error:
        raise InvalidCampaign(name, error.problem, error.remedy) from error
    if UNSUBSCRIBE_URL in subject:
        raise InvalidCampaign(name, "has the link to unsubscribe", "put it into the text: nobody can follow a subject")
    return subject
