"""The one service behind pages, API, command line and metrics: what can be asked of an outbox and done to it.

Whoever calls it has found out who is asking. `workspaces` is what that person may see: an email of another workspace
is as if it were not there, for questions and for acts alike. `by` is who acts, kept with every email acted on and in
the audit log.

`Operations` is for threads, `AsyncOperations` for event loops; their verbs are the same text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from postroom.compose import Letter
from postroom.operate.acting import Act, act_called, act_on
from postroom.operate.came_back import CameBack
from postroom.operate.dashboard import dashboard
from postroom.operate.finding import find, understand, whole_pages
from postroom.operate.house import counted, house, standing
from postroom.operate.one_email import known_id, visible_email, visible_letter, whole_email
from postroom.operate.recognise import email_id
from postroom.operate.recording import (
    By,
    act_on_record,
    alone,
    chosen_in_words,
    correction_in_words,
    given_in_words,
    line,
    name_of,
    new_tie,
    refused_on_record,
)
from postroom.operate.standstill import standstill
from postroom.operate.suppressing import Suppressing
from postroom.operate.values import (
    ActResult,
    Dashboard,
    EmailView,
    FoundPage,
    House,
    RouteView,
    Search,
    Standing,
    Workspaces,
)
from postroom.operate.verb import Awaiting, Blocking, asks, asks_in_steps, does, does_in_steps
from postroom.operate.ways_out import Declared, declared_in, move_route, pause_route, resume_route, routes
from postroom.outbox.submission import Submission
from postroom.store.changes import BEGINNING, EVERYTHING, Cursor, Events, Wanted, newest_events, read_events
from postroom.store.contract import Conservation, Receipt
from postroom.store.dismissals import Dismissed, dismissed, reinstate, reinstate_act
from postroom.store.enqueue import enqueue
from postroom.store.plan import Course, Plan
from postroom.store.questions import conservation, histories
from postroom.vocabulary import EmailId
from postroom.work.breaker import Breaker

LONGEST_PAGE = 500


class Verbs(Suppressing, CameBack):
    """Questions and acts of an operator."""

    @asks
    def house(self, *, workspaces: Workspaces = None) -> Plan[House]:
        """How the house stands."""
        return house(self._declared, workspaces=workspaces)

    @asks
    def standing(self) -> Plan[Standing]:
        """The house, and what has ever happened in it."""
        return standing(self._declared)

    @asks
    def dashboard(self, *, workspaces: Workspaces = None) -> Plan[Dashboard]:
        """The house with its charts and its failures."""
        return dashboard(self._declared, workspaces=workspaces)

    @asks
    def counts(self, *, workspaces: Workspaces = None) -> Plan[tuple[dict[str, int], dict[str, bool]]]:
        """How many emails there are by status, and where there are at least that many."""
        return counted(workspaces=workspaces)

    @asks
    def conservation(self) -> Plan[Conservation]:
        """Whether everything that was ever enqueued is accounted for, counted row by row."""
        return conservation()

    @asks
    def find(self, search: Search, *, limit: int = 50, before: str | None = None) -> Plan[FoundPage]:
        """A page of emails, newest first, within moments: it says so when it had to stop looking before the end."""
        wanted = yield from understand(search)
        last = None if before is None else known_id(before)
        return (yield from find(wanted, limit=max(1, min(limit, LONGEST_PAGE)), before=last))

    @asks_in_steps
    def list(
        self, search: Search, *, limit: int = 50, before: str | None = None, with_histories: bool = False
    ) -> Course[FoundPage]:
        """A page of emails, newest first, that is full as long as there are emails for it, however long that takes."""
        page = yield from whole_pages(search, limit=limit, before=None if before is None else known_id(before))
        if with_histories:
            told = yield histories([email.id for email in page.emails])
            page = replace(page, emails=tuple(replace(email, history=told.get(email.id, ())) for email in page.emails))
        return page

    @asks
    def email(self, id: str, *, workspaces: Workspaces = None) -> Plan[EmailView]:
        """One email with everything but its content; `EmailNotFound` when it is not there, or not to be seen."""
        return whole_email(known_id(id), self._declared, workspaces=workspaces)

    @asks
    def letter(self, id: str, version: int | None = None, *, workspaces: Workspaces = None) -> Plan[Letter | None]:
        """What an email says, as it is sent; None when it is sensitive, whoever asks."""
        return visible_letter(known_id(id), version, workspaces)

    @asks
    def events(
        self, after: Cursor = BEGINNING, *, limit: int = 100, wanted: Wanted = EVERYTHING, workspaces: Workspaces = None
    ) -> Plan[Events]:
        """What happened behind a place in the stream, oldest first."""
        return read_events(after, limit=limit, wanted=replace(wanted, workspaces=workspaces))

    @asks
    def newest_events(self, limit: int, *, wanted: Wanted = EVERYTHING) -> Plan[Events]:
        """What happened last, oldest first."""
        return newest_events(limit, wanted=wanted)

    @does_in_steps
    def act(
        self,
        act: str,
        chosen: Sequence[str] | Search,
        *,
        by: By,
        corrections: Mapping[str, Any] | None = None,
        reason: str = "",
        dry_run: bool = False,
        workspaces: Workspaces = None,
        limit: int | None = None,
        admin: bool = True,
    ) -> Course[ActResult]:
        """`retry`, `dismiss`, `cancel` or `replay` emails, by their ids or all that a search finds, where it applies.

        Goes through them in batches, each in a transaction of its own. It is in the audit log, with its reason. A dry
        run changes nothing and counts, and is no act. Sensitive emails are replayed for an `admin` only, as whoever is
        on the host is one.
        """
        tie = new_tie()
        called = self._called(act, by, corrections, admin=admin, tie=tie)
        those = chosen if isinstance(chosen, Search) else [id for id in map(email_id, chosen) if id is not None]
        if dry_run:
            return (yield from act_on(called, those, dry_run=True, workspaces=workspaces, limit=limit))
        if called.many is None:
            plain, told = called, corrections
            called = replace(plain, one=lambda id: self._one(plain, id, by, told, None, act=tie))
        asked = {**chosen_in_words(those), **given_in_words(corrections), "limit": limit, "reason": reason}
        doing = act_on(called, those, dry_run=False, workspaces=workspaces, limit=limit)
        result = yield from act_on_record(doing, by, act, tie=tie, **asked)
        return replace(result, tie=tie)

    @does_in_steps
    def act_on_one(
        self,
        act: str,
        id: str,
        *,
        by: By,
        corrections: Mapping[str, Any] | None = None,
        reason: str = "",
        workspaces: Workspaces = None,
        admin: bool = True,
    ) -> Course[EmailId]:
        """The same for one email; `EmailNotFound`, `NotApplicable` or `SensitiveEmail` says why not.

        It is in the audit log, and so is a refusal.
        """
        called = self._called(act, by, corrections, admin=admin)
        doing = self._one(called, id, by, corrections, workspaces, reason=reason)
        return (yield from refused_on_record(alone(doing), by, act, id=id, reason=reason))

    @asks
    def dismissed(self, *, limit: int = 200, workspaces: Workspaces = None) -> Plan[tuple[Dismissed, ...]]:
        """What was dismissed and can still be put back, the latest first."""
        return dismissed(undo=self.settings.undo, limit=limit, workspaces=workspaces)

    @does_in_steps
    def reinstate(self, id: str, *, by: By, reason: str = "", workspaces: Workspaces = None) -> Course[EmailId]:
        """Put a dismissed email back as it was; `EmailNotFound` where that cannot be done any more.

        It is in the audit log, and so is a refusal.
        """
        doing = self._put_back(id, by, workspaces, reason=reason)
        return (yield from refused_on_record(alone(doing), by, "reinstate", id=id, reason=reason))

    def _put_back(self, id: str, by: By, workspaces: Workspaces, **detail: Any) -> Plan[EmailId]:
        known = known_id(id)
        yield from reinstate([known], undo=self.settings.undo, actor=name_of(by), workspaces=workspaces)
        yield from line(by, "reinstate", id=known, **detail)
        return known

    @does_in_steps
    def undo_dismissal(self, tie: str, *, by: By, workspaces: Workspaces = None) -> Course[int]:
        """Put everything back that one press has dismissed; how many emails that were. It is in the audit log."""
        doing = reinstate_act(tie, undo=self.settings.undo, actor=name_of(by), workspaces=workspaces)
        done = yield from refused_on_record(doing, by, "reinstate", act=tie)
        yield line(by, "reinstate", act=tie, done=done)
        return done

    def _called(
        self, act: str, by: By, corrections: Mapping[str, Any] | None, *, admin: bool, tie: str | None = None
    ) -> Act:
        return act_called(act, by=name_of(by), corrections=corrections, limits=self.rules.limits, admin=admin, tie=tie)

    def _one(
        self,
        called: Act,
        id: str,
        by: By,
        corrections: Mapping[str, Any] | None,
        workspaces: Workspaces,
        **detail: Any,
    ) -> Plan[EmailId]:
        """One email, and the line that tells of it, in one transaction."""
        email = yield from visible_email(known_id(id), workspaces)
        corrected = yield from correction_in_words(email, corrections)
        yield from called.one(email.id)
        yield from line(by, called.name, id=email.id, was=email.status, **corrected, **detail)
        return email.id

    @does
    def enqueue(self, submission: Submission, *, by: By) -> Plan[Receipt]:
        """Put an email into the outbox; who did is in the audit log."""
        order = self.rules.order(submission, now=self.now())
        [receipt] = yield from enqueue([order], rules=self.rules.suppressions)
        yield from line(by, "enqueue", id=receipt.id, kind=order.kind, duplicate=receipt.duplicate or None)
        return receipt

    @asks
    def routes(self) -> Plan[tuple[RouteView, ...]]:
        """Every way out that a worker has used or the settings know, and how it is doing."""
        return routes(self._declared)

    @asks
    def standstill(self, route: str) -> Plan[str]:
        """Why no email leaves by a route now, in a few words that name no server; empty when they do."""
        return standstill(route, self._declared)

    @does_in_steps
    def pause_route(self, name: str, reason: str, by: By, *, workspaces: Workspaces = None) -> Course[Breaker]:
        """Stop a route until a person resumes it. Its emails wait and lose no attempt. It is in the audit log."""
        doing = pause_route(name, reason, by, declared=self._declared, workspaces=workspaces)
        return (yield from refused_on_record(alone(doing), by, "route_pause", route=name, reason=reason))

    @does_in_steps
    def resume_route(self, name: str, by: By, *, workspaces: Workspaces = None) -> Course[Breaker]:
        """Let a route send again; the next attempt shows whether it is well. It is in the audit log."""
        doing = resume_route(name, by, declared=self._declared, workspaces=workspaces)
        return (yield from refused_on_record(alone(doing), by, "route_resume", route=name))

    @does_in_steps
    def move_route(
        self,
        name: str,
        to: str,
        by: By,
        *,
        limit: int | None = None,
        sensitive: bool = False,
        workspaces: Workspaces = None,
    ) -> Course[int]:
        """Let emails that wait for one route leave by another, `sensitive` ones only if so asked; how many were moved.

        It is in the audit log.
        """
        doing = move_route(
            name, to, by, limit=limit, sensitive=sensitive, declared=self._declared, workspaces=workspaces
        )
        return (yield from refused_on_record(doing, by, "route_move", route=name, to=to))

    @property
    def _declared(self) -> Declared:
        return declared_in(self.settings)


class Operations(Blocking, Verbs):
    """Questions and acts of an operator, for threads."""


class AsyncOperations(Awaiting, Verbs):
    """Questions and acts of an operator, for event loops."""
