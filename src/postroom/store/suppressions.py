"""Who is not to be mailed, and which emails that stops.

An entry is an address, a scope, and why it is there. An address may have several: each reason in each scope is one of
its own, so that taking a person's own wish away leaves the bounce beside it. `suppress` is heard once however often it
is said: said again, an entry keeps its id and its beginning, takes the latest evidence, and never ends sooner.

Which emails an entry stops is decided by `stopped_by`. Mail that can be unsubscribed from is stopped by every entry
that covers its workspace and kind. All other mail, such as a receipt or a code, is what somebody has asked for: only an
entry about everything stops it, and, unless that is switched off, a mailbox that does not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postroom.errors import InvalidEmail
from postroom.store.contract import instant, moment
from postroom.store.ids import LAST, new_id
from postroom.store.plan import Plan, Row, ask
from postroom.vocabulary import EmailId, SuppressionReason, SuppressionScope

LONGEST_EVIDENCE = 500


def normal_address(address: str) -> str:
    """An address as entries and emails are compared: in any case, although a local part may in theory have one."""
    return address.strip().lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """What somebody is not to get any more, and why: an entry that is still to be added."""

    address: str
    reason: SuppressionReason
    scope: SuppressionScope = SuppressionScope.ALL
    workspace: str = ""
    """Of the scopes `workspace` and `kind`; empty for mail that is in none."""
    kind: str = ""
    """Of the scope `kind`."""
    evidence: str = ""
    """What shows it, in words for people."""
    email_id: EmailId | None = None
    """The email that led to it."""
    actor: str | None = None
    """Who said so, where a person did."""
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", normal_address(self.address))
        object.__setattr__(self, "evidence", self.evidence[:LONGEST_EVIDENCE])
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """One entry."""

    id: str
    address: str
    scope: SuppressionScope
    workspace: str
    kind: str
    reason: SuppressionReason
    evidence: str
    email_id: EmailId | None
    actor: str | None
    created_at: datetime
    noted_at: datetime
    """When it was last heard of."""
    expires_at: datetime | None

    def __str__(self) -> str:
        """What a stopped email says of it; the address stands beside it already."""
        return f"{self.reason.value.replace('_', ' ')} of {self.created_at:%Y-%m-%d}, entry {self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionPage:
    """Some entries, the latest first."""

    entries: tuple[Suppression, ...]
    next: str | None
    """Give it as `before` to get the next page; None on the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """What has to be known of an email to say whether an entry stops it."""

    workspace: str = ""
    kind: str = ""
    unsubscribable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionRules:
    """What the house has decided."""

    bounces_stop_all: bool = True
    """A mailbox that does not exist gets no receipts and no codes either."""


AS_SHIPPED = SuppressionRules()


def stopped_by(
    entries: Iterable[Suppression], mail: Mail, *, now: datetime, rules: SuppressionRules = AS_SHIPPED
) -> Suppression | None:
    """The entry, of those about one address, that keeps an email from it; of several, the one that was there first."""
    stopping = [entry for entry in entries if _in_force(entry, now) and _stops(entry, mail, rules)]
    return min(stopping, key=lambda entry: (entry.created_at, entry.id), default=None)


def _in_force(entry: Suppression, now: datetime) -> bool:
    return entry.expires_at is None or now < entry.expires_at


def _stops(entry: Suppression, mail: Mail, rules: SuppressionRules) -> bool:
    if entry.scope is SuppressionScope.ALL:
        return True
    if entry.workspace != mail.workspace:
        return False
    if not mail.unsubscribable:
        return entry.reason is SuppressionReason.HARD_BOUNCE and rules.bounces_stop_all
    return entry.scope is SuppressionScope.WORKSPACE or entry.kind == mail.kind


# ---------------------------------------------------------------- in the database


def suppress(stops: Sequence[Stop]) -> Plan[list[Suppression]]:
    """Have these entries; each as it stands now, in no order. Once this has committed, no email goes past them."""
    newest = {_name(stop): stop for stop in stops}
    rows = yield ask("suppress", entries=[_as_row(stop) for _, stop in sorted(newest.items())])
    return [_read(row) for row in rows]


