"""What somebody meant who mistyped a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

ALIKE = 0.8
"""From here on two names are so alike that one is taken for a mistyped other."""
ANY_LIKENESS = 0.6
"""From here on a name is worth suggesting where one is known to be wrong."""


def nearest(name: str, known: Iterable[str], *, alike: float = ANY_LIKENESS) -> str | None:
    """The known name that this one looks most like; None where it looks like none of them.

    The same letters in another order are alike however short the name: `smpt`.
    """
    from difflib import get_close_matches  # imported when needed: hardly any program mistypes

    known = list(known)
    if found := get_close_matches(name, known, n=1, cutoff=alike):
        return found[0]
    return next((each for each in known if sorted(each) == sorted(name)), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Both what was probably meant and what there is."""
    known = list(known)
    meant, listed = nearest(name, known), ", ".join(known)
    return f"did you mean {meant}? The known ones are {listed}" if meant else f"the known ones are {listed}"


def mistyped(variables: Mapping[str, str], prefix: str, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Variables under our prefix that are nearly one of ours, each with that one.

    Only nearly: a prefix belongs to nobody, and what surrounds us uses it too (Kubernetes makes `POSTROOM_PORT` for a
    service called postroom).
    """
    known = {name.upper() for name in known}
    for variable in variables:
        name = variable.upper().removeprefix(prefix).partition("__")[0]
        if not variable.upper().startswith(prefix) or name in known:
            continue
        if meant := nearest(name, sorted(known), alike=ALIKE):
            yield variable, variable[: len(prefix)] + meant + variable[len(prefix) + len(name) :]
