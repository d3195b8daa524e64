"""What was given, if it is what was expected; else a refusal that names the field, says both, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from postroom.compose.address import check_name, parse_address
from postroom.compose.safety import check_value
from postroom.errors import InvalidCampaign, InvalidEmail


def listed(name: str, given: object, example: str) -> tuple[object, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        refuse(name, "several values", given, f"give {example}")
    return tuple(given)


def whole(name: str, given: object, *, least: int, most: int | None = None) -> int:
    bounds = f"from {least}" if most is None else f"from {least} to {most}"
    # `True` is an int to Python, and hardly what somebody meant.
    if type(given) is not int:
        refuse(name, f"a whole number {bounds}", given, _as_number(given))
    if given < least or (most is not None and given > most):
        refuse(name, f"a whole number {bounds}", given, "choose one within these bounds")
    return given


def _as_number(given: object) -> str:
    """What to do about it, by what was given: a file has it in quotes, a form has something else in its field."""
    if isinstance(given, float):
        return "leave the fraction out"
    if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,9}", given):
        return "write it as a number, without quotes"
    if isinstance(given, str):
        return "write it in digits alone, nine at most"
    return "give a number"


def text_of(name: str, given: object) -> str:
    if not isinstance(given, str):
        refuse(name, "a text", given, "write it in quotes")
    return given


def line_of(name: str, given: object, *, longest: int) -> str:
    """A text that fits into one line of a header."""
    text = text_of(name, given)
    if len(text) > longest:
        raise InvalidCampaign(name, f"has {len(text):,} characters", f"shorten it to {longest}")
    try:
        check_value(name, text)
    except InvalidEmail as error:
        raise InvalidCampaign(name, error.problem, error.remedy) from error
    return text


def name_of(name: str, given: object, *, longest: int) -> str:
    """What something is called, to be stored: a line that is shown in the order in which it was written.

    Only what is new is asked for that: what was stored is read as it is.
    """
    text = line_of(name, given, longest=longest)
    try:
        check_name(name, text)
    except InvalidEmail as error:
        raise InvalidCampaign(name, error.problem, error.remedy) from error
    return text


def mailbox(name: str, given: object) -> str:
    """One address, without a name before it, as it is kept: `ada@example.org`."""
    text = text_of(name, given)
    try:
        parsed = parse_address(name, text)
    except InvalidEmail as error:
        raise InvalidCampaign(name, error.problem, error.remedy) from error
    if parsed.name:
        raise InvalidCampaign(name, "has a name before the address", "give the address alone: ada@example.org")
    if "." not in parsed.domain:
        raise InvalidCampaign(name, f"{parsed.domain!r} is no whole domain", "write it out: example.org")
    return parsed.address


def refuse(name: str, expected: str, given: object, remedy: str) -> NoReturn:
    raise InvalidCampaign(name, f"expected {expected}, got {shown(given)}", remedy)


def shown(given: object) -> str:
    return repr(given)[:60]