def unsuppress(ids: Collection[str], *, workspaces: Collection[str] | None = None) -> Plan[list[Suppression]]:
    """Take entries away; those that were there. With `workspaces`, only entries of these, and none about everything."""
    rows = yield ask("unsuppress", ids=sorted(ids), workspaces=_sorted(workspaces))
    return [_read(row) for row in rows]


def suppressions_of(addresses: Iterable[str]) -> Plan[dict[str, list[Suppression]]]:
    """What is known of these addresses now, by `normal_address`; who is not in it has no entry."""
    wanted = sorted({normal_address(address) for address in addresses})
    found: dict[str, list[Suppression]] = {}
    for row in (yield ask("suppressions_of", addresses=wanted)):
        entry = _read(row)
        found.setdefault(entry.address, []).append(entry)
    return found


def suppressions_since(seconds: float, *, limit: int = 1_000_000) -> Plan[list[Suppression]]:
    """What was added or heard of again within the last seconds, by the store's clock; the oldest first."""
    return [_read(row) for row in (yield ask("suppressions_since", seconds=seconds, limit=limit))]


def suppressions(
    *,
    limit: int,
    before: str = LAST,
    part: str | None = None,
    reason: SuppressionReason | None = None,
    workspaces: Collection[str] | None = None,
) -> Plan[list[Suppression]]:
    """One page of entries, the latest first. Read on with the last one's id as `before`.

    `part` is any part of an address. With `workspaces`, entries of these and those about everything.
    """
    rows = yield ask(
        "suppressions",
        limit=limit,
        before=before,
        part=None if part is None else _escaped(normal_address(part)),
        reason=reason,
        workspaces=_sorted(workspaces),
    )
    return [_read(row) for row in rows]


def _check(stop: Stop) -> None:
    local, at, domain = stop.address.rpartition("@")
    if not (local and at and domain) or not stop.address.isprintable() or " " in stop.address:
        raise InvalidEmail("address", "is no address", "write it as 'ada@example.org'")
    if stop.scope is SuppressionScope.ALL and (stop.workspace or stop.kind):
        raise InvalidEmail("scope", "'all' is about every workspace and kind", "name neither, or choose another scope")
    if (stop.scope is SuppressionScope.KIND) != bool(stop.kind):
        raise InvalidEmail("kind", "goes with the scope 'kind', and only with it", "give both, or neither")
    if stop.expires_at is not None and stop.expires_at.tzinfo is None:
        raise InvalidEmail("expires_at", "has no timezone", "give an aware datetime, such as datetime.now(UTC)")


def _name(stop: Stop) -> tuple[str, str, str, str, str]:
    return stop.address, stop.scope.value, stop.workspace, stop.kind, stop.reason.value


def _as_row(stop: Stop) -> dict[str, Any]:
    return {
        "id": new_id(),
        "address": stop.address,
        "scope": stop.scope,
        "workspace": stop.workspace,
        "kind": stop.kind,
        "reason": stop.reason,
        "evidence": stop.evidence,
        "email_id": stop.email_id,
        "actor": stop.actor,
        "expires_at": stop.expires_at,
    }


def _read(row: Row) -> Suppression:
    id, address, scope, workspace, kind, reason, evidence, email_id, actor, created_at, noted_at, expires_at = row
    return Suppression(
        id=id,
        address=address,
        scope=SuppressionScope(scope),
        workspace=workspace,
        kind=kind,
        reason=SuppressionReason(reason),
        evidence=evidence,
        email_id=None if email_id is None else EmailId(email_id),
        actor=actor,
        created_at=instant(created_at),
        noted_at=instant(noted_at),
        expires_at=moment(expires_at),
    )


def _sorted(names: Collection[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _escaped(part: str) -> str:
    r"""Taken literally by LIKE, with `\` as its escape."""
    return part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
