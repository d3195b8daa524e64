"""The sign-in pages: name and password, then a code. The only pages that anybody can see."""

from __future__ import annotations

from datetime import timedelta
from math import ceil
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Request
from starlette.background import BackgroundTask
from starlette.responses import RedirectResponse, Response

from postroom.accounts.answers import Entered, Half, Refused, Withheld, WrongCode
from postroom.accounts.names import LONGEST, printable
from postroom.admin.notices import SIGNED_OUT
from postroom.admin.places import operations_of
from postroom.admin.rendering import render
from postroom.admin.security import check_forgery, retry_after, safe_next, sign_in_path
from postroom.admin.signin_words import hint, not_yet, span, too_many, wrong
from postroom.admin.visit import (
    address_of,
    form_cookie,
    give_cookie,
    is_dev,
    keeper,
    session_cookie,
    take_cookie,
    visit_of,
)

router = APIRouter(include_in_schema=False)

NOT_LET_IN = "That name and password do not go together."
NOT_DONE = "You are not signed in any more, so what you pressed was not done."
BEGIN_AGAIN = "That sign-in is over. Please begin again."

Text = Annotated[str, Form(max_length=2_000)]


@router.get("/admin/sign-in")
async def ask_password(request: Request, next: str = "", over: bool = False) -> Response:
    """Ask for name and password."""
    visit = await visit_of(request)
    if visit.person is not None or is_dev(request):
        return RedirectResponse(safe_next(request, next), status_code=303)
    told = NOT_DONE if f"notice={SIGNED_OUT}" in next else None
    return await _password_page(request, next, error=BEGIN_AGAIN if over else None, told=told)


@router.post("/admin/sign-in")
async def take_password(
    request: Request, name: Text = "", password: Text = "", code: Text = "", mail: Text = "", next: Text = ""
) -> Response:
    """The first step. Whatever was wrong, the answer is the same."""
    await check_forgery(request)
    if wait := retry_after(request):
        return await _password_page(request, next, error=too_many(wait), status=429, name=name, wait=wait)
    address = address_of(request)
    answer = await keeper(request).knock(name, password, address=address, code="" if mail else code, mail=bool(mail))
    if isinstance(answer, Withheld):
        wait = answer.wait.total_seconds()
        page = await _password_page(request, next, status=429, name=name, wait=wait, withheld=span(wait))
    elif isinstance(answer, Refused):
        page = await _password_page(request, next, error=NOT_LET_IN, status=401, name=name)
    else:
        return await _go_on(request, *answer, next=next)
    page.background = BackgroundTask(keeper(request).follow_up, name, answer, address=address)
    return page


@router.get("/admin/sign-in/code")
async def ask_code(request: Request, next: str = "", wait: int = 0) -> Response:
    """Ask for the code that was mailed, or one that needs no mail."""
    visit = await visit_of(request)
    if visit.person is not None:
        return RedirectResponse(safe_next(request, next), status_code=303)
    if visit.half is None:
        return RedirectResponse(sign_in_path(request), status_code=303)
    return await _code_page(request, next, notice=not_yet(wait) if wait > 0 else None)


@router.post("/admin/sign-in/code")
async def take_code(request: Request, code: Text = "", next: Text = "") -> Response:
    """The second step: from here on everything works, under a new session."""
    await check_forgery(request)
    if wait := retry_after(request):
        return await _code_page(request, next, error=too_many(wait), status=429, wait=wait)
    address = address_of(request)
    answer = await keeper(request).enter(_cookie(request), code, address=address)
    if isinstance(answer, WrongCode):
        wait = answer.wait.total_seconds()
        page = await _code_page(request, next, error=wrong(answer), status=429 if wait else 401, wait=wait)
        page.background = BackgroundTask(keeper(request).follow_up, "", answer, address=address)
        return page
    if isinstance(answer, Refused):
        over = RedirectResponse(f"{sign_in_path(request)}?over=1", status_code=303)
        take_cookie(request, over, session_cookie(request))
        return over
    return _let_in(request, *answer, next=next)


