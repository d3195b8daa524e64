"""Pages of org alone: a member invites a colleague, who joins."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from examples.portals.doors import Refused
from examples.portals.entrance import address, new_account
from examples.portals.invitations import Invitations
from examples.portals.pages import Pages, Text, Token
from examples.portals.words import spoken, words_of

router = APIRouter(prefix="/org")


def _org(request: Request) -> Pages:
    pages: Pages = request.app.state.pages["org"]
    return pages


def _invitations(request: Request) -> Invitations:
    return Invitations(_org(request).doors)


AtOrg = Annotated[Pages, Depends(_org)]
Known = Annotated[Invitations, Depends(_invitations)]


@router.post("/invite")
def invite(
    request: Request, pages: AtOrg, invitations: Known, email: Text = "", role: Text = "", language: Text = ""
) -> Response:
    visitor = pages.visitor(request)
    if visitor is None:
        return pages.to("/sign-in")
    language = spoken(pages.doors.portal, language) or visitor.account.language
    words = words_of("org", language)
    try:
        named = words.get(f"role_{role}", words["role_recruiter"])
        invitations.invite(visitor, email=address(email), role=named, language=language)
    except Refused as refused:
        names = pages.doors.colleagues(visitor)
        return pages.show(request, "home.html", status=422, problem=refused.why, visitor=visitor, names=names)
    return pages.to(notice="invited")


@router.get("/invitation")
def invitation_page(request: Request, pages: AtOrg, invitations: Known, token: str = "") -> Response:
    try:
        invitation = invitations.look(token)
    except Refused:
        return pages.spent(request)
    return pages.show(request, "invitation.html", invitation=invitation, token=token)


@router.post("/invitation")
def join(
    request: Request, pages: AtOrg, invitations: Known, token: Token = "", name: Text = "", password: Text = ""
) -> Response:
    try:
        invitation = invitations.look(token)
    except Refused:
        return pages.spent(request)
    try:
        new = new_account(email=invitation.email, name=name, language=invitation.language, password=password)
        invitations.accept(token, new)
    except Refused as refused:
        again = {"invitation": invitation, "token": token, "typed": {"name": name}}
        return pages.show(request, "invitation.html", status=422, problem=refused.why, **again)
    return pages.to("/sign-in", notice="joined")
