"""The one service behind pages, API, command line and metrics: what can be asked of an outbox and done to it.

Whoever calls it has found out who is asking. `workspaces` is what that person may see: an email of another workspace
is as if it were not there, for questions and for acts alike. `by` is who acts, and is kept with every email acted on.

`Operations` is for threads, `AsyncOperations` for event loops; their verbs are the same text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from postroom.compose import Letter
from postroom.operate.acting import act_called, act_on
from postroom.operate.dashboard import dashboard
from postroom.operate.finding import find, understand, whole_pages
from postroom.operate.house import counted, house, standing
from postroom.operate.one_email import known_id, visible_email, visible_letter, whole_email
from postroom.operate.recognise import email_id
from postroom.operate.standstill import standstill
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
from postroom.operate.verb import Awaiting, Blocking, Shell, asks, asks_in_steps, does, does_in_steps
from postroom.operate.ways_out import Declared, declared_in, move_route, pause_route, resume_route, routes
from postroom.store.changes import BEGINNING, EVERYTHING, Cursor, Events, Wanted, newest_events, read_events
from postroom.store.contract import Conservation
from postroom.store.plan import Course, Plan
from postroom.store.questions import conservation, histories
from postroom.vocabulary import EmailId
from postroom.work.breaker import Breaker

LONGEST_PAGE = 500


class Verbs(Shell):
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
        by: str,
        corrections: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        workspaces: Workspaces = None,
        limit: int | None = None,
    ) -> Course[ActResult]:
        """`retry`, `dismiss`, `cancel` or `replay` emails, by their ids or all that a search finds, where it applies.

        Goes through them in batches, each in a transaction of its own. A dry run changes nothing and counts.
        """
        called = act_called(act, by=by, corrections=corrections, limits=self.rules.limits)
        those = chosen if isinstance(chosen, Search) else [id for id in map(email_id, chosen) if id is not None]
        return act_on(called, those, dry_run=dry_run, workspaces=workspaces, limit=limit)

    @does
    def act_on_one(
        self,
        act: str,
        id: str,
        *,
        by: str,
        corrections: Mapping[str, Any] | None = None,
        workspaces: Workspaces = None,
    ) -> Plan[EmailId]:
        """The same for one email; `EmailNotFound` or `NotApplicable` says why not."""
        called = act_called(act, by=by, corrections=corrections, limits=self.rules.limits)
        email = yield from visible_email(known_id(id), workspaces)
        yield from called.one(email.id)
        return email.id

    @asks
    def routes(self) -> Plan[tuple[RouteView, ...]]:
        """Every way out that a worker has used or the settings know, and how it is doing."""
        return routes(self._declared)

    @asks
    def standstill(self, route: str) -> Plan[str]:
        """Why no email leaves by a route now, in a few words that name no server; empty when they do."""
        return standstill(route, self._declared)

    @does
    def pause_route(self, name: str, reason: str, by: str, *, workspaces: Workspaces = None) -> Plan[Breaker]:
        """Stop a route until a person resumes it. Its emails wait and lose no attempt. It is in the audit log."""
        return pause_route(name, reason, by, declared=self._declared, workspaces=workspaces)

    @does
    def resume_route(self, name: str, by: str, *, workspaces: Workspaces = None) -> Plan[Breaker]:
        """Let a route send again; the next attempt shows whether it is well. It is in the audit log."""
        return resume_route(name, by, declared=self._declared, workspaces=workspaces)

    @does_in_steps
    def move_route(
        self, name: str, to: str, by: str, *, limit: int | None = None, workspaces: Workspaces = None
    ) -> Course[int]:
        """Let emails that wait for one route leave by another; how many were moved. It is in the audit log."""
        return move_route(name, to, by, limit=limit, declared=self._declared, workspaces=workspaces)

    @property
    def _declared(self) -> Declared:
        return declared_in(self.settings)


class Operations(Blocking, Verbs):
    """Questions and acts of an operator, for threads."""


class AsyncOperations(Awaiting, Verbs):
    """Questions and acts of an operator, for event loops."""
