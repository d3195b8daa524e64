"""What a single reply or fault means, by where it was said.

The first digit decides between later and never; the phase decides whom it concerns. In the order of the questions
asked:

| what was said | concerns | consequence |
|---|---|---|
| a text known from `providers.toml`, whatever its code | as the file says | transport rests, is paused; or one waits |
| 530, 534, 535, 538 at any phase | transport | paused: a login problem is never the email's fault |
| 421, 450, 451 with 4.7.x; 452; 454 | transport | rests; the email is tried again |
| … but 452 4.2.x at RCPT (mailbox full) | recipient | tried again |
| … but 452 else at RCPT after others were accepted (too many for one envelope) | recipient | next envelope |
| 552 at RCPT that speaks of too many recipients | | as 452 there |
| other 421 at any phase | transport | suspected; the email is tried again |
| 5xx before MAIL | transport | paused |
| 4xx before MAIL | transport | suspected |
| MAIL: 552, 5.3.4, 5.2.3 (size); 501, 555, 5.5.4 (parameters); 5.1.x (the sender address as such) | email | refused |
| MAIL: 503 that asks for no login, on a new session too (out of step) | transport | suspected; email tried again |
| MAIL: any other 5xx | sender | transport paused: this account or address may not send |
| MAIL: 4xx with 4.1.x (the sender's domain is unknown just now) | email | tried again |
| MAIL: any other 4xx | sender | transport suspected; the email is tried again |
| RCPT: 5xx / 4xx | recipient | refused / tried again |
| DATA, body, dot: 5xx / 4xx | email | refused / tried again |

Of mail that leaves from one of several senders `senders.py` says what a 5xx at MAIL means.

`blameless` is said of what no email can have caused: everything before MAIL, and quotas by their known texts. It never
costs an email its last attempt, whereas what came later might be this email's own doing and must end some day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta

from postroom.send.contract import Fault, FaultKind, Phase, Reply
from postroom.settle.smtp.providers import Effect, KnownReply, recognise
from postroom.settle.verdict import OK, About, Fate, Health, TransportVerdict
from postroom.settle.waits import named_wait
from postroom.settle.wording import describe

_ORDER = {phase: position for position, phase in enumerate(Phase)}
_LOGIN_CODES = frozenset({530, 534, 535, 538})
_REST_CODES = frozenset({452, 454})
_REST_CODES_WITH_POLICY = frozenset({421, 450, 451})
_EMAIL_AT_MAIL_CODES = frozenset({501, 552, 555})
_EMAIL_AT_MAIL_ENHANCED = ("5.1.", "5.2.3", "5.3.4", "5.5.4")
_TOO_MANY = re.compile(r"too many recipients|(?:recipients?|rcpt)s? (?:count |number )?limit", re.IGNORECASE)
_LOGIN_WANTED = re.compile(r"\bauth|log-?\s?[io]n|sign-?\s?in", re.IGNORECASE)
_BEFORE_UPLOAD = frozenset({FaultKind.TOO_LARGE, FaultKind.NEEDS_SMTPUTF8})
_OURS_TO_MEND = frozenset({FaultKind.TLS, FaultKind.CONFIGURATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The meaning of one reply or fault."""

    fate: Fate
    """For those it concerns: deferred or refused."""
    about: About
    transport: TransportVerdict | None = OK
    """None when it says nothing about the transport."""
    wait: timedelta | None = None
    """The least time until another attempt, where the reply names one or the provider is known for it."""
    blameless: bool = False
    """No email can have caused it."""
    crowded: bool = False
    """Too many recipients for one envelope, provided that others were accepted."""


def judge(reply: Reply) -> Judgement:
    """What a reply that is not an acceptance means."""
    known = recognise(reply)
    if known is not None:
        return _known(known, reply)
    if reply.code in _LOGIN_CODES:
        return _pause(reply)
    if reply.phase is Phase.RCPT and (reply.code == 452 or _says_too_many(reply)):
        return _crowded_or_full(reply)
    if _asks_for_rest(reply):
        return rest(reply)
    if reply.code == 421 or reply.code < 400:
        return _suspect(reply)
    if before(reply.phase, Phase.MAIL):
        return _pause(reply) if permanent(reply) else _suspect(reply)
    if reply.phase is Phase.MAIL:
        return _at_mail(reply)
    return Judgement(
        fate=Fate.REFUSED if permanent(reply) else Fate.DEFERRED,
        about=About.RECIPIENT if reply.phase is Phase.RCPT else About.EMAIL,
        wait=named_wait(reply.text),
    )


