"""One email in full, and what it says: for whoever may see it."""

from __future__ import annotations

from dataclasses import replace

from postroom.compose import Letter
from postroom.errors import EmailNotFound
from postroom.operate.attempts import attempts_of, rows_of
from postroom.operate.outlook import outlook
from postroom.operate.recognise import email_id
from postroom.operate.sentences import worst
from postroom.operate.values import EmailView, Workspaces
from postroom.operate.ways_out import Declared, routes
from postroom.store.acts import APPLIES_TO
from postroom.store.contents import read_letter
from postroom.store.contract import StoredEmail
from postroom.store.overview import clock, versions
from postroom.store.plan import Plan
from postroom.store.questions import get
from postroom.store.sensitive import allows
from postroom.vocabulary import SENSITIVE, EmailId


def known_id(text: str) -> EmailId:
    """An id in its canonical spelling; what is no id belongs to no email."""
    id = email_id(text)
    if id is None:
        raise EmailNotFound(EmailId(text))
    return id


def visible_email(id: EmailId, workspaces: Workspaces) -> Plan[StoredEmail]:
    """One email, provided that it may be seen: one of another workspace is as if it were not there."""
    email = yield from get(id)
    if workspaces is not None and email.workspace not in workspaces:
        raise EmailNotFound(id)
    return email


def whole_email(id: EmailId, declared: Declared, *, workspaces: Workspaces = None) -> Plan[EmailView]:
    """One email with everything there is to know about it but its content; `EmailNotFound` if it may not be seen."""
    email = yield from visible_email(id, workspaces)
    now = yield from clock()
    ways_out = yield from routes(declared, workspaces=workspaces)
    known = yield from versions(id)
    if email.sensitive:
        known = tuple(replace(each, subject=SENSITIVE) for each in known)
    attempts = attempts_of(email, known)
    route = next((each for each in ways_out if each.name == email.route), None)
    return EmailView(
        at=now,
        email=email,
        sentence=outlook(email, obstacle=worst([route] if route else [], now), now=now),
        route=route,
        attempts=attempts,
        recipients=email.recipients,
        rows=rows_of(email, attempts),
        versions=known,
        acts=tuple(act for act, statuses in APPLIES_TO.items() if email.status in statuses and allows(email, act)),
    )


def visible_letter(id: EmailId, version: int | None, workspaces: Workspaces) -> Plan[Letter | None]:
    """What an email says, as it is sent; None when it is sensitive, whoever asks."""
    email = yield from visible_email(id, workspaces)
    if email.sensitive:
        return None
    if version is not None and not 1 <= version <= email.version:
        raise EmailNotFound(id)
    return (yield from read_letter(id, version or email.version))
