"""Names of a package that are imported from where they live when they are first asked for (PEP 562).

A package whose names belong to expensive modules lists them twice: as imports for type checkers, and as homes for the
one who runs it. `tests/test_imports.py` holds both lists together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The package's `__getattr__` and `__dir__`, for names with the modules they live in."""

    def getattribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return getattribute, lambda: sorted({*vars(sys.modules[package]), *homes})
