"""What all pages of a portal need: its doors, its words, and who is here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from examples.portals.doors import Doors, Visitor
from examples.portals.words import choose, words_of

HERE = Path(__file__).parent
VIEWS = Jinja2Templates(HERE / "views")

Text = Annotated[str, Form(max_length=300)]
Token = Annotated[str, Form(max_length=100)]


class Pages:
    """The pages of one portal: in its dress, and in the visitor's language."""

    def __init__(self, doors: Doors, *, around: Mapping[str, Any]) -> None:
        """`around` is known to every view: the regions, and where the dev inboxes are."""
        self.doors = doors
        self._around = around
        self._cookie = f"alder_{doors.name}"

    @property
    def asks_organisation(self) -> bool:
        """People come to hub for themselves, and to the others for somebody."""
        return self.doors.name != "hub"

    def language(self, request: Request) -> str:
        chosen = request.query_params.get("language") or request.cookies.get("alder_language")
        return choose(self.doors.portal, chosen=chosen, accepted=request.headers.get("accept-language"))

    def show(self, request: Request, view: str, *, status: int = 200, **context: Any) -> HTMLResponse:
        """A page in the visitor's language; one that was just chosen is remembered."""
        language, name, portal = self.language(request), self.doors.name, self.doors.portal
        known = {
            "portal": portal,
            "asks_organisation": self.asks_organisation,
            "language": language,
            "languages": {code: words_of(name, code)["language"] for code in portal.languages.spoken},
            "say": words_of(name, language),
            "notice": request.query_params.get("notice"),
            "typed": {},
            "problem": None,
        }
        page = VIEWS.TemplateResponse(request, view, {**self._around, **known, **context}, status_code=status)
        if request.query_params.get("language"):
            page.set_cookie("alder_language", language, samesite="lax")
        return page

    def spent(self, request: Request) -> HTMLResponse:
        """For a link that is good no more."""
        return self.show(request, "spent.html", status=410)

    def to(self, page: str = "", *, notice: str = "") -> RedirectResponse:
        """Go on to another page, which may begin with a notice: one of the words."""
        query = f"?notice={notice}" if notice else ""
        return RedirectResponse(f"/{self.doors.name}{page}{query}", status_code=303)

    def visitor(self, request: Request) -> Visitor | None:
        return self.doors.visitor(request.cookies.get(self._cookie, ""))

    def let_in(self, session: str) -> Response:
        """Behind TLS, make it `secure` too."""
        answer = self.to()
        answer.set_cookie(self._cookie, session, httponly=True, samesite="lax")
        return answer

    def let_out(self, request: Request) -> Response:
        self.doors.sign_out(request.cookies.get(self._cookie, ""))
        answer = self.to()
        answer.delete_cookie(self._cookie)
        return answer


def _at(request: Request, portal: str) -> Pages:
    """The portal that an address begins with."""
    known: Mapping[str, Pages] = request.app.state.pages
    if portal not in known:
        raise HTTPException(404)
    return known[portal]


AtPortal = Annotated[Pages, Depends(_at)]
"""What a page is given that is beneath `/{portal}`."""
