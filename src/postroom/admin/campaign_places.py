"""Where the pages of campaigns are, whose workspace they show, and whom they ask."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from urllib.parse import quote, unquote, urlencode

from fastapi import Request
from starlette.datastructures import FormData

from postroom.accounts.values import Person
from postroom.admin.addresses import fit_lines, plain
from postroom.admin.places import operations_of, root_of
from postroom.admin.workshop import workshop_of
from postroom.campaigns.drafts.forecasting import Outlook, look_ahead
from postroom.operate.campaign_looks import AsyncCampaignLooks
from postroom.operate.campaigns import AsyncCampaignOperations

FRESH = 20.0
"""Seconds for which a look ahead is good enough for a page."""
MOST_KEPT = 100
MOST_LOOKED_AT = 60_000
"""Mails that are looked ahead at; a plan of more takes seconds, and a page has not got them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Addresses within one workspace."""

    root: str
    workspace: str

    @property
    def name(self) -> str:
        return self.workspace or "without a name"

    def campaigns(self, **query: object) -> str:
        return self._at("campaigns", query)

    def campaign(self, id: str, tail: str = "", **query: object) -> str:
        """The page of a campaign, or what is beneath it: `launch`, `import`, …"""
        return self._at(f"campaigns/{segment(id)}{'/' + tail if tail else ''}", query)

    def prospect(self, id: str, prospect: str, tail: str = "") -> str:
        return self._at(f"campaigns/{segment(id)}/prospects/{segment(prospect)}{'/' + tail if tail else ''}", {})

    def sequence(self, id: str, **query: object) -> str:
        return self._at(f"sequences/{segment(id)}", query)

    def sending(self, tail: str = "", **query: object) -> str:
        return self._at(f"sending{'/' + tail if tail else ''}", query)

    def _at(self, path: str, query: Mapping[str, object]) -> str:
        told = {name: value for name, value in query.items() if value not in ("", None, 0)}
        return f"{self.root}/admin/{path}?{urlencode({'workspace': self.workspace, **told})}"


def segment(id: str) -> str:
    """An id as one part of a path. Its slashes are hidden from servers, which would divide the path there."""
    return quote(id.replace("%", "%25").replace("/", "%2F"), safe="")


def id_in(part: str) -> str:
    """The id that `segment` has written."""
    return plain(unquote(part))


def campaigns_of(request: Request) -> AsyncCampaignOperations:
    return AsyncCampaignOperations(operations_of(request).outbox)


def looks_of(request: Request) -> AsyncCampaignLooks:
    return AsyncCampaignLooks(operations_of(request).outbox)


async def place_of(request: Request, person: Person) -> Place:
    """The workspace that the address names, or the first of those there are. Who may not see it is refused later, by
    whoever is asked about it."""
    given = request.query_params.get("workspace")
    if given is None:
        known = await looks_of(request).workspaces(workspaces=person.workspaces)
        given = known[0] if known else ""
    return Place(root=root_of(request), workspace=plain(given))


async def outlook_of(request: Request, person: Person, workspace: str) -> Outlook:
    """What is still to leave; looked at beside the event loop, and again only after a while."""
    kept: dict[str, tuple[float, Outlook]] = _kept(request)
    at, outlook = kept.get(workspace, (0.0, None))
    if outlook is None or time.monotonic() - at > FRESH:
        looks = looks_of(request)
        agenda = await looks.agenda(workspace, workspaces=person.workspaces)
        outlook = await workshop_of(request).do(
            look_ahead, agenda, now=looks.now(), random=Random("outlook"), most=MOST_LOOKED_AT
        )
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[workspace] = time.monotonic(), outlook
    return outlook


def forget_outlook(request: Request, workspace: str) -> None:
    """Something was done that changes it."""
    _kept(request).pop(workspace, None)


def words(form: FormData, name: str) -> str:
    """A text of several lines out of a form, with lines ended as everywhere but in forms."""
    value = form.get(name)
    text = value if isinstance(value, str) else ""
    return fit_lines(text.replace("\r\n", "\n").replace("\r", "\n"))


def _kept(request: Request) -> dict[str, tuple[float, Outlook]]:
    if not hasattr(request.app.state, "outlooks"):
        request.app.state.outlooks = {}
    kept: dict[str, tuple[float, Outlook]] = request.app.state.outlooks
    return kept
