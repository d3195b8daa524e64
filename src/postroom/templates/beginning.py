"""The beginning of a template: files that pass every check, to be made one's own.

A portal that has no layout yet is given that of the folder `begun`: a card of 600 px on tables, for Outlook, with rules
for dark and for narrow screens, a hidden preheader, and a footer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path

from postroom.errors import ConfigurationError
from postroom.spelling import suggestion
from postroom.templates.contract import TAKEN
from postroom.templates.portal import checked_name, template_name

LAYOUT_HTML, LAYOUT_TEXT = "layout.html", "layout.txt"
_BLOCK = re.compile(r"\{%[-+]?\s*block\s+(\w+)")
_USUAL_BLOCKS = ("body", "content", "main")
_OTHER_BLOCKS = frozenset(("title", "head", "styles", "subject", "preheader", "footer"))
_LINK = re.compile(r"(?:.*_)?(?:link|url)")

_SAMPLES = {
    "str": '"{}"',
    "int": "3",
    "float": "2.5",
    "bool": "true",
    "date": "2026-05-17",
    "datetime": "2026-05-17T09:30:00Z",
    "Decimal": '"19.90"',
}
"""The types that a variable may have to begin with, and a value of each, as TOML."""
_HEADING = "<h1>LABEL</h1>"
_PLAIN_HEADING = '<h1 style="color: inherit">LABEL</h1>'
_PLAIN_LINK = '<p><a href="{{ NAME }}" style="color: inherit">LABEL</a></p>'
"""For a layout that is not ours: they can be read wherever the words around them can, also on a dark screen."""
_BY_LOCALE = {"int": "number", "float": "number", "Decimal": "number", "date": "date", "datetime": "datetime"}
_IMPORTS = {"date": "datetime", "datetime": "datetime", "Decimal": "decimal"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable of a template that is about to begin."""

    name: str
    type: str = "str"

    @classmethod
    def of(cls, text: str) -> Variable:
        """From `name:str`; without a type it is a text."""
        name, _, kind = text.partition(":")
        name, kind = name.strip(), kind.strip() or "str"
        if not name.isidentifier() or not name.isascii() or iskeyword(name) or name.startswith("_"):
            raise ConfigurationError(f"{name!r} cannot be the name of a variable; write it like name:str")
        if name in TAKEN:
            raise ConfigurationError(f"a variable cannot be called {name}; templates know that name already")
        if kind not in _SAMPLES:
            raise ConfigurationError(f"variable {name}: there is no type {kind!r} here; {suggestion(kind, _SAMPLES)}")
        return cls(name=name, type=kind)

    @property
    def is_link(self) -> bool:
        return self.type == "str" and bool(_LINK.fullmatch(self.name))

    @property
    def sample(self) -> str:
        if self.is_link:
            return '"https://www.example.org/begin"'
        return _SAMPLES[self.type].format("Ada" if self.name == "name" else self.name.replace("_", " "))


