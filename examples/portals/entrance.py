"""Pages: the door, signing up, confirming an address, signing in and out."""

from __future__ import annotations

from email_validator import EmailNotValidError, validate_email
from fastapi import APIRouter, Request
from fastapi.responses import Response

from examples.portals import accounts, passwords
from examples.portals.accounts import NewAccount
from examples.portals.doors import Refused
from examples.portals.pages import AtPortal, Text, Token

router = APIRouter(prefix="/{portal}")
# Plain functions: FastAPI runs them in threads, where waiting for a database holds nobody up.


@router.get("")
def home(request: Request, pages: AtPortal) -> Response:
    visitor = pages.visitor(request)
    if visitor is None:
        return pages.show(request, "door.html")
    return pages.show(request, "home.html", visitor=visitor, names=pages.doors.colleagues(visitor))


@router.get("/sign-up")
def sign_up_page(request: Request, pages: AtPortal) -> Response:
    return pages.show(request, "sign_up.html")


@router.post("/sign-up")
def sign_up(
    request: Request,
    pages: AtPortal,
    email: Text = "",
    name: Text = "",
    password: Text = "",
    region: Text = "",
    organisation: Text = "",
) -> Response:
    typed = {"email": email, "name": name, "region": region, "organisation": organisation}
    try:
        if region not in pages.doors.regions or (pages.asks_organisation and not organisation.strip()):
            raise Refused("incomplete")
        new = new_account(
            email=address(email),
            name=name,
            language=pages.language(request),
            password=password,
            organisation=organisation if pages.asks_organisation else "",
        )
        pages.doors.sign_up(new, region=region)
    except Refused as refused:
        return pages.show(request, "sign_up.html", status=422, problem=refused.why, typed=typed)
    return pages.to("/look")


@router.get("/look")
def look(request: Request, pages: AtPortal) -> Response:
    return pages.show(request, "look.html")


@router.get("/verify")
def verify_page(request: Request, pages: AtPortal, token: str = "") -> Response:
    return pages.show(request, "press.html", act="verify", token=token)


@router.post("/verify")
def verify(request: Request, pages: AtPortal, token: Token = "") -> Response:
    try:
        pages.doors.verify(token)
    except Refused:
        return pages.spent(request)
    return pages.to("/sign-in", notice="verified")


@router.get("/sign-in")
def sign_in_page(request: Request, pages: AtPortal) -> Response:
    return pages.show(request, "sign_in.html")


@router.post("/sign-in")
def sign_in(request: Request, pages: AtPortal, email: Text = "", password: Text = "") -> Response:
    try:
        return pages.let_in(pages.doors.sign_in(accounts.normal(email), password))
    except Refused as refused:
        return pages.show(request, "sign_in.html", status=403, problem=refused.why, typed={"email": email})


@router.post("/sign-out")
def sign_out(request: Request, pages: AtPortal) -> Response:
    return pages.let_out(request)


def address(text: str) -> str:
    """An address in its one spelling; `Refused` for what is none."""
    try:
        return accounts.normal(validate_email(text.strip(), check_deliverability=False).normalized)
    except EmailNotValidError:
        raise Refused("bad_address") from None


def new_account(*, email: str, name: str, language: str, password: str, organisation: str = "") -> NewAccount:
    """What was filled in, provided that it can be used."""
    if not name.strip():
        raise Refused("incomplete")
    if not passwords.is_good(password):
        raise Refused("short_password")
    return NewAccount(
        email=email,
        name=" ".join(name.split()),
        language=language,
        password=passwords.hashed(password),
        organisation=" ".join(organisation.split()),
    )
