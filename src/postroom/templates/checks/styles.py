"""The styles of an element: those written into it, and those that a dark screen puts in their place.

Of what stays in `<style>`, the rules of `@media (prefers-color-scheme: dark)` are understood as far as their selectors
are plain: elements, classes and ids, and such within others (`.card a`). Others are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from postroom.templates.checks.page import Element

_DARK = re.compile(r"@media[^{@]*prefers-color-scheme\s*:\s*dark[^{@]*\{", re.IGNORECASE)
_COMPOUND = re.compile(r"(\*|[a-z][a-z0-9]*)?((?:[.#][\w-]+)*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Declaration:
    value: str
    important: bool


@dataclass(frozen=True, slots=True)
class _Step:
    """One element as a selector names it."""

    tag: str
    classes: frozenset[str]
    id: str

    def fits(self, element: Element) -> bool:
        return (
            self.tag in ("", "*", element.tag)
            and self.classes <= element.classes
            and self.id in ("", element.attributes.get("id", ""))
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """What a selector gives to those that it fits."""

    steps: tuple[_Step, ...]
    """The outermost first."""
    declarations: Mapping[str, Declaration]

    @property
    def weight(self) -> tuple[int, int, int]:
        """By which the more particular of two rules wins."""
        return (
            sum(bool(step.id) for step in self.steps),
            sum(len(step.classes) for step in self.steps),
            sum(step.tag not in ("", "*") for step in self.steps),
        )

    def fits(self, element: Element) -> bool:
        *outer, last = self.steps
        if not last.fits(element):
            return False
        around = element.ancestry()
        next(around)
        return all(any(step.fits(each) for each in around) for step in reversed(outer))


@lru_cache(maxsize=1024)
def declarations(style: str) -> Mapping[str, Declaration]:
    """What a `style` says, by property; of two for the same one, the later, unless the earlier is important."""
    found: dict[str, Declaration] = {}
    for each in _statements(style):
        name, colon, value = each.partition(":")
        said, mark, rest = value.rpartition("!")
        important = bool(mark) and rest.strip().lower() == "important"
        name = name.strip().lower()
        if colon and (important or not (name in found and found[name].important)):
            found[name] = Declaration((said if important else value).strip(), important)
    return found


def _statements(style: str) -> Iterator[str]:
    """Cut at semicolons, save those in parentheses: `url(data:image/png;base64,…)`."""
    depth, begins = 0, 0
    for at, character in enumerate(style):
        if character in "()":
            depth += 1 if character == "(" else -1
        elif character == ";" and depth <= 0:
            yield style[begins:at]
            begins = at + 1
    yield style[begins:]


def dark_rules(styles: str) -> list[Rule]:
    """The rules for dark screens, in their order."""
    styles = _without_comments(styles)
    return [rule for found in _DARK.finditer(styles) for rule in _rules(_block(styles, found.end()))]


def _without_comments(styles: str) -> str:
    first, *rest = styles.split("/*")
    return first + "".join(each.partition("*/")[2] for each in rest)


def _block(styles: str, begins: int) -> str:
    """All up to the brace that closes it."""
    depth = 1
    for at in range(begins, len(styles)):
        depth += {"{": 1, "}": -1}.get(styles[at], 0)
        if depth == 0:
            return styles[begins:at]
    return styles[begins:]


def _rules(block: str) -> Iterator[Rule]:
    for each in block.split("}"):
        selectors, _, style = each.partition("{")
        said = declarations(style)
        for selector in selectors.split(","):
            if (steps := _steps(selector)) is not None:
                yield Rule(steps, said)


def _steps(selector: str) -> tuple[_Step, ...] | None:
    """A selector that is understood here."""
    steps = []
    for part in selector.split():
        found = _COMPOUND.fullmatch(part)
        if found is None or not part:
            return None
        named = re.findall(r"([.#])([\w-]+)", found[2])
        ids = [name for mark, name in named if mark == "#"]
        classes = frozenset(name for mark, name in named if mark == ".")
        steps.append(_Step((found[1] or "").lower(), classes, ids[0] if ids else ""))
    return tuple(steps) or None


def styled(element: Element, rules: list[Rule]) -> dict[str, str]:
    """What an element's properties are: its own, and those of rules that fit it where they outweigh its own."""
    own = declarations(element.attributes.get("style", ""))
    ranked = [(each.important, (9, 0, 0), name, each.value) for name, each in own.items()]
    for rule in rules:
        if rule.fits(element):
            ranked += [(each.important, rule.weight, name, each.value) for name, each in rule.declarations.items()]
    found: dict[str, str] = {}
    for _, _, name, value in sorted(ranked, key=lambda each: each[:2]):
        found.pop(name, None)  # the last one said wins, also between `background` and `background-color`
        found[name] = value
    return found
