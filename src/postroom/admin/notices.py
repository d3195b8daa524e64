"""What was just done, told on the page that follows. The words are ours; the address carries a name and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from postroom.operate.wording import count_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A line at the top of a page."""

    text: str
    tone: str = "done"
    """`done`, `caution` or `problem`."""
    undo: str = ""
    """What takes it back, where something does."""


_WORDS: Mapping[str, Callable[[int], str]] = {
    "retry": lambda count: f"{count_of(count, 'email')} will be tried again now.",
    "dismiss": lambda count: f"{count_of(count, 'email')} dismissed.",
    "reinstate": lambda count: f"{count_of(count, 'email')} reinstated.",
    "cancel": lambda count: f"{count_of(count, 'email')} cancelled.",
    "replay": lambda count: "The email is on its way again, with your corrections.",
    "pause": lambda count: "The route is paused. Its emails wait until somebody resumes it.",
    "resume": lambda count: "The route is resumed.",
    "suppress": lambda count: "Added.",
    "unsuppress": lambda count: "Removed. What else is known of the address still holds.",
    "campaign_new": lambda count: "The draft is there. Nothing is sent from it until somebody launches it.",
    "campaign_launch": lambda count: (
        f"Launched: {count_of(count, 'mail')} planned. They leave within the windows."
        if count
        else "Launched, but nothing was planned."
    ),
    "campaign_pause": lambda count: "The campaign is paused.",
    "campaign_resume": lambda count: "The campaign runs again.",
    "campaign_cancel": lambda count: f"The campaign is cancelled: {count_of(count, 'mail')} will not leave.",
    "prospect_pause": lambda count: "Paused. This person gets nothing of the campaign until somebody resumes it.",
    "prospect_resume": lambda count: "Resumed. The campaign goes on for this person.",
    "prospect_stop": lambda count: "Stopped. This person gets nothing more of this campaign.",
    "sequence_saved": lambda count: "Saved as a new version. Who is under way keeps the version they began with.",
    "sequence_same": lambda count: "Saved. No step has changed, so there is no new version.",
    "sending_nothing": lambda count: "Saved; but nothing will ever leave like this, as is said beneath.",
    "sending_saved": lambda count: "Saved. Mail leaves by these settings from now on.",
    "sender_saved": lambda count: "The sender is saved.",
    "sender_pause": lambda count: "The sender is paused. Their mail is kept, and nobody else's waits for it.",
    "sender_resume": lambda count: "The sender is resumed. What was kept leaves within windows, quota and gap.",
    "authenticator_off": lambda count: "The authenticator is off. A code by email lets you in.",
}
_TOLD = frozenset(("notice", "count", "left", "undo", "added"))
"""What an address says of what was done."""
_CAUTIONS = frozenset(("sending_nothing",))
"""What was done, and is hardly what was wanted."""
_TIE = re.compile("[0-9a-f-]{36}")
SIGNED_OUT = "signed_out"
_PROBLEMS: Mapping[str, str] = {
    SIGNED_OUT: "What you pressed was not done: you were not signed in any more. Press it once more.",
    "nothing": "Nothing was selected, so nothing was done.",
    "gone": "Nothing was reinstated: what was dismissed too long ago, or is sensitive, is gone for good.",
    "no_route": "No route has that name.",
    "no_suppression": "That entry is not here any more: somebody has removed it.",
    "unknown": "That email is not here: it was dismissed, pruned, or never committed.",
    "campaign_changed": "Nothing was done: it stands otherwise by now, and no longer allows it.",
    "authenticator_there": "You have an authenticator already. Turn it off first, to add another one.",
    "authenticator_missing": "Recovery codes come with an authenticator. Add one first.",
    "offer_over": "That took too long, and nothing was changed. Begin again.",
    "changed": "Nothing was done: the email's status has changed meanwhile and no longer allows it.",
}


def with_notice(path: str, name: str, *, count: int = 1, left: int = 0, undo: str = "") -> str:
    """The address of a page that will tell it."""
    told: dict[str, int | str] = {"notice": name, "count": count}
    told |= {"left": left} if left else {}
    told |= {"undo": undo} if undo else {}
    return path + ("&" if "?" in path else "?") + urlencode(told)


def without_notice(path: str, given: Mapping[str, str]) -> str:
    """The address of a page as it was before something was told on it."""
    query = urlencode({name: value for name, value in given.items() if name not in _TOLD})
    return f"{path}?{query}" if query else path


def read_notice(given: Mapping[str, str]) -> Notice | None:
    """What the address asks to be told, if it is one of ours."""
    name = given.get("notice", "")
    if name in _PROBLEMS:
        return Notice(text=_PROBLEMS[name], tone="problem")
    if name not in _WORDS:
        return None
    count, left = _number(given.get("count", "1")), _number(given.get("left", "0"))
    text = _WORDS[name](count)
    if left and name == "campaign_launch":
        text += f" {count_of(left, 'prospect')} passed over: who is not to be mailed, or has mail of it already."
    elif left:
        text += f" {count_of(left, 'email')} left as before: their status does not allow it."
    undo = given.get("undo", "") if name == "dismiss" and count else ""
    tone = "done" if count or name.startswith("campaign_") else "problem"
    return Notice(
        text=text,
        tone="caution" if name in _CAUTIONS or (name == "campaign_launch" and not count) else tone,
        undo=undo if _TIE.fullmatch(undo) else "",
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0
