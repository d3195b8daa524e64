"""What a page shows, written in its address: every search, tab and page can be bookmarked, shared and gone back to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from urllib.parse import urlencode

from postroom.admin.requests import within_reach
from postroom.operate.came_back import KINDS, ReturnSearch
from postroom.operate.recognise import email_id
from postroom.operate.values import Search, Workspaces
from postroom.vocabulary import Status, SuppressionReason

LONGEST = 2_000
"""Characters of what is typed into a field."""

_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNFIT_IN_LINES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_CODE = re.compile("[2-5][0-9][0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAddress:
    """The query of `/admin/email-queue`, as typed. Empty means: not narrowed."""

    q: str = ""
    status: str = ""
    kind: str = ""
    workspace: str = ""
    route: str = ""
    tag: str = ""
    portal: str = ""
    template: str = ""
    version: str = ""
    language: str = ""
    recipient: str = ""
    code: str = ""
    cause: str = ""
    since: str = ""
    until: str = ""
    before: str = ""

    @classmethod
    def read(cls, given: Mapping[str, object]) -> QueueAddress:
        """From a query or a form. What cannot be meant (a status that is none) is left out."""
        known = {each.name: plain(given.get(each.name)) for each in fields(cls)}
        if known["status"] not in set(Status):
            known["status"] = ""
        if not _CODE.fullmatch(known["code"]):
            known["code"] = ""
        for name in ("since", "until"):
            known[name] = known[name] if _moment(known[name]) else ""
        return cls(**known)

    def but(self, **changes: str) -> QueueAddress:
        """The same with something else; always from the first page unless told otherwise."""
        return replace(self, **{"before": "", **changes})

    def parameters(self) -> dict[str, str]:
        """What is not empty."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name))}

    def path(self, root: str) -> str:
        """The address itself."""
        query = urlencode(self.parameters())
        return f"{root}/admin/email-queue" + (f"?{query}" if query else "")

    @property
    def narrowed(self) -> bool:
        """Whether anything but the tab narrows it."""
        return any(self.but(status="").parameters())

    @property
    def narrowed_in_detail(self) -> bool:
        """Whether something narrows it that has no place in the search box or the tabs."""
        return any(self.but(status="", q="").parameters())

    def search(self, workspaces: Workspaces) -> Search:
        """What is asked for, by somebody who may see these workspaces."""
        return Search(
            q=self.q,
            status=Status(self.status) if self.status else None,
            kind=self.kind or None,
            workspace=self.workspace or None,
            route=self.route or None,
            tag=self.tag or None,
            portal=self.portal or None,
            template=self.template or None,
            version=self.version or None,
            language=self.language or None,
            recipient=self.recipient or None,
            reply_code=int(self.code) if self.code else None,
            cause=self.cause or None,
            since=_moment(self.since),
            until=_moment(self.until),
            workspaces=workspaces,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAddress:
    """The query of `/admin/audit`. Empty means: not narrowed."""

    who: str = ""
    act: str = ""
    before: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> AuditAddress:
        """From a query. A place that is none is the first page."""
        known = {each.name: plain(given.get(each.name)) for each in fields(cls)}
        if not (known["before"].isascii() and known["before"].isdecimal() and len(known["before"]) < 19):
            known["before"] = ""
        return cls(**known)

    @property
    def place(self) -> int | None:
        """Where the page before ended."""
        return int(self.before) if self.before else None

    @property
    def narrowed(self) -> bool:
        return bool(self.who or self.act)

    def but(self, **changes: str) -> AuditAddress:
        """The same with something else; from the first page unless told otherwise."""
        return replace(self, **{"before": "", **changes})

    def path(self, root: str) -> str:
        """The address itself."""
        query = urlencode({each.name: value for each in fields(self) if (value := getattr(self, each.name))})
        return f"{root}/admin/audit" + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionsAddress:
    """The query of `/admin/suppressions`. Empty means: not narrowed."""

    q: str = ""
    reason: str = ""
    before: str = ""

    @classmethod
    def read(cls, given: Mapping[str, object]) -> SuppressionsAddress:
        """From a query. A reason that is none is left out, and a place that is none is the first page."""
        known = {each.name: plain(given.get(each.name)) for each in fields(cls)}
        if known["reason"] not in set(SuppressionReason):
            known["reason"] = ""
        known["before"] = email_id(known["before"]) or ""
        return cls(**known)

    @property
    def narrowed(self) -> bool:
        return bool(self.q or self.reason)

    @property
    def wanted_reason(self) -> SuppressionReason | None:
        return SuppressionReason(self.reason) if self.reason else None

    def but(self, **changes: str) -> SuppressionsAddress:
        """The same with something else; from the first page unless told otherwise."""
        return replace(self, **{"before": "", **changes})

    def path(self, root: str) -> str:
        """The address itself."""
        query = urlencode({each.name: value for each in fields(self) if (value := getattr(self, each.name))})
        return f"{root}/admin/suppressions" + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnsAddress:
    """The query of `/admin/returns`. Empty means: not narrowed."""

    q: str = ""
    kind: str = ""
    unclear: str = ""
    before: str = ""

    @classmethod
    def read(cls, given: Mapping[str, object]) -> ReturnsAddress:
        """From a query. A kind that is none is left out, and a place that is none is the first page."""
        known = {each.name: plain(given.get(each.name)) for each in fields(cls)}
        if known["kind"] not in KINDS:
            known["kind"] = ""
        known["unclear"] = "1" if known["unclear"] == "1" else ""
        known["before"] = email_id(known["before"]) or ""
        return cls(**known)

    @property
    def narrowed(self) -> bool:
        """Whether anything but the tab narrows it."""
        return bool(self.q or self.kind)

    @property
    def search(self) -> ReturnSearch:
        return ReturnSearch(kind=self.kind or None, unclear=bool(self.unclear), about=self.q)

    def but(self, **changes: str) -> ReturnsAddress:
        """The same with something else; from the first page unless told otherwise."""
        return replace(self, **{"before": "", **changes})

    def path(self, root: str) -> str:
        """The address itself."""
        query = urlencode({each.name: value for each in fields(self) if (value := getattr(self, each.name))})
        return f"{root}/admin/returns" + (f"?{query}" if query else "")


def plain(given: object) -> str:
    """What somebody typed, without what no database takes and nobody means: NUL and its like, halves of characters."""
    return _UNFIT.sub("", str(given or "")).strip()[:LONGEST]


def fit_lines(text: str) -> str:
    """A text of several lines without the same; its ends of lines and tabs stay."""
    return _UNFIT_IN_LINES.sub("", text)


def _moment(text: str) -> datetime | None:
    """As a browser's date field writes it; without a zone it is UTC, as everywhere on these pages."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return within_reach(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
