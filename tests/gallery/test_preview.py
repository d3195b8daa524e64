"""`postroom template preview` over HTTP: what it shows, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from postroom import Outbox, Portal
from postroom.errors import ConfigurationError
from postroom.gallery.collection import Collection
from postroom.gallery.site import Preview, build
from postroom.inbox import DevInbox
from tests.gallery.conftest import PLACE

WELCOME = "/templates/shop/welcome"
FORM = {"to": "ada@example.org", "language": "en", "sample": "ada"}


async def test_the_front_page_is_the_matrix_and_shows_what_is_missing(client: httpx.AsyncClient) -> None:
    page = (await client.get("/templates")).text

    assert re.findall(r'<a class="state state-(\w+)" href="([^"]+)">([^<]+)<', page) == [
        ("ok", "/templates/shop/welcome?language=en", "fine"),
        ("ok", "/templates/shop/welcome?language=de", "fine"),
        ("ok", "/templates/shop/goodbye?language=en", "fine"),
        ("fallback", "/templates/shop/goodbye?language=de", "not written, en is sent"),
    ]
    assert "Welcome, Ada" in page
    assert "2 samples" in page


async def test_the_first_page_leads_to_the_matrix(client: httpx.AsyncClient) -> None:
    answer = await client.get("/")

    assert answer.headers["location"] == "/templates"


async def test_a_template_is_shown_with_all_that_there_is_to_know(client: httpx.AsyncClient) -> None:
    page = (await client.get(f"{WELCOME}?language=de")).text

    assert "<strong>Willkommen, Ada</strong>" in page
    assert "A short preheader Guten Morgen Ada" in page
    assert re.search(r"of the 102 kB that Gmail shows", page)
    assert "https://shop.example/start" in page
    assert "welcome/body.de.html" in page
    assert re.search(r'<dd class="mono">[0-9a-f]{12}</dd>', page)
    assert page.count("<iframe") == 2


async def test_text_and_source_are_shown_as_they_are_sent(client: httpx.AsyncClient) -> None:
    text = (await client.get(f"{WELCOME}?view=text&sample=markup")).text
    source = (await client.get(f"{WELCOME}?view=source")).text

    assert "Good morning &lt;script&gt;parent.document" in text
    assert '<li data-line="1"><code>&lt;!DOCTYPE html&gt;' in source


async def test_neighbours_are_samples_then_templates_in_the_same_language(client: httpx.AsyncClient) -> None:
    def led_to(page: str) -> list[str]:
        return re.findall(r'rel="(?:previous|next)" href="([^"]+)"', page)

    assert led_to((await client.get(f"{WELCOME}?language=de")).text) == [f"{WELCOME}?language=de&amp;sample=markup"]
    assert led_to((await client.get(f"{WELCOME}?language=de&sample=markup")).text) == [
        f"{WELCOME}?language=de&amp;sample=ada",
        "/templates/shop/goodbye?language=de",
    ]


async def test_the_document_runs_nothing_and_loads_nothing(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{WELCOME}/document?sample=markup")
    policy = answer.headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "sandbox allow-same-origin;" in policy
    assert "script" not in policy
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert "<script" not in answer.text
    assert "&lt;script&gt;" in answer.text


async def test_dark_and_light_are_two_documents(client: httpx.AsyncClient) -> None:
    dark = (await client.get(f"{WELCOME}/document?scheme=dark")).text
    light = (await client.get(f"{WELCOME}/document?scheme=neon")).text

    assert "@media (min-width: 0px)" in dark
    assert "@media (max-width: 0px)" in light


async def test_a_broken_template_is_an_explanation_and_never_a_failure(client: httpx.AsyncClient, shop: Portal) -> None:
    (shop.root / "welcome" / "body.html").write_text("{% for x in name %}")
    page = await client.get(WELCOME)
    document = await client.get(f"{WELCOME}/document")
    front = await client.get("/templates")
    sent = await client.post(f"{WELCOME}/send", data=FORM)

    assert [each.status_code for each in (page, document, front, sent)] == [200, 200, 200, 422]
    assert "This cannot be rendered" in page.text
    assert "welcome/body.html" in page.text
    assert "It cannot be rendered" in document.text
    assert "Not sent: shop.welcome" in sent.text
    assert "state-errors" in front.text


async def test_a_change_is_on_the_next_page(client: httpx.AsyncClient, shop: Portal) -> None:
    state = re.findall(r'data-state="(\w+)"', (await client.get(WELCOME)).text)[0]
    (shop.root / "welcome" / "subject.txt").write_text("Come in, {{ name }}")
    changed = (await client.get("/templates/changed", params={"since": state})).json()["state"]

    assert changed != state
    assert "Come in, Ada" in (await client.get(WELCOME)).text


@pytest.mark.parametrize(
    "path",
    [
        "/templates/shop/nothing",
        "/templates/nothing/welcome",
        "/templates/shop/%2e%2e",
        "/templates/shop/%2e%2e%2fshop",
        "/templates/..%2f..%2fetc%2fpasswd",
        "/templates/gallery.py",
        "/templates/shop/welcome%00/document",
        "/templates/" + "a" * 5000 + "/b",
        "/static/..%2fapp.py",
        "/static/live.js",
    ],
)
async def test_what_is_no_template_of_ours_is_not_there(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)

    assert answer.status_code == 404
    assert "Nothing hangs here." in answer.text


async def test_samples_languages_and_views_that_are_none_are_the_first(client: httpx.AsyncClient) -> None:
    hostile = {"sample": "../../etc/passwd", "language": "<script>", "view": "x" * 9000, "sent": "<b>"}
    answer = await client.get(WELCOME, params=hostile)

    assert answer.status_code == 200
    assert "Welcome, Ada" in answer.text
    assert "<script>" not in answer.text
    assert "etc/passwd" not in answer.text


async def test_a_name_that_is_not_ours_reads_nothing(client: httpx.AsyncClient) -> None:
    """DNS rebinding: a page has pointed its own name at 127.0.0.1."""
    answers = [await client.get(path, headers={"Host": "evil.example"}) for path in ("/templates", WELCOME)]

    assert {answer.status_code for answer in answers} == {421}


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}], ids=str
)
async def test_another_page_cannot_have_anything_sent(
    client: httpx.AsyncClient, tmp_path: Path, headers: dict[str, str]
) -> None:
    answer = await client.post(f"{WELCOME}/send", data=FORM, headers=headers)
    by_link = await client.get(f"{WELCOME}/send", params=FORM)

    assert answer.status_code == 403
    assert by_link.status_code in (404, 405)
    with Outbox(f"sqlite:///{tmp_path / 'outbox.db'}") as outbox:
        assert outbox.counts()["pending"] == 0


async def test_send_me_this_goes_through_the_outbox(client: httpx.AsyncClient, tmp_path: Path) -> None:
    answer = await client.post(f"{WELCOME}/send", data=FORM | {"language": "de"})
    told = await client.get(answer.headers["location"])

    assert answer.status_code == 303
    assert "In the outbox for ada@example.org" in told.text
    assert 'value="ada@example.org"' in told.text
    with Outbox(f"sqlite:///{tmp_path / 'outbox.db'}") as outbox:
        [email] = outbox.list().emails
        assert (email.subject, email.kind, email.tags) == ("Willkommen, Ada", "shop.welcome", ("preview",))


async def test_what_was_sent_arrives(collection: Collection, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'outbox.db'}"
    with DevInbox() as inbox:
        with Outbox(url) as outbox:
            outbox.migrate()
        app = build(Preview(collection, lambda: Outbox(url, smtp=inbox.smtp_url)))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=PLACE) as client:
            answer = await client.post(f"{WELCOME}/send", data=FORM)
            told = (await client.get(answer.headers["location"])).text
        [message] = inbox.messages()

    assert "Sent to ada@example.org." in told
    assert (message.subject, message.author) == ("Welcome, Ada", "Shop <hello@shop.example>")


@pytest.mark.parametrize("to", ["", "nobody", "a@example.org\r\nBcc: b@example.org", "x" * 4000])
async def test_an_address_that_is_none_is_told_in_words(client: httpx.AsyncClient, to: str) -> None:
    answer = await client.post(f"{WELCOME}/send", data=FORM | {"to": to})

    assert answer.status_code == 422
    assert "Not sent: " in answer.text


async def test_a_page_that_others_can_reach_sends_nothing(collection: Collection) -> None:
    app = build(Preview(collection, None))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=PLACE) as client:
        page = await client.get(WELCOME)
        answer = await client.post(f"{WELCOME}/send", data=FORM)

    assert "nothing is sent from it" in page.text
    assert "<form" not in page.text
    assert answer.status_code == 422


async def test_without_a_portal_the_page_says_how_to_name_one() -> None:
    app = build(Preview(Collection(dict, live=True), None))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=PLACE) as client:
        page = await client.get("/templates")

    assert "No portal is named yet." in page.text
    assert 'portals = ["shop.mail:hub"]' in page.text


@pytest.mark.parametrize("error", [ConfigurationError("there is no module shop"), ZeroDivisionError("by <zero>")])
async def test_portals_that_cannot_be_imported_are_told_on_every_page(error: Exception) -> None:
    def fail() -> dict[str, Portal]:
        raise error

    app = build(Preview(Collection(fail, live=True), None))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=PLACE) as client:
        pages = [await client.get(path) for path in ("/templates", WELCOME)]
        document = await client.get(f"{WELCOME}/document")

    assert [page.status_code for page in pages] == [200, 200]
    assert all("The portals cannot be shown" in page.text and "<zero>" not in page.text for page in pages)
    assert document.status_code == 200
