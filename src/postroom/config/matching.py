"""What a pattern of the settings stands for: plain functions, which every email is asked about."""

from __future__ import annotations

from collections.abc import Sequence


def kind_matches(kinds: Sequence[str], kind: str) -> bool:
    """A kind is one of these; `invoice*` stands for all that begin so."""
    return any(kind == each or (each.endswith("*") and kind.startswith(each[:-1])) for each in kinds)


def domain_matches(domains: Sequence[str], domain: str) -> bool:
    """A domain, in lower case, is one of these; `*.example.org` stands for all beneath it, and not for itself."""
    return any(domain == each or (each.startswith("*.") and domain.endswith(each[1:])) for each in domains)
