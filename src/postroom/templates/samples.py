"""`sample.toml`: what a template is told while nobody is mailed yet, each sample under a name."""

from __future__ import annotations

import tomllib
from typing import Any

from postroom.errors import InvalidTemplate
from postroom.templates.contract import Contract
from postroom.templates.files import SAMPLE, Files

ONLY = "sample"
"""What the sample is called of a file that gives its values without a name."""


def samples_of(contract: Contract, folder: str, files: Files, chain: tuple[str, ...]) -> dict[str, Any]:
    """The samples of a template for a language, by name, each fit to be rendered."""
    return {name: contract.read(values) for name, values in tables_of(contract, folder, files, chain).items()}


def tables_of(contract: Contract, folder: str, files: Files, chain: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The same as they are written: `sample.de.toml` overrides what `sample.toml` says."""
    found: dict[str, dict[str, Any]] = {}
    for language in reversed(chain):
        name = f"{folder}/{files.spelled(SAMPLE, language)}"
        if files.content(name) is not None:
            for sample, values in _named(_read(contract, name, files), contract).items():
                found[sample] = {**found.get(sample, {}), **values}
    return found


def _read(contract: Contract, name: str, files: Files) -> dict[str, Any]:
    try:
        return tomllib.loads(files.text(name))
    except tomllib.TOMLDecodeError as error:
        raise InvalidTemplate(contract.template, f"{name} is no TOML: {error}", "correct it") from error


def _named(given: dict[str, Any], contract: Contract) -> dict[str, dict[str, Any]]:
    """A table for each sample; a file that names variables and no samples is one by itself."""
    if not all(isinstance(each, dict) for each in given.values()) or {*given} <= {*contract.names}:
        return {ONLY: given}
    return given
