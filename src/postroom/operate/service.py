"""The one service behind pages, API, command line and metrics: what can be asked of an outbox and done to it.

Whoever calls it has found out who is asking. `workspaces` is what that person may see: an email of another workspace
is as if it were not there, for questions and for acts alike. `by` is who acts, and is kept with every email acted on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from postroom.compose import Letter, Limits
from postroom.errors import ConfigurationError, EmailNotFound
from postroom.operate.acting import act_on_found, act_on_these
from postroom.operate.dashboard import counted, dashboard, visible_email, whole_email
from postroom.operate.finding import find, understand
from postroom.operate.recognise import email_id
from postroom.operate.values import ActResult, Dashboard, EmailView, FoundPage, Search, Workspaces
from postroom.operate.ways_out import pause_transport, resume_transport
from postroom.outbox import AsyncOutbox
from postroom.store import acts
from postroom.store.contents import read_letter
from postroom.store.plan import Plan, adrive
from postroom.vocabulary import EmailId
from postroom.work.breaker import Breaker

CORRECTABLE = ("to", "cc", "bcc", "subject", "text", "html")
"""What a replay may correct."""

LONGEST_PAGE = 500


class Operations:
    """Questions and acts of an operator, over an outbox whose connections it borrows."""

    def __init__(self, outbox: AsyncOutbox) -> None:
        self.outbox = outbox
        self._database = outbox.database

    async def dashboard(self, *, workspaces: Workspaces = None) -> Dashboard:
        """The state of the house."""
        return await self._database.run(dashboard(workspaces=workspaces), writes=False)

    async def counts(self, *, workspaces: Workspaces = None) -> tuple[dict[str, int], dict[str, bool]]:
        """How many emails there are by status, and where there are at least that many."""
        return await self._database.run(counted(workspaces=workspaces), writes=False)

    async def find(self, search: Search) -> FoundPage:
        """A page of emails, newest first."""
        return await self._database.run(_page(search), writes=False)

    async def email(self, id: str, *, workspaces: Workspaces = None) -> EmailView:
        """One email with everything but its content; `EmailNotFound` when it is not there, or not to be seen."""
        return await self._database.run(whole_email(known_id(id), workspaces=workspaces), writes=False)

    async def letter(self, id: str, version: int | None = None, *, workspaces: Workspaces = None) -> Letter | None:
        """What an email says, as it is sent; None when it is sensitive, whoever asks."""
        return await self._database.run(_letter(known_id(id), version, workspaces), writes=False)

    async def act(
        self,
        act: str,
        chosen: Sequence[str] | Search,
        *,
        by: str,
        dry_run: bool = False,
        workspaces: Workspaces = None,
        limit: int | None = None,
    ) -> ActResult:
        """`retry`, `dismiss` or `cancel` emails, by their ids or all that a search finds, where the act applies.

        Goes through them in batches, each in a transaction of its own. A dry run changes nothing and counts.
        """
        if act not in acts.ACTS:
            raise ConfigurationError(f"no act on many emails is called {act!r}; they are {', '.join(acts.ACTS)}")
        if isinstance(chosen, Search):
            search = replace(chosen, workspaces=_both(chosen.workspaces, workspaces))
            course = act_on_found(act, search, by=by, dry_run=dry_run, limit=limit)
        else:
            ids = [id for id in map(email_id, chosen) if id is not None]
            course = act_on_these(act, ids, by=by, dry_run=dry_run, workspaces=workspaces)
        return await adrive(course, self._database.run)

    async def act_on_one(self, act: str, id: str, *, by: str, workspaces: Workspaces = None) -> None:
        """The same for one email; `EmailNotFound` or `NotApplicable` says why not."""
        await self._database.run(_act_on_one(act, known_id(id), by, workspaces))

    async def replay(
        self, id: str, corrections: Mapping[str, Any], *, by: str, workspaces: Workspaces = None
    ) -> EmailId:
        """Send a dead, doubtful or cancelled email again, corrected; key, Message-ID and history stay."""
        unknown = sorted(set(corrections) - set(CORRECTABLE))
        if unknown:
            raise ConfigurationError(f"{', '.join(unknown)} cannot be corrected; {', '.join(CORRECTABLE)} can")
        given = {name: value for name, value in corrections.items() if value is not None}
        return await self._database.run(_replay(known_id(id), given, by, workspaces, self.outbox.rules.limits))

    async def pause_transport(self, name: str, reason: str, by: str, *, workspaces: Workspaces = None) -> Breaker:
        """Stop a transport until a person resumes it. Its emails wait and lose no attempt. It is in the audit log."""
        return await self._database.run(pause_transport(name, reason, by, workspaces=workspaces))

    async def resume_transport(self, name: str, by: str, *, workspaces: Workspaces = None) -> Breaker:
        """Let a transport send again; the next attempt shows whether it is well. It is in the audit log."""
        return await self._database.run(resume_transport(name, by, workspaces=workspaces))


def known_id(text: str) -> EmailId:
    """An id in its canonical spelling; what is no id belongs to no email."""
    id = email_id(text)
    if id is None:
        raise EmailNotFound(EmailId(text))
    return id


def _page(search: Search) -> Plan[FoundPage]:
    wanted = yield from understand(search)
    before = None if search.before is None else known_id(search.before)
    return (yield from find(wanted, limit=max(1, min(search.limit, LONGEST_PAGE)), before=before))


def _letter(id: EmailId, version: int | None, workspaces: Workspaces) -> Plan[Letter | None]:
    email = yield from visible_email(id, workspaces)
    if email.sensitive:
        return None
    if version is not None and not 1 <= version <= email.version:
        raise EmailNotFound(id)
    return (yield from read_letter(id, version or email.version))


def _act_on_one(act: str, id: EmailId, by: str, workspaces: Workspaces) -> Plan[None]:
    yield from visible_email(id, workspaces)
    yield from acts.ACTS[act]([id], actor=by)


def _replay(id: EmailId, corrections: dict[str, Any], by: str, workspaces: Workspaces, limits: Limits) -> Plan[EmailId]:
    yield from visible_email(id, workspaces)
    return (yield from acts.replay(id, corrections, actor=by, limits=limits))


def _both(asked: Workspaces, allowed: Workspaces) -> Workspaces:
    """What is asked for and may be seen."""
    if asked is None or allowed is None:
        return allowed if asked is None else asked
    return asked & allowed
