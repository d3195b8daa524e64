"""What is on record of an act: what was asked, by whom and why, and what came of it.

An act of one transaction has one line, written in that transaction: there is no act without its line, and no line
without its act. An act of many transactions has a line when it begins and one when it is over, which share an `act`;
where only the first is there, the act was cut short, and the histories of the emails tell how far it came. An act that
was refused has a line that says so. Nothing rewrites a line.

What an email says is not written down, only how long it was and is; of a sensitive one nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

from postroom.accounts.audit import write_audit
from postroom.compose import Letter
from postroom.errors import InvalidCampaign, InvalidEmail, PostroomError, StoreUnavailable
from postroom.operate.values import ActResult, Search
from postroom.operate.wording import count_of
from postroom.store.contents import read_letter
from postroom.store.contract import StoredEmail
from postroom.store.ids import new_id
from postroom.store.plan import Course, Plan

T = TypeVar("T")

LISTED = 100
"""Ids in one line; how many there were is told beside them."""
LONGEST = 300
"""Characters of a text in a line."""
BODIES = ("text", "html")
ADDRESSES = ("to", "cc", "bcc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts, and from where."""

    name: str
    address: str = ""
    """Empty on the host itself."""
    token: str | None = None
    """The API token that was shown."""


By = Actor | str
"""Who acts; a name alone stands for somebody on the host."""


def name_of(by: By) -> str:
    return by if isinstance(by, str) else by.name


def line(by: By, what: str, **detail: Any) -> Plan[None]:
    """One line; what is not known is left out."""
    who = Actor(name=by) if isinstance(by, str) else by
    known = {name: value for name, value in {**detail, "token": who.token}.items() if value not in (None, "", {}, [])}
    yield from write_audit(who.name, what, address=who.address, **known)


def refused_on_record(act: Course[T], by: By, what: str, /, **asked: Any) -> Course[T]:
    """An act that writes its own lines, each in the transaction it tells of; a refusal of it gets one, too."""
    try:
        result = yield from act
    except StoreUnavailable:
        raise
    except PostroomError as error:
        yield line(by, what, **asked, refused=in_short(error))
        raise
    return result


def alone(act: Plan[T]) -> Course[T]:
    """An act of one transaction."""
    result: T = yield act
    return result


def act_on_record(act: Course[ActResult], by: By, what: str, *, tie: str, **asked: Any) -> Course[ActResult]:
    """An act of many transactions, between its two lines."""
    yield line(by, what, act=tie, state="begun", **asked)
    try:
        result = yield from act
    except StoreUnavailable:
        raise
    except PostroomError as error:
        yield line(by, what, act=tie, state="stopped", **asked, refused=in_short(error))
        raise
    yield line(by, what, act=tie, state="done", **asked, done=result.done, left=result.skipped or None)
    return result


def new_tie() -> str:
    """What the lines of one act share."""
    return str(new_id())


def chosen_in_words(chosen: Sequence[str] | Search) -> dict[str, Any]:
    """Which emails an act is about: `ids` and how many, or the `filter`."""
    if isinstance(chosen, Search):
        given = {each.name: _plain(getattr(chosen, each.name)) for each in fields(chosen)}
        return {"filter": {name: value for name, value in given.items() if value not in (None, "")} or "everything"}
    return {"ids": list(chosen)[:LISTED], "emails": len(chosen)}


def given_in_words(corrections: Mapping[str, Any] | None) -> dict[str, Any]:
    """What many emails are to be corrected to; never what they say."""
    given = {name: value for name, value in (corrections or {}).items() if value is not None}
    return {"corrections": {name: {"after": _told(name, value)} for name, value in given.items()}} if given else {}


def correction_in_words(email: StoredEmail, corrections: Mapping[str, Any] | None) -> Plan[dict[str, Any]]:
    """What was, and what is to be, of each corrected field of one email."""
    given = {name: value for name, value in (corrections or {}).items() if value is not None}
    if not given or email.sensitive:  # a sensitive one is not corrected, by anybody
        return {}
    before = _fields(email, (yield from read_letter(email.id, email.version)))
    return {
        "corrections": {
            name: {
                part: _told(name, side)
                for part, side in (("before", before.get(name)), ("after", value))
                if side is not None
            }
            for name, value in given.items()
        }
    }


def in_short(error: PostroomError) -> str:
    """Why it was not done, without what somebody wrote into an email or a campaign."""
    if isinstance(error, InvalidEmail | InvalidCampaign):
        return f"{error.field} is not valid"
    return str(error)[:LONGEST]


def _fields(email: StoredEmail, letter: Letter) -> dict[str, Any]:
    """What a letter of any channel has of what can be corrected."""
    found = {name: getattr(letter, name, None) for name in (*ADDRESSES, "subject", *BODIES)}
    return found | ({} if found["to"] else {"to": [each.address for each in email.recipients]})


def _told(name: str, value: Any) -> Any:
    if name in BODIES:
        return count_of(len(str(value)), "character")
    if isinstance(value, str):
        return value[:LONGEST]
    return [str(each)[:LONGEST] for each in list(value)[:LISTED]]


def _plain(value: Any) -> Any:
    match value:
        case Enum():
            return value.value
        case datetime():
            return value.isoformat()
        case frozenset():
            return sorted(value)
        case _:
            return value
