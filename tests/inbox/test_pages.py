"""The pages of the dev inbox, without JavaScript."""

from __future__ import annotations

import html
import re

import httpx
import pytest

from postroom.inbox import DevInbox, Trouble
from tests.inbox.post import PICTURE, plain, post

HOSTILE = "<script>steal()</script>"


def rich(subject: str = "Rich") -> bytes:
    message = plain(subject)
    message.add_alternative(
        f'<p style="color:red">Good to see you.</p>{HOSTILE}<img src=x onerror=steal()>'
        '<img src="cid:flower"><img src="https://elsewhere.example/p.gif">',
        subtype="html",
    )
    message.get_payload()[1].add_related(PICTURE, "image", "gif", cid="<flower>")  # type: ignore[union-attr, index]
    message.add_attachment(b"<script>", maintype="text", subtype="html", filename='a"b%\u00fc.html')
    return bytes(message)


def document(page: str) -> str:
    """What is in the frame."""
    found = re.search(r'<iframe [^>]*srcdoc="([^"]*)"', page)
    assert found
    return html.unescape(found[1])


def test_an_empty_inbox_says_how_to_fill_it(inbox: DevInbox, client: httpx.Client) -> None:
    page = client.get("/").text

    assert "No mail yet." in page
    assert f"POSTROOM_SMTP={inbox.smtp_url}" in page


def test_the_list_shows_who_wrote_what_to_whom(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, plain("Welcome"), plain(f"Hostile {HOSTILE}"))
    page = client.get("/").text

    assert "Grace &lt;grace@example.org&gt;" in page
    assert "to ada@example.org" in page
    assert HOSTILE not in page
    assert "2 messages" in page
    assert '<meta http-equiv="refresh"' in page  # new mail appears without JavaScript too


def test_a_search_is_in_the_address_and_finds(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, plain("Apples"), plain("Pears"))
    page = client.get("/", params={"q": "apples"}).text

    assert "Apples" in page
    assert "Pears" not in page
    assert "No message says that." in client.get("/", params={"q": HOSTILE}).text
    assert HOSTILE not in client.get("/", params={"q": HOSTILE}).text


def test_older_mail_is_a_page_away(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, *(plain(f"Number {number}") for number in range(51)))
    first = client.get("/").text
    link = html.unescape(re.search(r'href="([^"]*before=[^"]*)"', first)[1])  # type: ignore[index]
    second = client.get(link).text

    assert "Number 0<" not in first
    assert "Number 0<" in second
    assert "Number 50<" not in second


def test_the_addresses_of_pages_in_a_text_can_be_followed_and_nothing_else_of_it_is_markup(
    inbox: DevInbox, client: httpx.Client
) -> None:
    post(inbox, plain(text=f'Stop (https://a.example/u/1?x=1&y="2). {HOSTILE} javascript:x() <https://b.example/>.'))
    page = client.get("/messages/1", params={"view": "text"}).text

    assert re.findall(r'href="(http[^"]*)"', page) == ["https://a.example/u/1?x=1&amp;y=", "https://b.example/"]
    assert 'target="_blank" rel="noopener noreferrer">https://b.example/</a>&gt;.' in page
    assert HOSTILE not in page
    assert 'href="javascript' not in page


def test_html_is_shown_behind_walls(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, rich())
    answer = client.get("/messages/1")
    shown = document(answer.text)

    assert re.search(r'<iframe [^>]*\bsandbox="allow-popups allow-popups-to-escape-sandbox" ', answer.text)
    assert "Good to see you." in shown
    assert "steal" not in shown
    assert "https://elsewhere.example" not in shown
    assert "data:image/gif;base64," in shown
    assert "default-src 'none'" in html.unescape(shown)
    assert "img-src 'self' data:;" in answer.headers["content-security-policy"]
    assert "1 picture from elsewhere" in answer.text