def judge_fault(fault: Fault) -> Judgement:
    """What it means that the conversation ended without a reply, before the dot had left."""
    if fault.kind in _BEFORE_UPLOAD:
        return Judgement(fate=Fate.REFUSED, about=About.EMAIL)
    if fault.kind is FaultKind.ABANDONED or before(Phase.MAIL, fault.phase):
        # Nothing is known of the transport: the lease was lost, or this email's own upload ended the connection.
        return Judgement(fate=Fate.DEFERRED, about=About.EMAIL, transport=None)
    if fault.kind in _OURS_TO_MEND:
        return _pause(fault)
    return _suspect(fault)


def permanent(reply: Reply) -> bool:
    return reply.code >= 500


def before(phase: Phase, other: Phase) -> bool:
    """Whether the one comes earlier in a conversation than the other."""
    return _ORDER[phase] < _ORDER[other]


def _known(known: KnownReply, reply: Reply) -> Judgement:
    wait = named_wait(reply.text) or known.wait
    if known.effect is Effect.WAIT:
        about = About.RECIPIENT if reply.phase is Phase.RCPT else About.EMAIL
        return Judgement(fate=Fate.DEFERRED, about=about, wait=wait)
    health = Health.PAUSE if known.effect is Effect.PAUSE else Health.THROTTLE
    reason = f"{known.meaning} {describe(reply)}"
    return Judgement(
        fate=Fate.DEFERRED,
        about=About.TRANSPORT,
        transport=TransportVerdict(health=health, reason=reason, wait=wait),
        wait=wait,
        blameless=True,
    )


def _crowded_or_full(reply: Reply) -> Judgement:
    full = (reply.enhanced or "").startswith("4.2.")
    return Judgement(fate=Fate.DEFERRED, about=About.RECIPIENT, wait=named_wait(reply.text), crowded=not full)


def _says_too_many(reply: Reply) -> bool:
    """552 is what RFC 821 had for too many recipients, and RFC 5321 (4.5.3.1.10) wants it read as 452."""
    return reply.code == 552 and (reply.enhanced == "5.5.3" or _TOO_MANY.search(reply.text) is not None)


def _asks_for_rest(reply: Reply) -> bool:
    policy = (reply.enhanced or "").startswith("4.7.")
    return reply.code in _REST_CODES or (reply.code in _REST_CODES_WITH_POLICY and policy)


def rest(reply: Reply) -> Judgement:
    """The transport wants to be left alone for a while."""
    wait = named_wait(reply.text)
    return Judgement(
        fate=Fate.DEFERRED,
        about=About.TRANSPORT,
        transport=TransportVerdict(health=Health.THROTTLE, reason=describe(reply), wait=wait),
        wait=wait,
        blameless=before(reply.phase, Phase.MAIL),
    )


def _suspect(cause: Reply | Fault) -> Judgement:
    return Judgement(
        fate=Fate.DEFERRED,
        about=About.SENDER if cause.phase is Phase.MAIL and isinstance(cause, Reply) else About.TRANSPORT,
        transport=TransportVerdict(health=Health.SUSPECT, reason=describe(cause)),
        wait=named_wait(cause.text) if isinstance(cause, Reply) else None,
    )


def _pause(cause: Reply | Fault) -> Judgement:
    return Judgement(
        fate=Fate.DEFERRED,
        about=About.SENDER if cause.phase is Phase.MAIL else About.TRANSPORT,
        transport=TransportVerdict(health=Health.PAUSE, reason=describe(cause)),
        blameless=before(cause.phase, Phase.MAIL) or (isinstance(cause, Reply) and cause.code in _LOGIN_CODES),
    )


def _at_mail(reply: Reply) -> Judgement:
    enhanced = reply.enhanced or ""
    if not permanent(reply):
        if enhanced.startswith("4.1."):
            return Judgement(fate=Fate.DEFERRED, about=About.EMAIL, wait=named_wait(reply.text))
        return _suspect(reply)
    if reply.code == 503:
        wants_login = _LOGIN_WANTED.search(reply.text)
        return _pause(reply) if wants_login else replace(_suspect(reply), about=About.TRANSPORT, blameless=True)
    if reply.code in _EMAIL_AT_MAIL_CODES or enhanced.startswith(_EMAIL_AT_MAIL_ENHANCED):
        return Judgement(fate=Fate.REFUSED, about=About.EMAIL)
    return _pause(reply)