USUAL = (Variable(name="name"), Variable(name="link"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """A template that is about to begin."""

    portal: str
    name: str
    variables: Sequence[Variable] = USUAL
    dark_button: bool = False
    """Whether what stands on the brand's colour is black, for the colour is a light one."""
    by_locale: bool = False
    """Whether numbers and dates are written as each language does, which needs Babel."""

    def __post_init__(self) -> None:
        checked_name("a portal", self.portal)
        checked_name(f"a template of {self.portal}", self.name)
        names = [each.name for each in self.variables]
        for name in names:
            if names.count(name) > 1:
                raise ConfigurationError(f"variable {name} is given twice; name each once")

    def write(self, root: Path) -> list[Path]:
        """Write its files into a portal's folder, and the layout where there is none; what was written.

        Nothing is overwritten: where one of its files is there already, none is written.
        """
        files = {f"{self.name}/{file}": text for file, text in self._own(root)}
        for name in files:
            if (root / name).exists():
                raise ConfigurationError(f"{root / name} is there already, and stays as it is; choose another name")
        return [*_written(root, self._layout(root)), *_written(root, files.items())]

    def code(self) -> str:
        """The class that names its variables, to be pasted."""
        by_module: dict[str, set[str]] = {"dataclasses": {"dataclass"}}
        for each in self.variables:
            if module := _IMPORTS.get(each.type):
                by_module.setdefault(module, set()).add(each.type)
        imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(by_module.items())]
        name = "".join(part.capitalize() for part in self.name.split("_"))
        decorator = f"@{self.portal}.template"
        if template_name(name) != self.name:
            decorator += f'(name="{self.name}")'
        fields = [f"    {each.name}: {each.type}" for each in self.variables] or ["    pass"]
        return "\n".join([*imports, "", "", decorator, "@dataclass(frozen=True)", f"class {name}:", *fields])

    def _shown(self, variable: Variable) -> str:
        filter = _BY_LOCALE.get(variable.type) if self.by_locale else None
        return f"{{{{ {variable.name}|{filter} }}}}" if filter else f"{{{{ {variable.name} }}}}"

    def _layout(self, root: Path) -> Iterator[tuple[str, str]]:
        if not (root / LAYOUT_HTML).exists():
            yield LAYOUT_HTML, _begun(LAYOUT_HTML).replace("BUTTON_TEXT", "#000000" if self.dark_button else "#ffffff")
            if not (root / LAYOUT_TEXT).exists():
                yield LAYOUT_TEXT, _begun(LAYOUT_TEXT)

    def _own(self, root: Path) -> Iterator[tuple[str, str]]:
        title = self.name.replace("_", " ").capitalize()
        greeted = any(each.name == "name" and each.type == "str" for each in self.variables)
        greeting = "Hello {{ name }}," if greeted else "Hello,"
        others = [each for each in self.variables if not (greeted and each.name == "name")]
        yield "subject.txt", f"{title} – {{{{ brand.name }}}}\n"
        layout, text_layout = _layouts(root)
        is_ours = "button-link" in layout
        heading, link = (_HEADING, _begun("button.html").rstrip("\n")) if is_ours else (_PLAIN_HEADING, _PLAIN_LINK)
        html = [heading.replace("LABEL", title), f"<p>{greeting}</p>"]
        html += [_in_html(each, self._shown(each), link) for each in others]
        yield "body.html", _within_block(LAYOUT_HTML, layout, "\n".join(html))
        text = [greeting, *(_in_text(each, self._shown(each)) for each in others)]
        yield "body.txt", _within_block(LAYOUT_TEXT, text_layout, "\n\n".join(text))
        yield "sample.toml", "\n".join(["[ada]", *(f"{each.name} = {each.sample}" for each in self.variables), ""])


def _begun(name: str) -> str:
    return (Path(__file__).with_name("begun") / name).read_text(encoding="utf-8")


def _layouts(root: Path) -> tuple[str, str]:
    """The layouts of HTML and text: those that are there, else ours; where only the text has none, it stays so."""
    html, text = root / LAYOUT_HTML, root / LAYOUT_TEXT
    ours = "" if html.exists() else _begun(LAYOUT_TEXT)
    return (
        html.read_text(encoding="utf-8") if html.exists() else _begun(LAYOUT_HTML),
        text.read_text(encoding="utf-8") if text.exists() else ours,
    )


def _within_block(layout: str, source: str, words: str) -> str:
    """Words put where a layout wants them: into its block that is called `body`, or the first that may be for words."""
    blocks = [each for each in _BLOCK.findall(source) if each not in _OTHER_BLOCKS]
    block = next((each for each in _USUAL_BLOCKS if each in blocks), blocks[0] if blocks else None)
    if block is None:
        return f"{words}\n"
    return f'{{% extends "{layout}" %}}\n{{% block {block} %}}\n{words}\n{{% endblock %}}\n'


def _in_html(variable: Variable, shown: str, link: str) -> str:
    name, label = variable.name, variable.name.replace("_", " ").capitalize()
    if variable.is_link:
        return link.replace("NAME", name).replace("LABEL", "Open it" if name in ("link", "url") else label)
    if variable.type == "bool":
        return f"{{% if {name} %}}\n<p>{label}: yes</p>\n{{% endif %}}"
    return f"<p>{label}: {shown}</p>"


def _in_text(variable: Variable, shown: str) -> str:
    name, label = variable.name, variable.name.replace("_", " ").capitalize()
    if variable.is_link:
        return f"{'Open it' if name in ('link', 'url') else label}:\n{{{{ {name} }}}}"
    if variable.type == "bool":
        return f"{{% if {name} %}}\n{label}: yes\n{{% endif %}}"
    return f"{label}: {shown}"


def _written(root: Path, files: Iterable[tuple[str, str]]) -> Iterator[Path]:
    for name, text in files:
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        yield place
