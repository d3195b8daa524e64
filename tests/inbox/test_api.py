"""The JSON API of the dev inbox, as tests and scripts use it."""

from __future__ import annotations

import socket
import threading
from typing import Any

import httpx
import pytest

from postroom.inbox import DevInbox
from tests.inbox.post import plain, post


def messages(client: httpx.Client, **query: Any) -> Any:
    answer = client.get("/api/inbox/messages", params=query)

    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_list_says_what_there_is(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, plain("One"), plain("Two"))
    found = messages(client)

    assert found["total"] == 2
    assert found["next"] is None
    assert [message["subject"] for message in found["messages"]] == ["Two", "One"]
    assert found["messages"][1] == {
        "id": 1,
        "receivedAt": found["messages"][1]["receivedAt"],
        "sender": "grace@example.org",
        "recipients": ["ada@example.org"],
        "from": "Grace <grace@example.org>",
        "subject": "One",
        "messageId": "<one@example.org>",
        "snippet": "Good to see you.",
        "attachments": 0,
        "size": found["messages"][1]["size"],
    }
    assert found["messages"][1]["receivedAt"].endswith("Z")


def test_pages_follow_each_other_and_a_search_narrows(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, *(plain(f"Number {number}") for number in range(3)))
    first = messages(client, limit=2)
    second = messages(client, limit=2, before=first["next"])

    assert [message["subject"] for message in first["messages"]] == ["Number 2", "Number 1"]
    assert [message["subject"] for message in second["messages"]] == ["Number 0"]
    assert messages(client, q="number 1")["total"] == 1
    assert messages(client, to="ada@example.org")["total"] == 3
    assert messages(client, to="nobody@example.org")["total"] == 0


def test_a_test_can_wait_for_a_message(inbox: DevInbox, client: httpx.Client) -> None:
    """The question is asked before there is an answer."""
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(messages(client, q="late", wait=30)))
    asking.start()
    post(inbox, plain("Early"), plain("Late"))
    asking.join(timeout=60)

    assert [message["subject"] for message in answers[0]["messages"]] == ["Late"]


def test_one_message_comes_apart(inbox: DevInbox, client: httpx.Client) -> None:
    message = plain("Files")
    message.add_alternative("<p>Good to see you.</p>", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="menu.pdf")
    post(inbox, message)
    found = client.get("/api/inbox/messages/1").json()

    assert found["message"]["subject"] == "Files"
    assert found["text"] == "Good to see you.\n"
    assert found["html"] == "<p>Good to see you.</p>\n"
    assert {"name": "Subject", "value": "Files"} in found["headers"]
    assert [(each["name"], each["mediaType"], each["size"]) for each in found["attachments"]] == [
        ("menu.pdf", "application/pdf", 4)
    ]
    assert client.get(found["attachments"][0]["url"]).content == b"%PDF"
    assert b"Subject: Files" in client.get(found["rawUrl"]).content
    assert found["invite"] is None


def test_mail_can_be_deleted(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, *(plain(f"Number {number}") for number in range(3)))

    assert client.delete("/api/inbox/messages/1").json() == {"deleted": 1}
    assert client.get("/api/inbox/messages/1").status_code == 404
    assert client.delete("/api/inbox/messages").json() == {"deleted": 2}
    assert messages(client)["total"] == 0


def test_chaos_can_be_switched(inbox: DevInbox, client: httpx.Client) -> None:
    wanted = {"on": [{"trouble": "temporary", "times": 2}, {"trouble": "slow"}]}
    inbox.switch_on("drop")
    answer = client.put("/api/inbox/chaos", json=wanted)

    assert answer.json() == {"on": [{"trouble": "temporary", "times": 2}, {"trouble": "slow", "times": None}]}
    assert client.get("/api/inbox/chaos").json() == answer.json()
    assert client.put("/api/inbox/chaos", json={"on": []}).json() == {"on": []}


def test_the_state_changes_with_mail_and_with_chaos(inbox: DevInbox, client: httpx.Client) -> None:
    states = [client.get("/api/inbox/state").json()["changes"]]
    post(inbox, plain())
    states.append(client.get("/api/inbox/state").json()["changes"])
    inbox.switch_on("slow")
    states.append(client.get("/api/inbox/state").json()["changes"])

    assert len(set(states)) == 3


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/inbox/messages/7", 404, "not_found"),
        ("GET", "/api/inbox/messages/-1", 404, "not_found"),
        ("GET", f"/api/inbox/messages/{2**70}", 404, "not_found"),
        ("DELETE", f"/api/inbox/messages/{2**70}", 404, "not_found"),
        ("GET", "/api/inbox/messages/x", 422, "invalid"),
        ("GET", "/api/inbox/messages?limit=0", 422, "invalid"),
        ("GET", "/api/inbox/messages?wait=31", 422, "invalid"),
        ("PUT", "/api/inbox/chaos", 422, "invalid"),
        ("POST", "/api/inbox/messages", 405, "method_not_allowed"),
        ("GET", "/api/inbox/nothing", 404, "not_found"),
    ],
)
def test_every_error_has_one_shape(client: httpx.Client, method: str, path: str, status: int, code: str) -> None:
    answer = client.request(method, path)

    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code
    assert set(answer.json()["error"]) == {"code", "message", "remedy"}


def test_many_who_wait_for_mail_keep_nobody_from_the_page(inbox: DevInbox, client: httpx.Client) -> None:
    """Each held a thread, of which there are forty: from then on nothing was answered."""
    place = ("127.0.0.1", inbox.port)
    waiting = [socket.create_connection(place, timeout=60) for _ in range(150)]
    try:
        for each in waiting:
            each.sendall(b"GET /api/inbox/messages?q=never&wait=30 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        pages = [client.get(path).status_code for path in ("/", "/api/inbox/state", "/api/inbox/messages")]
        waiting[0].setblocking(False)
        with pytest.raises(BlockingIOError):
            waiting[0].recv(1)
        waiting[0].setblocking(True)
        waiting[0].settimeout(60)
        inbox.shelf.stop_waiting()
        ended = [each.recv(12) for each in waiting]
    finally:
        for each in waiting:
            each.close()

    assert pages == [200, 200, 200]
    assert ended == [b"HTTP/1.1 200"] * 150
