"""What one file of a template says of itself: read once for all templates that are made of it, as layouts are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jinja2 import nodes
from jinja2.meta import find_referenced_templates, find_undeclared_variables

from postroom.templates.engine import Engine
from postroom.templates.skeleton import MARK


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a file asks for, and what it does."""

    asks: frozenset[str]
    """Names that it uses and does not set beforehand."""
    defines: frozenset[str]
    """What it defines outside of its blocks, where the blocks see it."""
    leads_to: tuple[str | None, ...]
    """The files that it names; None for one whose name is worked out."""
    keeps_marks: bool
    """Whether values go straight into the text: nothing is done with a text in which they stand already."""

    @classmethod
    def of(cls, tree: nodes.Template) -> Facts:
        return cls(
            asks=frozenset(find_undeclared_variables(tree)),
            defines=frozenset(_defined(tree)),
            leads_to=tuple(find_referenced_templates(tree)),
            keeps_marks=_keeps_marks(tree),
        )


def facts_of(engine: Engine, source: str, name: str) -> Facts:
    """What is to be known of a file; `TemplateError` where it cannot be read."""
    found = engine.facts.get((name, source))
    if found is None:
        found = engine.facts[name, source] = Facts.of(engine.parse(source, name))
    return found


def _keeps_marks(tree: nodes.Template) -> bool:
    if any(tree.find_all((nodes.FilterBlock, nodes.AssignBlock, nodes.CallBlock))):
        return False
    put_out = {id(each) for output in tree.find_all(nodes.Output) for each in output.nodes}
    if any(id(call) not in put_out for call in tree.find_all(nodes.Call) if not _is_range(call)):
        return False
    return not any(MARK.search(each.data) for each in tree.find_all(nodes.TemplateData))


def _defined(tree: nodes.Template) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, nodes.FromImport):
            yield from (name if isinstance(name, str) else name[1] for name in node.names)
        elif isinstance(node, nodes.Import):
            yield node.target
        elif isinstance(node, nodes.Macro):
            yield node.name
        elif isinstance(node, nodes.Assign):
            yield from (each.name for each in node.target.find_all(nodes.Name))
            if isinstance(node.target, nodes.Name):
                yield node.target.name


def _is_range(call: nodes.Call) -> bool:
    return isinstance(call.node, nodes.Name) and call.node.name == "range"