def test_pictures_from_elsewhere_are_shown_when_asked_for(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, rich())
    answer = client.get("/messages/1?images=1")

    assert "https://elsewhere.example/p.gif" in document(answer.text)
    assert "https:" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("text", "Good to see you."),
        ("headers", "Message-ID"),
        ("source", "&lt;script&gt;steal()&lt;/script&gt;"),
        ("attachments", "text/html"),
        ("nonsense", "<iframe"),
    ],
)
def test_every_view_shows_its_part_and_runs_nothing(
    inbox: DevInbox, client: httpx.Client, view: str, shown: str
) -> None:
    post(inbox, rich())
    page = client.get("/messages/1", params={"view": view}).text

    assert shown in page
    assert HOSTILE not in page


def test_downloads_are_saved_and_never_shown(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, rich())
    page = client.get("/messages/1?view=attachments").text
    links = re.findall(r'href="(/messages/1/attachments/\d+)"', page)
    answers = [client.get(link) for link in links]
    raw = client.get("/messages/1/raw")

    assert [answer.content for answer in answers] == [PICTURE, b"<script>"]
    assert answers[1].headers["content-disposition"] == (
        "attachment; filename=\"a_b__.html\"; filename*=UTF-8''a%22b%25%C3%BC.html"
    )
    assert {answer.headers["content-type"] for answer in answers} == {"application/octet-stream"}
    assert raw.headers["content-disposition"].startswith('attachment; filename="message-1.eml"')
    assert {answer.headers["x-content-type-options"] for answer in (*answers, raw)} == {"nosniff"}
    assert all("sandbox" in answer.headers["content-security-policy"] for answer in (*answers, raw))
    assert raw.content == inbox.shelf.source(1)


def test_one_message_or_all_can_be_deleted_by_a_form(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, plain("One"), plain("Two"), plain("Three"))
    ours = {"Origin": inbox.url, "Sec-Fetch-Site": "same-origin"}
    one = client.post("/messages/2/delete", headers=ours)
    left = [message.subject for message in inbox.messages()]
    client.post("/delete-all", headers=ours)

    assert (one.status_code, one.headers["location"]) == (303, "/")
    assert left == ["One", "Three"]
    assert inbox.messages() == []


@pytest.mark.parametrize("trouble", list(Trouble))
def test_each_trouble_can_be_switched_by_a_form_and_is_told(
    inbox: DevInbox, client: httpx.Client, trouble: Trouble
) -> None:
    on = client.post("/chaos", data={"trouble": trouble.value, "to": "on", "back": "/?q=x"})
    told = client.get("/").text
    client.post("/chaos", data={"trouble": trouble.value, "to": "off"})

    assert (on.status_code, on.headers["location"]) == (303, "/?q=x")
    assert "Chaos is on." in told
    assert "Chaos is on." not in client.get("/").text


def test_a_trouble_for_the_next_message_is_told_as_such(inbox: DevInbox, client: httpx.Client) -> None:
    client.post("/chaos", data={"trouble": "drop", "to": "once"})

    assert inbox.chaos.state() == {Trouble.DROP: 1}
    assert "next message" in client.get("/").text


@pytest.mark.parametrize("back", ["https://evil.example", "//evil.example", "/\\evil.example", "/\r\nX: y", "evil"])
def test_the_way_back_leads_to_a_page_of_ours(inbox: DevInbox, client: httpx.Client, back: str) -> None:
    answer = client.post("/chaos", data={"trouble": "slow", "to": "on", "back": back})

    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("path", ["/messages/9", "/messages/9/raw", f"/messages/{2**70}", "/messages/1/attachments/1"])
def test_what_is_not_there_is_told_kindly(inbox: DevInbox, client: httpx.Client, path: str) -> None:
    post(inbox, plain())
    answer = client.get(path)

    assert answer.status_code == 404
    assert "To the inbox" in answer.text


def test_a_page_names_no_other_host_and_holds_no_script(inbox: DevInbox, client: httpx.Client) -> None:
    post(inbox, plain())
    for path in ("/", "/messages/1"):
        page = client.get(path).text

        assert re.findall(r'(?:src|href|action)="(?!/|#)([^"]*)"', page) == []
        assert re.findall(r"<script(?! src=)", page) == []
        assert re.findall(r"\son\w+=|\sstyle=", page) == []
