"""Other pages in the developer's browser reach nothing here."""

from __future__ import annotations

import socket

import httpx
import pytest

from postroom.inbox import DevInbox, api, pages
from tests.inbox.post import plain, post

CHANGES = [
    ("POST", "/delete-all"),
    ("POST", "/messages/1/delete"),
    ("POST", "/chaos"),
    ("DELETE", "/api/inbox/messages"),
    ("DELETE", "/api/inbox/messages/1"),
    ("PUT", "/api/inbox/chaos"),
]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8025", "127.0.0.1.evil.example", "localhost.", ""])
def test_a_name_that_is_not_ours_reads_nothing(inbox: DevInbox, client: httpx.Client, host: str) -> None:
    """DNS rebinding: a page has pointed its own name at 127.0.0.1."""
    post(inbox, plain("Secret"))
    answers = [client.get(path, headers={"Host": host}) for path in ("/", "/api/inbox/messages", "/messages/1/raw")]

    assert {answer.status_code for answer in answers} == {421}
    assert not any("Secret" in answer.text for answer in answers)


def test_the_names_of_this_machine_are_ours(inbox: DevInbox, client: httpx.Client) -> None:
    hosts = [f"{name}:{inbox.port}" for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]")]

    assert [client.get("/", headers={"Host": host}).status_code for host in hosts] == [200] * 4


def test_another_name_can_be_allowed() -> None:
    with DevInbox(allowed_hosts=["inbox.test"]) as inbox:
        answer = httpx.get(inbox.url, headers={"Host": "inbox.test"}, trust_env=False)

        assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_page_changes_nothing(inbox: DevInbox, client: httpx.Client, headers: dict[str, str]) -> None:
    """Cross-site request forgery, by every route that changes something."""
    post(inbox, plain())
    answers = [client.request(method, path, headers=headers) for method, path in CHANGES]

    assert [answer.status_code for answer in answers] == [403] * len(CHANGES)
    assert len(inbox.messages()) == 1
    assert inbox.chaos.state() == {}


def test_every_route_that_changes_something_is_among_those() -> None:
    routes = {(method, route.path) for each in (api, pages) for route in each.router.routes for method in route.methods}  # type: ignore[attr-defined]
    changing = {(method, path.replace("{id}", "1")) for method, path in routes if method not in ("GET", "HEAD")}

    assert changing == set(CHANGES)


def test_nothing_is_changed_by_reading(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, plain())
    before = inbox.changes
    answers = [client.get(path).status_code for path in ("/delete-all", "/messages/1/delete", "/chaos")]

    assert answers == [405, 405, 405]
    assert inbox.changes == before


def test_a_large_body_is_refused_before_it_is_read(client: httpx.Client) -> None:
    assert client.post("/chaos", content=b"x" * 20_000).status_code == 413


def test_a_body_of_unknown_length_is_refused(client: httpx.Client) -> None:
    assert client.post("/chaos", content=iter([b"x"])).status_code == 411


@pytest.mark.parametrize("path", ["/", "/messages/1", "/messages/9", "/api/inbox/messages", "/static/inbox.js", "/no"])
def test_every_answer_is_on_its_guard(inbox: DevInbox, client: httpx.Client, path: str) -> None:
    post(inbox, plain())
    headers = client.get(path).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers
    assert "unsafe" not in headers["content-security-policy"]


def test_a_request_without_a_host_is_refused(inbox: DevInbox) -> None:
    with socket.create_connection(("127.0.0.1", inbox.port), timeout=30) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")

        assert b" 421 " in client.recv(1000).partition(b"\r\n")[0]
