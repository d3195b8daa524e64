"""An attempt told as a conversation: what we said, what the server answered, how long it took. Pure.

Not every word is kept: of the steps that went well it is known that they did, and of the whole what ended it. MAIL,
RCPT and DATA travel together, so their time is that of one round trip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from postroom.operate.values import AttemptView, ResultView
from postroom.send.contract import Phase

_OURS = {
    Phase.CONNECT: "(we connect)",
    Phase.GREETING: "(we wait for the greeting)",
    Phase.TLS: "STARTTLS",
    Phase.HELLO: "EHLO …",
    Phase.AUTH: "AUTH …",
    Phase.MAIL: "MAIL FROM:<…>",
    Phase.RCPT: "RCPT TO:<…>",
    Phase.DATA: "DATA",
    Phase.BODY: "(the message)",
    Phase.DOT: ".",
    Phase.ANSWER: "(the end of the request)",
}
_OVER_HTTP = {Phase.TLS: "(TLS)", Phase.BODY: "(the request)"}
_ORDER = tuple(Phase)
_OPENING = _ORDER[: _ORDER.index(Phase.MAIL)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One step of a conversation."""

    ours: str
    theirs: tuple[str, ...]
    """What was answered, or happened instead; empty where it went well and the words were not kept."""
    milliseconds: float | None
    went_well: bool


def conversation(attempt: AttemptView) -> tuple[Line, ...]:
    """The steps that an attempt came by, in their order. Empty when nothing was said."""
    known = {*attempt.milliseconds, attempt.phase}
    if _is_request(known):
        return tuple(_line(phase, attempt, _OVER_HTTP) for phase in _ORDER if phase in known)
    return tuple(_line(phase, attempt) for phase in _phases(known))


def reply_in_words(said: AttemptView | ResultView) -> str:
    """`550 5.1.1 no such user`; what happened, where nothing was said."""
    words = " ".join(str(part) for part in (said.code, said.enhanced, said.text) if part)
    fault = getattr(said, "fault", None)
    return f"{fault}: {words}" if fault and words else words or fault or ""


def _is_request(known: set[str | None]) -> bool:
    """No mail server is spoken to without its greeting, and no answer is waited for but that to a request."""
    return Phase.ANSWER in known or (Phase.CONNECT in known and Phase.GREETING not in known)


def _phases(known: set[str | None]) -> Iterator[Phase]:
    places = [place for place, phase in enumerate(_ORDER) if phase in known]
    for phase in _ORDER[: max(places, default=-1) + 1]:
        # A connection that was open already was opened for another email.
        if phase in known or phase not in _OPENING:
            yield phase


def _line(phase: Phase, attempt: AttemptView, own: Mapping[Phase, str] = _OURS) -> Line:
    theirs, well = _answer(phase, attempt)
    return Line(
        ours=own.get(phase, _OURS[phase]), theirs=theirs, milliseconds=attempt.milliseconds.get(phase), went_well=well
    )


def _answer(phase: Phase, attempt: AttemptView) -> tuple[tuple[str, ...], bool]:
    own = _to_recipients(attempt)
    if phase is Phase.RCPT and own:
        return tuple(f"{each.address}: {reply_in_words(each)}" for each in own), False
    if phase == attempt.phase:
        return (reply_in_words(attempt),), attempt.code is not None and attempt.code < 400
    accepted = next((each for each in attempt.results if each.fate == "accepted" and each.code), None)
    if phase in (Phase.DOT, Phase.ANSWER) and accepted is not None:
        return (reply_in_words(accepted),), True
    return (), True


def _to_recipients(attempt: AttemptView) -> list[ResultView]:
    """Those whom RCPT did not accept and who were told so themselves, not by what ended the conversation."""
    if len({(each.fate, each.code, each.text) for each in attempt.results}) < 2:
        return []
    end = (attempt.code, attempt.text)
    return [
        each
        for each in attempt.results
        if each.code and each.fate != "accepted" and (attempt.phase == Phase.RCPT or (each.code, each.text) != end)
    ]
