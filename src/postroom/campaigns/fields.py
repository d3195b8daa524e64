"""Names and values of what templates may say of a prospect beside name and address."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from postroom.campaigns.checks import refuse, text_of
from postroom.errors import InvalidCampaign

LONGEST_FIELD_NAME = 60
LONGEST_VALUE = 2_000
MOST_FIELDS = 100

OWN = frozenset(("id", "address", "name", "timezone", "language"))
"""What every prospect has; no field is called that."""

_TAKEN = frozenset((
    "and", "as", "block", "call", "caller", "cycler", "do", "elif", "else", "endif", "extends", "false", "filter",
    "for", "from", "if", "import", "in", "include", "is", "kwargs", "loop", "macro", "none", "not", "or", "range",
    "raw", "recursive", "self", "set", "subject", "super", "true", "unsubscribe", "unsubscribe_url", "varargs", "with",
    "without",
))  # fmt: skip
"""Words that mean something else in a template, or are to mean it."""

_BETWEEN = re.compile(r"[\s.\-/]+")
_UNWANTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def spelled(heading: str) -> str:
    """A heading as a name: `First Name` is `first_name`."""
    return _BETWEEN.sub("_", unicodedata.normalize("NFKC", heading).strip().lower())


def check_field_name(name: object) -> str:
    """Give the name back if `{{ name }}` can be written in a template."""
    known = text_of("field", name)
    if known in OWN:
        raise InvalidCampaign(known, "is what every prospect has, and no field", "give the field another name")
    if not known.isidentifier() or known.startswith("_") or known != spelled(known):
        remedy = "use letters, digits and underscores, and begin with a letter"
        raise InvalidCampaign(known[:LONGEST_FIELD_NAME] or "field", "cannot be written in a template", remedy)
    if known in _TAKEN:
        raise InvalidCampaign(known, "means something else in a template", f"call it {known}_field, for instance")
    if len(known) > LONGEST_FIELD_NAME:
        raise InvalidCampaign(known[:LONGEST_FIELD_NAME], f"has {len(known)} characters", "shorten the name")
    return known


def check_value_of(name: str, value: object) -> str:
    """Give the value back if it can be kept."""
    text = text_of(name, value)
    if len(text) > LONGEST_VALUE:
        raise InvalidCampaign(name, f"has {len(text):,} characters", f"shorten it to {LONGEST_VALUE:,}")
    return check_printable(name, text)


def check_printable(name: str, text: str) -> str:
    """Give the text back if it has lines and tabs, and otherwise what can be printed."""
    if _UNWANTED.search(text):
        raise InvalidCampaign(name, "contains characters that cannot be printed", "remove them")
    return text


def check_fields(fields: object) -> dict[str, str]:
    """Names and values; those that are empty are left out, for templates must not pass over a hole."""
    if not isinstance(fields, Mapping):
        refuse("fields", "names and texts", fields, 'write {"company": "Acme"}')
    if len(fields) > MOST_FIELDS:
        raise InvalidCampaign("fields", f"there are {len(fields)}", f"{MOST_FIELDS} are the most")
    return {check_field_name(name): check_value_of(str(name), value) for name, value in fields.items() if value != ""}
