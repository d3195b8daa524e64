"""The page of one's own account: an authenticator and recovery codes, for when mail is down. Works without scripts."""

from __future__ import annotations

from math import ceil
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from starlette.responses import RedirectResponse, Response

from postroom.accounts.own import OwnAccount, Unproved
from postroom.accounts.totp import as_typed, enrolment_uri
from postroom.accounts.values import Person, Role
from postroom.admin.contexts import AccountPage
from postroom.admin.errors import ApiError
from postroom.admin.notices import read_notice, with_notice
from postroom.admin.places import root_of
from postroom.admin.qr import draw
from postroom.admin.rendering import render
from postroom.admin.security import needs, retry_after
from postroom.admin.signin_words import span, too_many
from postroom.admin.visit import DEVELOPER, address_of, keeper, visit_of

router = APIRouter(include_in_schema=False)

NOT_PROVED = "That is neither your password nor a code that is good now. Nothing was changed."
Text = Annotated[str, Form(max_length=2_000)]


async def myself(request: Request, person: Annotated[Person, Depends(needs(Role.VIEWER))]) -> OwnAccount:
    """A dependency: the account of whoever sits there. A token is no person, and a developer has no account."""
    if (await visit_of(request)).by_token is not None or person == DEVELOPER:
        raise ApiError(
            status=403,
            code="not_allowed",
            message="this is about somebody who is signed in with a password",
            remedy="sign in at /admin/sign-in; in development mode nobody has an account",
        )
    return OwnAccount(keeper=keeper(request), person=person, address=address_of(request))


Myself = Annotated[OwnAccount, Depends(myself)]


@router.get("/admin/account")
async def account(request: Request, own: Myself) -> Response:
    """How one signs in."""
    return await _page(request, own)


@router.post("/admin/account/authenticator")
async def offer(request: Request, own: Myself, proof: Text = "") -> Response:
    """A secret for an authenticator, as a picture and in letters; nothing changes before a code of it is typed."""
    if (await own.keeper.factors(own.person)).authenticator:
        return _go(request, "authenticator_there")
    if hurry := _hurry(request):
        return await _page(request, own, problem=hurry[0], wait=hurry[1])
    answer = await own.offer(proof)
    if isinstance(answer, Unproved):
        return await _unproved(request, own, answer)
    return await _page(request, own, secret=answer)


@router.post("/admin/account/authenticator/confirm")
async def confirm(request: Request, own: Myself, code: Text = "") -> Response:
    """A code of the new authenticator: from here on it lets one in. Recovery codes are shown, once."""
    secret = await own.offered()
    if secret is None:
        return _go(request, "offer_over")
    codes = await own.confirm(code)
    if codes is None:
        problem = "That is not a code of this authenticator. Is the clock of your telephone right?"
        return await _page(request, own, secret=secret, problem=problem, status=422)
    return await _page(request, own, codes=codes, done="Your authenticator is in use.")


@router.post("/admin/account/authenticator/off")
async def turn_off(request: Request, own: Myself, proof: Text = "") -> Response:
    """Back to codes by email alone."""
    if hurry := _hurry(request):
        return await _page(request, own, problem=hurry[0], wait=hurry[1])
    answer = await own.turn_off(proof)
    if isinstance(answer, Unproved):
        return await _unproved(request, own, answer)
    return _go(request, "authenticator_off")


@router.post("/admin/account/recovery-codes")
async def renew_codes(request: Request, own: Myself, proof: Text = "") -> Response:
    """New recovery codes, shown once."""
    if not (await own.keeper.factors(own.person)).authenticator:
        return _go(request, "authenticator_missing")
    if hurry := _hurry(request):
        return await _page(request, own, problem=hurry[0], wait=hurry[1])
    answer = await own.renew_codes(proof)
    if isinstance(answer, Unproved):
        return await _unproved(request, own, answer)
    return await _page(request, own, codes=answer, done="The recovery codes from before are good no more.")


async def _unproved(request: Request, own: OwnAccount, answer: Unproved) -> Response:
    wait = answer.wait.total_seconds()
    if not wait:
        return await _page(request, own, problem=NOT_PROVED, status=422)
    return await _page(request, own, problem=f"{NOT_PROVED} It can be tried again in {span(wait)}.", wait=wait)


async def _page(
    request: Request,
    own: OwnAccount,
    *,
    secret: bytes | None = None,
    codes: tuple[str, ...] = (),
    done: str = "",
    problem: str = "",
    status: int = 200,
    wait: float = 0,
) -> Response:
    shown: dict[str, Any] = {}
    if secret is not None:
        uri = enrolment_uri(secret, name=own.person.name)
        shown = {"drawing": draw(uri), "uri": uri, "secret": as_typed(secret)}
    factors = await own.keeper.factors(own.person)
    page = AccountPage(factors=factors, codes=codes, done=done, problem=problem, **shown)
    return render(
        request,
        "account.html",
        status=429 if wait else status,
        headers={"Retry-After": str(ceil(wait))} if wait else {},
        person=own.person,
        section="account",
        page=page,
        notice=read_notice(request.query_params),
    )


def _hurry(request: Request) -> tuple[str, float] | None:
    """Too many tries from there: checking a password takes work."""
    wait = retry_after(request)
    return (too_many(wait), wait) if wait else None


def _go(request: Request, notice: str) -> Response:
    return RedirectResponse(with_notice(f"{root_of(request)}/admin/account", notice), status_code=303)