@router.post("/admin/sign-in/resend")
async def resend(request: Request, next: Text = "") -> Response:
    """Another code, or the first one that was asked for, if it is time for one."""
    await check_forgery(request)
    if wait := retry_after(request):
        return await _code_page(request, next, error=too_many(wait), status=429, wait=wait)
    pause = await keeper(request).resend(_cookie(request), address=address_of(request))
    if pause is None:
        return RedirectResponse(sign_in_path(request), status_code=303)
    if pause:
        seconds = pause.total_seconds()
        return await _code_page(request, next, error=not_yet(ceil(seconds)), status=429, wait=seconds)
    return await _code_page(request, next, notice="A new code is on its way. The one before is good no more.")


@router.post("/admin/sign-out")
async def sign_out(request: Request) -> Response:
    """The session ends here and now, on the server."""
    await check_forgery(request)
    await _end_old(request)
    response = RedirectResponse(sign_in_path(request), status_code=303)
    take_cookie(request, response, session_cookie(request))
    return response


async def _go_on(request: Request, token: str, answer: Half | Entered, *, next: str) -> Response:
    """After the first step: to the second one, or in, where both were taken at once."""
    await _end_old(request)
    if isinstance(answer, Entered):
        return _let_in(request, token, answer, next=next)
    response = RedirectResponse(_code_path(request, next, wait=answer.wait), status_code=303)
    give_cookie(request, response, session_cookie(request), token)
    response.background = BackgroundTask(keeper(request).follow_up, "", answer, address=address_of(request))
    return response


def _let_in(request: Request, token: str, entered: Entered, *, next: str) -> Response:
    response = RedirectResponse(safe_next(request, next), status_code=303)
    give_cookie(request, response, session_cookie(request), token)
    take_cookie(request, response, form_cookie(request))
    told = keeper(request).follow_up
    response.background = BackgroundTask(told, "", entered, address=address_of(request))
    return response


async def _end_old(request: Request) -> None:
    """A session that the browser brought along is never carried on: it may have been planted there."""
    if token := _cookie(request):
        await keeper(request).leave(token, address=address_of(request))


async def _password_page(
    request: Request,
    next: str,
    *,
    error: str | None = None,
    told: str | None = None,
    status: int = 200,
    name: str = "",
    wait: float = 0,
    withheld: str = "",
) -> Response:
    """`withheld`: for how long no password is answered for; password and code are asked for together."""
    visit = await visit_of(request)
    page = render(
        request,
        "signin.html",
        status=status,
        headers=_retry_header(wait),
        error=error,
        told=told,
        name=printable(name[:LONGEST]),
        withheld=withheld,
        next=safe_next(request, next),
    )
    if visit.form is not None:
        give_cookie(request, page, form_cookie(request), visit.form)
    return page


async def _code_page(
    request: Request,
    next: str,
    *,
    error: str | None = None,
    notice: str | None = None,
    status: int = 200,
    wait: float = 0,
) -> Response:
    visit = await visit_of(request)
    if visit.half is None:
        return RedirectResponse(sign_in_path(request), status_code=303)
    person = visit.half.person
    factors = await keeper(request).factors(person)
    return render(
        request,
        "signin_code.html",
        status=status,
        headers=_retry_header(wait),
        error=error,
        told=notice,
        address=hint(person.name),
        authenticator=factors.authenticator,
        recovery=bool(factors.recovery_codes),
        standstill=await operations_of(request).standstill(keeper(request).code_route(person)),
        next=safe_next(request, next),
    )


def _cookie(request: Request) -> str:
    return request.cookies.get(session_cookie(request), "")


def _code_path(request: Request, next: str, *, wait: timedelta) -> str:
    seconds = ceil(wait.total_seconds())
    asked = {"next": safe_next(request, next)} | ({"wait": str(seconds)} if seconds else {})
    return f"{sign_in_path(request, '/code')}?{urlencode(asked, safe='/')}"


def _retry_header(wait: float) -> dict[str, str]:
    return {"Retry-After": str(ceil(wait))} if wait else {}
