"""Who is not to be mailed, as people see and say it: look, add, remove, bring a list along, take one away.

Entries have the workspace they are about. Who may see some workspaces sees entries of these and those about all mail,
says and takes back only what is about their own, and every other entry is as if it were not there. Each act is in the
audit log, with whose entry it was: once that is removed, nothing else would tell. A list has two lines there, with how
many entries it had, and no address.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO
from uuid import UUID

from postroom.campaigns.stopping.suppressing import suppress_in_campaigns
from postroom.operate.recognise import email_id
from postroom.operate.recording import By, alone, line, refused_on_record
from postroom.operate.stops import read_address
from postroom.operate.suppression_import import import_list
from postroom.operate.suppression_lists import ImportReport
from postroom.operate.suppression_rights import (
    SAID_BY_THE_PERSON,
    RemovalUnconfirmed,
    SuppressionNotFound,
    SuppressionShared,
    is_theirs,
    may_be_seen,
)
from postroom.operate.values import Workspaces
from postroom.operate.verb import Shell, asks, does, does_in_steps
from postroom.store.contract import StoredEmail
from postroom.store.ids import LAST
from postroom.store.plan import Course, Plan
from postroom.store.suppressions import (
    Mail,
    Stop,
    Suppression,
    stopped_by,
    suppressions,
    suppressions_of,
    unsuppress,
)
from postroom.vocabulary import SuppressionReason


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionPage:
    """Some entries, the latest first."""

    entries: tuple[Suppression, ...]
    next: str | None
    """Give it as `before` to go on; None when these were the last."""


class Suppressing(Shell):
    """Questions and acts about who is not to be mailed."""

    @asks
    def suppressions(
        self,
        *,
        part: str | None = None,
        reason: SuppressionReason | None = None,
        limit: int = 50,
        before: str | None = None,
        workspaces: Workspaces = None,
    ) -> Plan[SuppressionPage]:
        """A page of entries, the latest first; `part` is any part of an address."""
        last = LAST if before is None else email_id(before) or LAST
        found = yield from suppressions(
            limit=limit + 1, before=last, part=part or None, reason=reason, workspaces=workspaces
        )
        more = len(found) > limit
        return SuppressionPage(entries=tuple(found[:limit]), next=found[limit - 1].id if more else None)

    @asks
    def suppressions_of(self, address: str, *, workspaces: Workspaces = None) -> Plan[tuple[Suppression, ...]]:
        """What is known of an address now."""
        return _of_address(address, workspaces)

    @asks
    def suppression(self, id: str, *, workspaces: Workspaces = None) -> Plan[Suppression]:
        """One entry; `SuppressionNotFound` when it is not there, or not to be seen."""
        return _entry(id, workspaces)

    @asks
    def suppressed_in(self, email: StoredEmail) -> Plan[dict[str, Suppression]]:
        """The recipients that would be left out of this email if it were sent now, each with the entry that says so."""
        known = yield from suppressions_of(recipient.address for recipient in email.recipients)
        mail = Mail(workspace=email.workspace, kind=email.kind, unsubscribable=email.unsubscribable)
        now, rules = self.now(), self.rules.suppressions
        stopped = ((address, stopped_by(entries, mail, now=now, rules=rules)) for address, entries in known.items())
        return {address: entry for address, entry in stopped if entry is not None}

    @does_in_steps
    def suppress(self, stop: Stop, *, by: By, workspaces: Workspaces = None) -> Course[Suppression]:
        """Add an entry, or hear of it again; as it stands now. It is in the audit log, and so is a refusal."""
        doing = _added(stop, by, workspaces)
        return (yield from refused_on_record(alone(doing), by, "suppress", recipient=stop.address, reason=stop.reason))

    @does_in_steps
    def unsuppress(
        self, id: str, *, by: By, confirm: bool = False, workspaces: Workspaces = None
    ) -> Course[Suppression]:
        """Remove one entry. What a person has said themselves is removed only with `confirm`: `RemovalUnconfirmed`.

        It is in the audit log, and so is a refusal.
        """
        doing = _removed(id, by, confirm, workspaces)
        return (yield from refused_on_record(alone(doing), by, "unsuppress", entry=email_id(id)))

    @does_in_steps
    def unsuppress_address(
        self,
        address: str,
        *,
        by: By,
        reasons: Collection[SuppressionReason] = (),
        confirm: bool = False,
        workspaces: Workspaces = None,
    ) -> Course[tuple[Suppression, ...]]:
        """The same for all entries of an address that have not ended, or those with these reasons."""
        doing = _removed_of(address, by, reasons, confirm, workspaces)
        return (yield from refused_on_record(alone(doing), by, "unsuppress"))

    @does_in_steps
    def import_suppressions(
        self,
        file: BinaryIO,
        *,
        by: By,
        defaults: Mapping[str, str] | None = None,
        workspaces: Workspaces = None,
        progress: Callable[[ImportReport], None] = lambda _: None,
    ) -> Course[ImportReport]:
        """Take a list in, in batches of one transaction each; `defaults` are for lines that do not say.

        Done twice it changes nothing. Stopped in the middle, what was read is in, and doing it again does the rest.
        """
        return import_list(file, by=by, defaults=defaults or {}, workspaces=workspaces, progress=progress)

    @does
    def note_export(self, *, by: By) -> Plan[None]:
        """Put it on record that somebody takes a list of entries away; reading them is `suppressions`."""
        yield from line(by, "suppressions_export")


def _added(stop: Stop, by: By, workspaces: Workspaces) -> Plan[Suppression]:
    if not is_theirs(stop, workspaces):
        raise SuppressionShared
    [entry] = yield from suppress_in_campaigns([stop])
    yield from _line(by, "suppress", entry)
    return entry


def _removed(id: str, by: By, confirm: bool, workspaces: Workspaces) -> Plan[Suppression]:
    entry = yield from _entry(id, workspaces)
    [removed] = yield from _taken_away([entry], by, confirm, workspaces)
    return removed


def _removed_of(
    address: str, by: By, reasons: Collection[SuppressionReason], confirm: bool, workspaces: Workspaces
) -> Plan[tuple[Suppression, ...]]:
    known = yield from _of_address(address, workspaces)
    entries = [entry for entry in known if not reasons or entry.reason in reasons]
    return (yield from _taken_away(entries, by, confirm, workspaces))


def _taken_away(
    entries: Sequence[Suppression], by: By, confirm: bool, workspaces: Workspaces
) -> Plan[tuple[Suppression, ...]]:
    if not all(is_theirs(entry, workspaces) for entry in entries):
        raise SuppressionShared
    if not confirm and (own := [entry for entry in entries if entry.reason in SAID_BY_THE_PERSON]):
        raise RemovalUnconfirmed(own)
    removed = yield from unsuppress([entry.id for entry in entries], workspaces=workspaces)
    if not removed:
        raise SuppressionNotFound
    for entry in removed:
        yield from _line(by, "unsuppress", entry)
    return tuple(removed)


def _line(by: By, what: str, entry: Suppression) -> Plan[None]:
    yield from line(
        by,
        what,
        recipient=entry.address,
        reason=entry.reason,
        scope=entry.scope,
        workspace=entry.workspace,
        kind=entry.kind,
        entry=entry.id,
    )


def _entry(id: str, workspaces: Workspaces) -> Plan[Suppression]:
    """The latest entry that is no later than this one is this one, if it is there."""
    known = email_id(id)
    if known is None or known == LAST:
        raise SuppressionNotFound
    found = yield from suppressions(limit=1, before=str(UUID(int=UUID(known).int + 1)))
    if not found or found[0].id != known or not may_be_seen(found[0], workspaces):
        raise SuppressionNotFound
    return found[0]


def _of_address(address: str, workspaces: Workspaces) -> Plan[tuple[Suppression, ...]]:
    wanted = read_address(address)
    known = yield from suppressions_of([wanted])
    return tuple(entry for entry in known.get(wanted, ()) if may_be_seen(entry, workspaces))
