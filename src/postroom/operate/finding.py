"""Finding emails: what was asked, as filters that each walk along an index, and their answers merged.

No page reads more than a window of emails along each index, however rarely one of them matches. A page that stops
there says how far back it has looked and where to go on, so every answer comes quickly and none is withheld.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from heapq import merge
from itertools import islice
from typing import Any

from postroom.errors import EmailNotFound
from postroom.operate.causes import cause_of
from postroom.operate.recognise import recognise
from postroom.operate.values import FoundPage, Search
from postroom.store.contract import Filter, Page, StoredEmail
from postroom.store.ids import made_at
from postroom.store.overview import edge, under_key
from postroom.store.plan import Course, Plan
from postroom.store.questions import driver, get, list_emails, matches
from postroom.vocabulary import EmailId, Status

WINDOW = 10_000
"""Emails that one page looks at, at most, where it has to look at each; shared by the indexes it walks along."""

_BATCH = 500

_REFUSED = (
    Status.DEAD,
    Status.RETRYING,
    Status.IN_DOUBT,
    Status.PENDING,
    Status.QUEUED,
    Status.SENDING,
    Status.CANCELLED,
)
"""Where an email can be whose last reply was a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A search, understood."""

    filters: tuple[Filter, ...]
    """An email is wanted when one of them matches."""
    ids: tuple[EmailId, ...] | None = None
    """Only these, when the search names them."""
    cause: str | None = None
    understood: str | None = None

    def keeps(self, email: StoredEmail) -> bool:
        return self.cause is None or cause_of(email) == self.cause


def understand(search: Search, *, statuses: tuple[Status, ...] | None = None) -> Plan[Wanted]:
    """What a search asks for; with `statuses`, among emails in one of these only."""
    base = Filter(**{field.name: getattr(search, field.name) for field in fields(Filter)})
    wanted = Wanted(filters=(base,), cause=search.cause)
    if search.cause is not None:
        wanted = replace(wanted, filters=_each(base, (Status.DEAD,)))
    if search.q.strip():
        wanted = yield from _with_text(wanted, search.q)
    filters = [each for one in wanted.filters for each in (_each(one, statuses) if statuses else (one,))]
    return replace(wanted, filters=tuple(part for each in filters for part in _along_indexes(each)))


def find(wanted: Wanted, *, limit: int, before: EmailId | None) -> Plan[FoundPage]:
    """A page of wanted emails, newest first. Paging on never skips or repeats an email."""
    if wanted.ids is not None:
        return (yield from _named(wanted, limit, before))
    reach: list[EmailId] = []
    window = max(1, WINDOW // max(1, len(wanted.filters)))
    for each in wanted.filters:
        if each.key is None and (_looks_at_each(each) or wanted.cause):
            end = yield from edge(each, before=before, window=window)
            reach += [end] if end else []
    # All stop where the first one has to, or a later page would bring emails that belong into this one.
    after = max(reach, default=None)
    lists: list[list[StoredEmail]] = []
    for each in wanted.filters:
        lists += [(yield from _walk(each, wanted, limit=limit + 1, before=before, after=after))]
    emails = list(islice(_distinct(merge(*lists, key=_newest_first)), limit + 1))
    if len(emails) > limit:
        return FoundPage(emails=tuple(emails[:limit]), next=emails[limit - 1].id, understood=wanted.understood)
    looked_back_to = None if after is None else made_at(after)
    return FoundPage(emails=tuple(emails), next=after, understood=wanted.understood, looked_back_to=looked_back_to)


def whole_pages(search: Search, *, limit: int, before: EmailId | None) -> Course[FoundPage]:
    """A page that is full as long as there are emails for it: it goes on looking where `find` would stop and say so."""
    wanted: Wanted = yield understand(search)
    found: list[StoredEmail] = []
    while True:
        page: FoundPage = yield find(wanted, limit=limit - len(found), before=before)
        found += page.emails
        if page.next is None or len(found) == limit:
            return replace(page, emails=tuple(found), looked_back_to=None)
        before = page.next


def _walk(
    one: Filter, wanted: Wanted, *, limit: int, before: EmailId | None, after: EmailId | None
) -> Plan[list[StoredEmail]]:
    """Up to `limit` emails of one filter, as far back as `after`."""
    found: list[StoredEmail] = []
    while True:
        size = limit if wanted.cause is None else _BATCH
        page: Page = yield from list_emails(one, limit=size, before=before, after=after)
        found += [email for email in page.emails if wanted.keeps(email)]
        if page.next is None or len(found) >= limit:
            return found[:limit]
        before = page.next


def _named(wanted: Wanted, limit: int, before: EmailId | None) -> Plan[FoundPage]:
    assert wanted.ids is not None
    found: list[StoredEmail] = []
    for id in sorted(wanted.ids, reverse=True):
        if before is not None and id >= before:
            continue
        try:
            email = yield from get(id)
        except EmailNotFound:
            continue
        if any(matches(email, each) and _belongs(email, each) for each in wanted.filters) and wanted.keeps(email):
            found.append(replace(email, history=()))
    more = len(found) > limit
    return FoundPage(
        emails=tuple(found[:limit]), next=found[limit - 1].id if more else None, understood=wanted.understood
    )


def _belongs(email: StoredEmail, one: Filter) -> bool:
    return one.workspace in (None, email.workspace)


def _with_text(wanted: Wanted, q: str) -> Plan[Wanted]:
    """The search narrowed by its text, taken for the first of its meanings under which there is anything at all."""
    typed = recognise(q)
    for meaning in typed.meanings:
        narrowed = yield from _meaning(wanted, meaning, typed.text)
        if meaning == typed.meanings[-1] or (yield from _is_there(narrowed)):
            return narrowed
    raise AssertionError("a text has at least one meaning")


def _meaning(wanted: Wanted, meaning: str, text: str) -> Plan[Wanted]:
    wanted = replace(wanted, understood=meaning)
    match meaning:
        case "id" | "message_id":
            return replace(wanted, ids=(EmailId(text),))
        case "key":
            ids = yield from under_key(text)
            return replace(wanted, ids=tuple(id for _workspace, id in ids))
        case "reply_code":
            return _narrowed(wanted, meaning, int(text))
        case _:
            return _narrowed(wanted, meaning, text)


def _narrowed(wanted: Wanted, name: str, value: str | int) -> Wanted:
    """Every filter narrowed by one more field; those that ask for something else there find nothing."""
    kept = [each for each in wanted.filters if getattr(each, name) in (None, value)]
    more: dict[str, Any] = {name: value}
    return replace(wanted, filters=tuple(replace(each, **more) for each in kept))


def _is_there(wanted: Wanted) -> Plan[bool]:
    """Whether anything has this meaning, whatever its status and time, as far as may be seen."""
    loose = [replace(each, status=None, since=None, until=None) for each in wanted.filters]
    page = yield from find(replace(wanted, filters=tuple(loose), cause=None), limit=1, before=None)
    return bool(page.emails)


def _each(one: Filter, statuses: tuple[Status, ...]) -> tuple[Filter, ...]:
    """A filter for each of these statuses that it allows."""
    return tuple(replace(one, status=status) for status in statuses if one.status in (None, status))


def _along_indexes(one: Filter) -> Iterable[Filter]:
    """One filter as several, where that lets each of them walk along an index."""
    if one.reply_code is not None and one.reply_code >= 400 and one.status is None and not _has_rare_term(one):
        return _each(one, _REFUSED)
    if one.workspaces is None or one.workspace is not None or one.status not in (None, Status.SENT):
        return (one,)
    if _has_rare_term(one):
        return (one,)
    return tuple(replace(one, workspace=workspace) for workspace in sorted(one.workspaces))


def _has_rare_term(one: Filter) -> bool:
    return bool(one.recipient or one.tag)


def _looks_at_each(one: Filter) -> bool:
    """Whether a list of this filter has to drop emails along its index."""
    bounds = {"since", "until", "key"}
    narrowing = sum(getattr(one, field.name) is not None for field in fields(one) if field.name not in bounds)
    name, _driving = driver(one)
    return narrowing > (name != "newest")


def _newest_first(email: StoredEmail) -> int:
    return -int(email.id.replace("-", ""), 16)


def _distinct(emails: Iterable[StoredEmail]) -> Iterable[StoredEmail]:
    last: EmailId | None = None
    for email in emails:
        if email.id != last:
            yield email
        last = email.id
