"""Where somebody is led who gave an address that is no page, or has to sign in before anything else.

Always a path within this app: what a request says about hosts is not repeated.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import Request
from starlette.routing import Match

from postroom.admin.notices import without_notice
from postroom.admin.places import path_of, root_of

_LISTS = {
    "/admin/campaigns": "Campaigns",
    "/admin/sequences": "Campaigns",
    "/admin/sending": "Campaigns",
    "/admin/suppressions": "Suppressions",
    "/admin/returns": "Returns",
    "/admin/templates": "Templates",
}


def page_meant(request: Request) -> str | None:
    """The page that somebody meant who gave the address of the app itself, or one with a slash too many."""
    root, path = root_of(request), path_of(request)
    if not _is_look(request):
        return None
    if path in ("", "/"):
        return f"{root}/admin"
    bare = path.rstrip("/")
    if bare == path or not bare.startswith("/admin") or not _answers(request, "GET", bare):
        return None
    return _with_query(request, bare)


def page_of_act(request: Request) -> str | None:
    """The page that has the button of an act, for whoever looks at the act's address: a browser that loads again what
    the act had answered, or goes there after a sign-in. None where the address is no act's."""
    path = path_of(request).rstrip("/")
    if not path.startswith("/admin/") or not _answers(request, "POST", path):
        return None
    while path != "/admin":
        path = path.rpartition("/")[0]
        if _answers(request, "GET", path):
            return _with_query(request, path)
    return None


def page_before(request: Request) -> str:
    """The page of ours whose form was sent, as far as the browser says; empty otherwise."""
    before = urlsplit(request.headers.get("referer", ""))
    ours = before.netloc == request.headers.get("host") and before.path.startswith(f"{root_of(request)}/admin")
    if request.method != "POST" or not ours:
        return ""
    return without_notice(before.path, dict(parse_qsl(before.query, keep_blank_values=True)))


def list_of(request: Request) -> tuple[str, str] | None:
    """The list that an address belongs to, by its name and its own address; of campaigns, that of the workspace."""
    path = path_of(request)
    found = next((each for each in _LISTS if path == each or path.startswith(f"{each}/")), None)
    if found is None:
        return None
    if _LISTS[found] != "Campaigns":
        return _LISTS[found], f"{root_of(request)}{found}"
    workspace = request.query_params.get("workspace")
    query = "" if workspace is None else f"?workspace={quote(workspace, safe='')}"
    return _LISTS[found], f"{root_of(request)}/admin/campaigns{query}"


def _is_look(request: Request) -> bool:
    return request.method in ("GET", "HEAD")


def _with_query(request: Request, path: str) -> str:
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{root_of(request)}{quote(path)}{query}"


def _answers(request: Request, method: str, path: str) -> bool:
    scope = {**request.scope, "path": root_of(request) + path, "method": method}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
