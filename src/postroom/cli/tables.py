"""Emails and counts as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from rich import box
from rich.table import Table
from rich.text import Text

from postroom.cli.moments import exact, relative
from postroom.operate.returned import fate_in_words
from postroom.operate.story import in_words, listed
from postroom.operate.values import RouteView
from postroom.operate.wording import refused_of
from postroom.store.contract import HistoryEntry, Recipient, StoredEmail
from postroom.store.unreadable import UNREADABLE
from postroom.vocabulary import DEFAULT_ROUTE, Status
from postroom.work.breaker import BreakerState

STYLES: Mapping[str, str] = {
    Status.PENDING: "cyan",
    Status.QUEUED: "blue",
    Status.SENDING: "yellow",
    Status.RETRYING: "yellow",
    Status.IN_DOUBT: "bold magenta",
    Status.SENT: "green",
    Status.DEAD: "bold red",
    Status.CANCELLED: "dim",
    "open": "cyan",
    "ok": "green",
    "warn": "yellow",
    "fail": "bold red",
}

STATES: Mapping[str, str] = {BreakerState.OK: "ok", BreakerState.OPEN: "fail"}
"""How well each state of a way out is; the others are worth a look."""

TONES: Mapping[str, str] = {"well": "green", "attention": "yellow", "trouble": "bold red"}
"""Of the sentence that tells how the house stands."""

_ROOM = {"id": 36, "status": 9, "to": 11, "subject": 16, "next": 9, "tries": 5, "enqueued": 10}
"""The columns of a list, the most important first, and the room that each needs to be worth reading."""
_GAP = 2


def status_text(status: str) -> Text:
    """A status in its colour."""
    return Text(status, style=STYLES.get(status, ""))


def bare_table(*headings: str) -> Table:
    """A table with room to breathe and no lines to copy along."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")  # URLs and addresses are there to be copied whole
    return table


def emails_table(emails: Iterable[StoredEmail], *, now: datetime, width: int) -> Table:
    """One line an email. The id is never cut, for it is what the other commands want."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for heading in _that_fit(width):
        # Columns that may wrap are those that give way; `_cut` keeps their cells on one line.
        table.add_column(heading, no_wrap=heading not in ("to", "subject"))
    for email in emails:
        cells = (
            Text(email.id),
            _standing(email),
            _cut(first_of(email.recipients) or (UNREADABLE if email.unreadable else "")),
            _cut(email.subject),
            Text(_when_due(email.next_attempt_at, now=now)),
            Text(f"{email.attempts}/{email.max_attempts}"),
            Text(relative(email.created_at, now=now)),
        )
        table.add_row(*cells[: len(table.columns)])
    return table


def _standing(email: StoredEmail) -> Text:
    """The status; of an email that was sent, though not to everybody, that too."""
    refused = refused_of(email)
    return status_text(email.status).append(f", {refused}", style="red") if refused else status_text(email.status)


def _that_fit(width: int) -> Iterator[str]:
    """As many columns as there is room for."""
    used = -_GAP
    for heading, room in _ROOM.items():
        used += _GAP + room
        if used > width:
            return
        yield heading


def _when_due(instant: datetime | None, *, now: datetime) -> str:
    return relative(instant if instant is None else max(instant, now), now=now)


def _cut(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")


def first_of(recipients: Sequence[Recipient]) -> str:
    """The first recipient, and how many more there are."""
    more = f" +{len(recipients) - 1}" if len(recipients) > 1 else ""
    return f"{recipients[0].address}{more}" if recipients else ""


def counts_table(counts: Mapping[str, int]) -> Table:
    """How many emails there are in each status."""
    table = bare_table("status", "emails")
    table.columns[1].justify = "right"
    for status, count in counts.items():
        table.add_row(status_text(status), Text(f"{count:,}", style="" if count else "dim"))
    return table


def routes_table(routes: Iterable[RouteView]) -> Table:
    """The ways out, and how they are doing."""
    table = bare_table("route", "server", "state", "waiting", "rate", "fallback", "since", "reason")
    table.columns[3].justify = "right"
    for route in routes:
        table.add_row(
            Text(route.name),
            Text(route.server),
            Text(state_of(route), style=STYLES.get(STATES.get(route.state, "warn"), "")),
            Text("" if route.waiting is None else f"{route.waiting:,}"),
            Text(route.rate or ""),
            Text(route.fallback or ""),
            exact(route.since) if route.since else "",
            Text(route.reason),
        )
    return table


def state_of(route: RouteView) -> str:
    """A way out's state in a word; `--json` has the word of programs, `open`, which says the opposite to people."""
    return "unreachable" if route.state is BreakerState.OPEN else route.state.value


def facts_table(email: StoredEmail, *, now: datetime) -> Table:
    """Everything about one email that is known, one fact a line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(email, now=now):
        if value:
            table.add_row(name, value)
    return table


def recipients_table(recipients: Iterable[Recipient]) -> Table:
    """Where each recipient stands, and, where something came back, what."""
    recipients = list(recipients)
    came_back = any(each.returned for each in recipients)
    table = bare_table("recipient", "status", "code", "said", *(["came back"] if came_back else []))
    for each in recipients:
        said = (status_text(each.status), str(each.code or ""), Text(each.text or ""))
        returned = [Text(fate_in_words(each.returned) if each.returned else "")] if came_back else []
        table.add_row(Text(each.address), *said, *returned)
    return table


def history_table(history: Iterable[HistoryEntry]) -> Table:
    """What happened, oldest first."""
    table = bare_table("at", "what", "attempt", "by", "detail")
    for entry in history:
        detail = in_words(entry, entry.at) or listed(entry.detail)
        table.add_row(exact(entry.at), Text(entry.what), str(entry.attempt), Text(entry.actor or ""), Text(detail))
    return table


def _edition(email: StoredEmail) -> str:
    """Where its words are from, or will be."""
    if (edition := email.edition) is None:
        return ""
    told = f"{edition.kind} · version {edition.version} · {edition.language}"
    return f"{told} · not rendered yet" if email.late else told


def _facts(email: StoredEmail, *, now: datetime) -> Iterable[tuple[str, Text | str]]:
    def at(instant: datetime | None) -> str:
        return f"{exact(instant)} ({relative(instant, now=now)})" if instant else ""

    yield "id", Text(email.id)
    yield "status", _standing(email)
    yield "reason", Text(email.dead_reason or "")
    yield "last error", Text(email.last_error or "")
    yield "unreadable", Text(email.unreadable or "", style="bold red")
    yield "subject", Text(email.subject)
    yield "Message-ID", Text(email.message_id)
    yield "key", Text(email.key or "")
    yield "kind", Text(email.kind)
    yield "template", Text(_edition(email))
    yield "workspace", Text(email.workspace)
    yield "route", Text("" if email.route == DEFAULT_ROUTE else email.route)
    yield "tags", Text(", ".join(email.tags))
    yield "priority", email.priority.label
    yield "attempts", f"{email.attempts} of {email.max_attempts}"
    yield "in doubt", f"{email.doubts} times" if email.doubts else ""
    yield "taken over", f"{email.takeovers} times" if email.takeovers else ""
    yield "next attempt", at(email.next_attempt_at)
    yield "held by", Text(f"{email.worker} until {at(email.leased_until)}" if email.worker else "")
    yield "enqueued", at(email.created_at)
    yield "last attempt", at(email.last_attempt_at)
    yield "sent", at(email.sent_at)
    yield "finished", at(email.finished_at)
    yield "expires", at(email.expires_at)
    yield "size", f"{email.size:,} bytes"
    yield "version", f"{email.version} (corrected)" if email.version > 1 else ""
