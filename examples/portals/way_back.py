"""Pages: a new password by email, and locking an account that somebody else got into."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from examples.portals import accounts
from examples.portals.doors import Refused
from examples.portals.pages import AtPortal, Text, Token

router = APIRouter(prefix="/{portal}")


@router.get("/forgot-password")
def forgot_page(request: Request, pages: AtPortal) -> Response:
    return pages.show(request, "forgot_password.html")


@router.post("/forgot-password")
def forgot(pages: AtPortal, email: Text = "") -> Response:
    pages.doors.forgot_password(accounts.normal(email))
    return pages.to("/look")  # the same for an address that nobody has


@router.get("/new-password")
def new_password_page(request: Request, pages: AtPortal, token: str = "") -> Response:
    return pages.show(request, "new_password.html", token=token)


@router.post("/new-password")
def new_password(request: Request, pages: AtPortal, token: Token = "", password: Text = "") -> Response:
    try:
        pages.doors.choose_password(token, password, browser=_browser(request))
    except Refused as refused:
        if refused.why == "spent":
            return pages.spent(request)
        return pages.show(request, "new_password.html", status=422, problem=refused.why, token=token)
    return pages.to("/sign-in", notice="changed")


@router.get("/lock")
def lock_page(request: Request, pages: AtPortal, token: str = "") -> Response:
    return pages.show(request, "press.html", act="lock", token=token)


@router.post("/lock")
def lock(request: Request, pages: AtPortal, token: Token = "") -> Response:
    try:
        pages.doors.lock(token)
    except Refused:
        return pages.spent(request)
    return pages.to("/sign-in", notice="locked")


def _browser(request: Request) -> str:
    """What the browser is called, in a word that people know; nothing where it is none of those."""
    agent = request.headers.get("user-agent", "")
    known = {"Edg/": "Edge", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
    return next((name for mark, name in known.items() if mark in agent), "")
