"""Numbers, sizes and times as the pages say them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from postroom.operate.wording import count_of

_UNITS = (
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
    (timedelta(seconds=1), "second"),
)
_LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gsw": "Swiss German", "he": "Hebrew",
    "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "ms": "Malay", "mt": "Maltese",
    "nb": "Norwegian Bokmål", "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian",
    "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
_SIZES = ("bytes", "kB", "MB", "GB")


def relative(instant: datetime, now: datetime) -> str:
    """`5 minutes ago`, `in 2 hours`, in the largest unit that fits; `now` within a second."""
    amount = span(abs(instant - now))
    if not amount:
        return "now"
    return f"in {amount}" if instant > now else f"{amount} ago"


def span(length: timedelta) -> str:
    """A length of time in its largest unit; empty below one second."""
    rounded = timedelta(seconds=round(length.total_seconds()))
    for unit, word in _UNITS:
        if rounded >= unit:
            return count_of(rounded // unit, word)
    return ""


def exact(instant: datetime) -> str:
    """To the second, in UTC: what a pointer over a relative time shows."""
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(instant: datetime) -> str:
    """The time of day, in UTC."""
    return instant.astimezone(UTC).strftime("%H:%M")


def iso(instant: datetime) -> str:
    """For `<time datetime>`."""
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def counted(number: int) -> str:
    """With thousands set apart: 1,204."""
    return f"{number:,}"


def octets(size: int) -> str:
    """A size as people read it: `812 bytes`, `2.5 kB`."""
    amount, unit = float(size), _SIZES[0]
    for unit in _SIZES:
        if amount < 1000 or unit == _SIZES[-1]:
            break
        amount /= 1000
    return f"{amount:,.0f} {unit}" if amount >= 10 or unit == _SIZES[0] else f"{amount:.1f} {unit}"


def milliseconds(spent: float) -> str:
    """`0.4 ms`, `12 ms`, `3.2 s`."""
    if spent >= 1000:
        return f"{spent / 1000:.1f} s"
    return f"{spent:.0f} ms" if spent >= 10 else f"{spent:.1f} ms"


def status_label(status: str) -> str:
    """`in_doubt` as people say it."""
    return status.replace("_", " ")


def language_label(tag: str) -> str:
    """A language as people call it, and its tag: `German (de)`; the tag alone where we have no name for it."""
    name = _LANGUAGES.get(tag.partition("-")[0].lower())
    return f"{name} ({tag})" if name else tag


def policy_label(policy: str) -> str:
    """A policy by its name; one that the caller made up is kept with all its steps."""
    if not policy.startswith("{"):
        return policy
    try:
        made = json.loads(policy)
    except ValueError:
        return policy  # damaged: shown as it is
    return f"{made.get('name', 'of its own')}: {', '.join(made.get('steps', ()))}"
