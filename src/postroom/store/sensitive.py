"""What nobody may do to a sensitive email, so that it reaches those it was written for and no one else."""

from __future__ import annotations

from typing import Protocol, TypeVar

from postroom.errors import SensitiveEmail
from postroom.store.plan import Course, Plan, ask
from postroom.vocabulary import SIGN_IN_CODE, EmailId

T = TypeVar("T")

REFUSED, REPLAYED = "sensitive_refused", "sensitive_replay"
"""How the audit log calls it."""


class Guarded(Protocol):
    """What the rules look at."""

    @property
    def id(self) -> EmailId: ...
    @property
    def sensitive(self) -> bool: ...
    @property
    def kind(self) -> str: ...
    @property
    def erased(self) -> bool: ...


def check_replay(email: Guarded, *, corrected: bool, admin: bool) -> None:
    """Refuse to send a sensitive email again, unless an admin wants it, for the same people and in the same words."""
    if not email.sensitive:
        return
    if email.kind == SIGN_IN_CODE:
        raise _code("replay", email.id, "it brings the code of a sign-in, and no code is sent twice")
    if corrected:
        problem = "it is sensitive, so neither its recipients nor what it says can be changed"
        raise SensitiveEmail("replay", email.id, problem, "replay it as it is, or dismiss it and send a new one")
    if not admin:
        raise SensitiveEmail("replay", email.id, "it is sensitive, and only admins send those again", "ask an admin")
    if email.erased:
        raise _erased("replay", email.id)


def check_retry(email: Guarded) -> None:
    """Refuse to start over what has nothing left to say."""
    if not email.erased:
        return
    if email.kind == SIGN_IN_CODE:
        raise _code("retry", email.id, "it brought the code of a sign-in, which was erased")
    raise _erased("retry", email.id)


def allows(email: Guarded, act: str) -> bool:
    """Whether an act is possible at all, by whomever."""
    if act == "replay" and email.sensitive:
        return not email.erased and email.kind != SIGN_IN_CODE
    return act != "retry" or not email.erased


def refusals_noted(plan: Plan[T], *, actor: str | None) -> Course[T]:
    """Carry an act out. That somebody wanted what a sensitive email does not allow is in the audit log."""
    try:
        done: T = yield plan
    except SensitiveEmail as refused:
        yield note(REFUSED, refused.id, actor=actor, act=refused.act, refused=refused.problem)
        raise
    return done


def note(what: str, id: EmailId, *, actor: str | None, **detail: str) -> Plan[None]:
    """A line in the audit log about one email."""
    yield ask("write_audit", actor=(actor or "")[:320], what=what, address="", detail={"id": id, **detail})


def _erased(act: str, id: EmailId) -> SensitiveEmail:
    problem = "it is sensitive, and what it said was erased when it was finished"
    return SensitiveEmail(act, id, problem, "send a new one")


def _code(act: str, id: EmailId, problem: str) -> SensitiveEmail:
    return SensitiveEmail(
        act, id, problem, "ask for another code at the sign-in, or run `postroom user code` on the host"
    )
