"""The pages as plain HTTP: what is on them, what the forms do, what never gets out. No script is run here."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from html import unescape

import pytest
from httpx import ASGITransport, AsyncClient, Response

from postroom import AsyncOutbox, Attachment, Edition, Email, Status
from postroom.accounts.accounts import add_person
from postroom.accounts.tokens import add_token
from postroom.accounts.values import Role
from postroom.admin.app import build
from postroom.operate import AsyncOperations
from postroom.store.contract import Claim, Settlement
from postroom.store.recall import Accepted, recall
from postroom.vocabulary import LeaseToken

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>"
QUEUE = "/admin/email-queue"


@pytest.fixture
async def outbox(sqlite_url: str) -> AsyncIterator[AsyncOutbox]:
    async with AsyncOutbox(sqlite_url, sender="desk@hillhouse.example") as outbox:
        await outbox.migrate()
        yield outbox


@pytest.fixture
async def browser(outbox: AsyncOutbox) -> AsyncIterator[AsyncClient]:
    """Somebody at this machine, under `--dev`."""
    async with AsyncClient(transport=ASGITransport(build(outbox, dev=True)), base_url="http://localhost") as client:
        yield client


async def dead(outbox: AsyncOutbox, email: Email, *, error: str = "550 5.1.1 no such user", **wishes: object) -> str:
    """An email that a server refused for good."""
    receipt = await outbox.enqueue(email, **wishes)  # type: ignore[arg-type]
    async with outbox.transaction() as connection:
        await connection.execute(
            "UPDATE postroom_emails SET status = 'dead', dead_reason = 'permanent', due_at = NULL, attempts = 1,"
            " reply_code = 550, last_error = ? WHERE id = ?",
            (error, receipt.id),
        )
    return receipt.id


async def press(browser: AsyncClient, page: str, path: str, **fields: object) -> Response:
    """Send a form of a page, with the token that the page carries."""
    found = re.search(r'name="csrf" value="([^"]*)"', (await browser.get(page)).text)
    assert found is not None
    return await browser.post(path, data={"csrf": found[1], **fields})


def letter(to: str = "ada@example.org", subject: str = "Hi", **more: object) -> Email:
    return Email(to=to, subject=subject, text="Dear Ada", **more)  # type: ignore[arg-type]


# The card (A8)


async def test_the_queue_card_is_muted_when_nothing_waits_and_nothing_failed(browser: AsyncClient) -> None:
    """(A8)"""
    page = (await browser.get("/admin")).text

    assert "queue-card-muted" in page
    assert f'href="{QUEUE}"' in page


async def test_the_queue_card_is_emphasised_when_emails_wait(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    """(A8)"""
    await outbox.enqueue(letter())

    assert "queue-card-pending" in (await browser.get("/admin")).text


async def test_the_queue_card_is_emphasised_when_emails_failed(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    """(A8)"""
    await dead(outbox, letter())
    page = (await browser.get("/admin")).text

    assert "queue-card-failed" in page
    assert '<span id="failed-count">1</span>' in page


async def test_retry_and_dismiss_are_on_dead_rows_only(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    """(A8)"""
    failed = await dead(outbox, letter())
    waiting = (await outbox.enqueue(letter())).id
    page = (await browser.get(QUEUE)).text

    assert f"{QUEUE}/{failed}/retry" in page
    assert f"{QUEUE}/{failed}/dismiss" in page
    assert f"{QUEUE}/{waiting}/retry" not in page


# Acting


async def test_retry_starts_an_email_over_and_tells_so(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    """(A6)"""
    id = await dead(outbox, letter())
    answer = await press(browser, QUEUE, f"{QUEUE}/{id}/retry", next=f"{QUEUE}?status=dead")

    assert answer.status_code == 303
    assert answer.headers["location"] == f"{QUEUE}?status=dead&notice=retry&count=1"
    stored = await outbox.get(id)
    assert (stored.status, stored.attempts, stored.last_error) == ("pending", 0, None)
    assert stored.history[-1].actor == "developer"


async def test_dismiss_asks_then_deletes_a_dead_email(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    """(A6)"""
    id = await dead(outbox, letter(subject="Your table"))
    asked = await press(browser, QUEUE, f"{QUEUE}/{id}/dismiss", next=QUEUE)
    assert "Dismiss «Your table»?" in asked.text
    assert "For 1 day that can be undone" in asked.text
    assert (await outbox.get(id)).status == "dead"
    done = await press(browser, QUEUE, f"{QUEUE}/act", act="dismiss", ids=[id], next=QUEUE, confirmed="1")

    assert done.headers["location"].startswith(f"{QUEUE}?notice=dismiss&count=1&undo=")
    assert (await browser.get(f"{QUEUE}/{id}")).status_code == 404


async def test_a_dismissal_is_undone_where_it_is_told(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    ids = [await dead(outbox, letter()) for _ in range(2)]
    await press(browser, QUEUE, f"{QUEUE}/{await dead(outbox, letter())}/dismiss")
    done = await press(browser, QUEUE, f"{QUEUE}/act", act="dismiss", ids=ids, next=QUEUE, confirmed="1")
    told = (await browser.get(done.headers["location"])).text
    [tie] = re.findall('name="undo" value="([^"]+)"', told)
    undone = await press(browser, QUEUE, "/admin/dismissed/reinstate", undo=tie, next=QUEUE)

    assert undone.headers["location"] == f"{QUEUE}?notice=reinstate&count=2"
    assert [(await outbox.get(id)).status for id in ids] == ["dead", "dead"]
    again = await press(browser, QUEUE, "/admin/dismissed/reinstate", undo=tie, next=QUEUE)
    assert again.headers["location"] == f"{QUEUE}?notice=gone&count=1"


async def test_what_was_dismissed_is_listed_and_reinstated_one_by_one(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    id = await dead(outbox, letter(subject="Let go"))
    await outbox.dismiss(id, by="grace")
    page = (await browser.get("/admin/dismissed")).text
    assert "Let go" in page
    assert "by grace" in page
    done = await press(browser, "/admin/dismissed", "/admin/dismissed/reinstate", id=id)

    assert done.headers["location"] == "/admin/dismissed?notice=reinstate&count=1"
    assert "Nothing to reinstate" in (await browser.get("/admin/dismissed")).text
    assert [entry.actor for entry in (await outbox.get(id)).history[-2:]] == ["grace", "developer"]


@pytest.mark.parametrize("undo", ["nonsense", "' OR 1=1", "0" * 36])
async def test_what_undoes_nothing_says_so(browser: AsyncClient, outbox: AsyncOutbox, undo: str) -> None:
    await outbox.dismiss(await dead(outbox, letter()))
    answer = await press(browser, QUEUE, "/admin/dismissed/reinstate", undo=undo, next=QUEUE)

    assert answer.headers["location"] == f"{QUEUE}?notice=gone&count=1"
    assert "gone for good" in (await browser.get(answer.headers["location"])).text


async def test_an_act_that_no_longer_applies_is_told_and_changes_nothing(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    id = (await outbox.enqueue(letter())).id
    answer = await press(browser, QUEUE, f"{QUEUE}/{id}/dismiss", next=QUEUE)

    assert answer.headers["location"] == f"{QUEUE}?notice=changed&count=1"
    assert (await outbox.get(id)).status == "pending"


async def test_all_that_match_are_asked_about_first_with_their_number(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    for number in range(3):
        await dead(outbox, letter(f"guest{number}@example.org"), kind="booking")
    other = await dead(outbox, letter())
    asked = await press(browser, QUEUE, f"{QUEUE}/act", act="retry-all", status="dead", kind="booking", next=QUEUE)

    assert "Retry 3 emails?" in asked.text
    assert (await outbox.counts())["dead"] == 4

    done = await press(
        browser, QUEUE, f"{QUEUE}/act", act="retry-all", status="dead", kind="booking", next=QUEUE, confirmed="1"
    )

    assert done.headers["location"] == f"{QUEUE}?notice=retry&count=3"
    assert (await outbox.get(other)).status == "dead"


async def test_all_that_match_are_asked_about_by_their_number_also_where_one_is_ticked(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    """The form holds both; a question that named the one would get a yes for all."""
    ids = [await dead(outbox, letter(subject=f"Number {number}")) for number in range(3)]
    asked = await press(browser, QUEUE, f"{QUEUE}/act", act="dismiss-all", status="dead", ids=ids[:1], next=QUEUE)

    assert "Dismiss 3 emails?" in asked.text
    assert "Number 0" not in asked.text
    assert (await outbox.counts())["dead"] == 3


@pytest.mark.parametrize("act", ["retry", "cancel"])
async def test_whatever_is_about_several_emails_asks_first(browser: AsyncClient, outbox: AsyncOutbox, act: str) -> None:
    ids = [await dead(outbox, letter()) if act == "retry" else (await outbox.enqueue(letter())).id for _ in range(2)]
    asked = await press(browser, QUEUE, f"{QUEUE}/act", act=act, ids=ids, next=QUEUE)

    assert f"{act.capitalize()} 2 emails?" in asked.text
    before = {(await outbox.get(id)).status for id in ids}
    assert before == {"dead" if act == "retry" else "pending"}
    done = await press(browser, QUEUE, f"{QUEUE}/act", act=act, ids=ids, next=QUEUE, confirmed="1")
    assert done.headers["location"] == f"{QUEUE}?notice={act}&count=2"


async def test_several_are_not_deleted_at_one_press(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    ids = [await dead(outbox, letter()) for _ in range(2)]
    asked = await press(browser, QUEUE, f"{QUEUE}/act", act="dismiss", ids=ids, next=QUEUE)

    assert "Dismiss 2 emails?" in asked.text
    assert (await outbox.counts())["dead"] == 2


async def test_nothing_selected_is_nothing_done(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await dead(outbox, letter())
    answer = await press(browser, QUEUE, f"{QUEUE}/act", act="dismiss", next=QUEUE)

    assert answer.headers["location"] == f"{QUEUE}?notice=nothing&count=1"
    assert (await outbox.counts())["dead"] == 1


async def test_a_form_leads_to_no_other_host(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    id = await dead(outbox, letter())
    answer = await press(browser, QUEUE, f"{QUEUE}/{id}/retry", next="//evil.example/admin")

    assert answer.headers["location"].startswith("/admin")


async def test_a_corrected_email_is_replayed_beside_the_original(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    """(B5)"""
    id = await dead(outbox, letter("adda@example.org"), key="booking:7")
    page = f"{QUEUE}/{id}/replay"
    fields = {"to": "ada@example.org", "subject": "Hi", "text": "Dear Ada"}
    answer = await press(browser, page, page, **fields)

    assert answer.headers["location"] == f"{QUEUE}/{id}?notice=replay&count=1"
    stored = await outbox.get(id)
    assert (stored.status, stored.version, stored.key) == ("pending", 2, "booking:7")
    assert stored.recipients[0].address == "ada@example.org"
    assert "adda@example.org" in (await browser.get(f"{QUEUE}/{id}?version=1")).text


async def test_a_correction_that_is_none_is_explained_and_what_was_typed_stays(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    page = f"{QUEUE}/{await dead(outbox, letter())}/replay"
    answer = await press(browser, page, page, to="not an address", subject="A better subject")

    assert answer.status_code == 422
    assert 'value="not an address"' in answer.text
    assert 'value="A better subject"' in answer.text


# What was written by others


async def test_text_from_emails_and_servers_is_escaped_everywhere(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    id = await dead(outbox, letter(subject=HOSTILE, tags=HOSTILE), error=HOSTILE, kind=HOSTILE, key=HOSTILE)
    pages = ["/admin", QUEUE, f"{QUEUE}?q={HOSTILE}", f"{QUEUE}/{id}/replay"]
    pages += [f"{QUEUE}/{id}?view={view}" for view in ("text", "headers", "source")]

    for page in pages:
        text = (await browser.get(page)).text
        assert "<script>" not in text, page
        assert "<img src=x" not in text, page
        assert "&lt;script&gt;" in text, page


async def test_an_email_that_the_database_had_forgotten_says_so(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    receipt = await outbox.enqueue(letter())
    detail = '{"outcome":"sent","attempt":1,"phase":"dot","code":250,"settled_from":"journal"}'
    settlement = Settlement(
        claim=Claim(receipt.id, LeaseToken(1)), status=Status.SENT, attempts=1, reply=detail, detail=detail
    )
    await outbox.database.run(recall([Accepted(settlement=settlement, version=1, worker="worker")]))
    page = (await browser.get(f"{QUEUE}/{receipt.id}")).text

    assert "forgotten by the database, settled from the journal" in page
    assert "the database had forgotten it, the journal knew" in page


async def test_the_page_of_an_email_leads_to_those_that_share_its_words(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    """(C3)"""
    edition = Edition(portal="hub", template="welcome", version="9f2c1a83b0de", language="de")
    id = (await outbox.enqueue(letter(subject="Hallo", edition=edition))).id
    await outbox.enqueue(letter(subject="Other words", edition=replace(edition, version="000000000001")))

    [facts] = re.findall('<dd id="edition">(.*?)</dd>', (await browser.get(f"{QUEUE}/{id}")).text)
    links = [unescape(link) for link in re.findall('href="([^"]*)"', facts)]

    assert re.sub("<[^>]*>", "", facts) == "hub.welcome · version 9f2c1a83b0de · German (de)"
    assert links == [
        f"{QUEUE}?template=hub.welcome",
        f"{QUEUE}?version=9f2c1a83b0de",
        f"{QUEUE}?template=hub.welcome&language=de",
    ]
    shared = [(await browser.get(link)).text for link in links]
    assert ["Hallo" in page for page in shared] == [True, True, True]
    assert ["Other words" in page for page in shared] == [True, False, True]


async def test_what_is_not_rendered_yet_is_shown_as_its_variables(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    edition = Edition(portal="hub", template="welcome", version="9f2c1a83b0de", language="de")
    email = Email(to="ada@example.org", edition=edition, late='{"name":"Ada & Bob"}')
    id, secret = (await outbox.enqueue(email)).id, (await outbox.enqueue(email, sensitive=True)).id

    page, of_secret = [(await browser.get(f"{QUEUE}/{each}")).text for each in (id, secret)]

    assert "<h1>(rendered when sent)</h1>" in page
    assert "Not rendered yet" in page
    assert "Ada &amp; Bob" in page
    assert "?view=source" not in page
    assert (await browser.get(f"{QUEUE}/{id}/source")).status_code == 409
    assert "Ada" not in of_secret


async def test_html_is_shown_in_a_sandbox_and_nowhere_else(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    id = (await outbox.enqueue(letter(html=f"<p>Hello</p>{HOSTILE}"))).id
    answer = await browser.get(f"{QUEUE}/{id}")

    [frame] = re.findall(r"<iframe[^>]*>", answer.text)
    assert re.search(r'\ssandbox\s+title="', frame)
    document = unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])  # type: ignore[index]
    assert "<p>Hello</p>" in document
    assert "script" not in document
    assert "onerror" not in document
    assert "script-src 'self'" in answer.headers["content-security-policy"]


async def test_the_page_lets_pictures_of_other_hosts_in_only_when_asked(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    id = (await outbox.enqueue(letter(html='<img src="https://pictures.example/a.png">'))).id
    usual = await browser.get(f"{QUEUE}/{id}")
    asked = await browser.get(f"{QUEUE}/{id}?images=1")

    assert "1 picture from other hosts not loaded" in usual.text
    assert "https:" not in usual.headers["content-security-policy"]
    assert "img-src 'self' data: https:" in asked.headers["content-security-policy"]


async def test_attachments_leave_as_downloads_whatever_they_claim_to_be(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    page = Attachment("évil.html", HOSTILE.encode(), content_type="text/html")
    id = (await outbox.enqueue(letter(attachments=page))).id
    answer = await browser.get(f"{QUEUE}/{id}/attachments/1")

    assert answer.content == HOSTILE.encode()
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%A9vil.html"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


async def test_the_source_can_be_downloaded_whole(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    id = (await outbox.enqueue(letter())).id
    answer = await browser.get(f"{QUEUE}/{id}/source")

    assert answer.content == (await outbox.letter(id)).as_bytes()
    assert answer.headers["content-disposition"].startswith("attachment;")


async def test_what_a_sensitive_email_says_is_nowhere(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    email = Email(to="ada@example.org", subject="Your code", text="code 493817", html="<p>code 493817</p>")
    id = await dead(outbox, email, sensitive=True)
    pages = [QUEUE, "/admin", f"{QUEUE}/{id}/source", f"{QUEUE}/{id}/attachments/1", f"{QUEUE}/{id}/replay"]
    pages += [f"{QUEUE}/{id}?view={view}" for view in ("html", "text", "source", "headers")]

    for page in pages:
        assert "493817" not in (await browser.get(page)).text, page
    assert (await browser.get(f"{QUEUE}/{id}/source")).status_code == 404


# Around


async def test_pages_work_wherever_the_app_is_mounted(outbox: AsyncOutbox) -> None:
    transport = ASGITransport(build(outbox, dev=True), root_path="/postroom")
    id = await dead(outbox, letter())
    async with AsyncClient(transport=transport, base_url="http://localhost") as browser:
        pages = [(await browser.get(f"/postroom{path}")).text for path in ("/admin", QUEUE, f"{QUEUE}/{id}")]

    links = re.findall(r'(?:href|src|action|formaction)="(/[^"]*)"', " ".join(pages))
    assert links
    assert [link for link in links if not link.startswith("/postroom/admin")] == []


async def test_no_page_asks_another_host_for_anything(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    id = await dead(outbox, letter())

    for page in ("/admin", QUEUE, f"{QUEUE}/{id}", f"{QUEUE}/{id}/replay"):
        answer = await browser.get(page)
        assert re.findall(r'(?:href|src|action)="(?:https?:)?//[^"]*"', answer.text) == []
        assert re.findall(r"<script(?! src=)|\sstyle=|\son\w+=", answer.text) == [], page


async def test_an_email_that_is_not_there_gets_a_page_that_says_so(browser: AsyncClient) -> None:
    answer = await browser.get(f"{QUEUE}/00000000-0000-7000-8000-000000000000")

    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "What to do:" in answer.text


async def test_a_cursor_that_is_none_shows_the_first_page(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await outbox.enqueue(letter(subject="Found all the same"))

    assert "Found all the same" in (await browser.get(f"{QUEUE}?before=nonsense")).text


async def test_pages_go_on_where_the_one_before_ended(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await outbox.enqueue_many([letter(subject=f"number {number:02}.") for number in range(60)])
    first = (await browser.get(QUEUE)).text
    older = re.search(r'rel="next" href="([^"]*)"', first)
    assert older is not None
    second = (await browser.get(unescape(older[1]))).text

    seen = re.findall(r"(number \d\d\.)</a>", first + second)
    assert len(seen) == len(set(seen)) == 60


async def test_the_tabs_are_counted_without_the_rest_of_the_dashboard(
    browser: AsyncClient, outbox: AsyncOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is looked at every three seconds; causes, charts and workers are not on it."""
    await dead(outbox, letter())

    async def never(*_: object, **__: object) -> None:
        raise AssertionError("the queue asked for the dashboard")

    monkeypatch.setattr(AsyncOperations, "dashboard", never)
    page = (await browser.get(f"{QUEUE}?status=dead")).text

    assert '<span class="many many-dead">1</span>' in page


async def test_a_viewer_sees_no_buttons_and_only_their_workspaces(outbox: AsyncOutbox) -> None:
    ours = await dead(outbox, letter(subject="Of the hotel"), workspace="hotel")
    theirs = await dead(outbox, letter(subject="Of the bakery"), workspace="bakery")
    plan = add_person("ada@example.org", role=Role.VIEWER, password="unused", workspaces=["hotel"])
    person = await outbox.database.run(plan)
    await outbox.database.run(add_token(person, "let-me-look", scope=Role.VIEWER))
    viewer = AsyncClient(
        transport=ASGITransport(build(outbox)),
        base_url="http://localhost",
        headers={"Authorization": "Bearer let-me-look"},
    )
    async with viewer:
        pages = [(await viewer.get(path)).text for path in ("/admin", QUEUE, f"{QUEUE}/{ours}")]
        refused = [
            await viewer.post(f"{QUEUE}/{ours}/retry"),
            await viewer.get(f"{QUEUE}/{ours}/replay"),
            await viewer.get(f"{QUEUE}/{theirs}"),
        ]

    assert "No charts for some workspaces" in pages[0]
    assert "is of hotel only" in pages[0]
    assert "Of the hotel" in pages[1]
    assert "Of the bakery" not in " ".join(pages)
    assert [answer.status_code for answer in refused] == [403, 403, 404]
    buttons = [label for page in pages for label in re.findall(r"<button[^>]*>([^<]*)</button>", page)]
    assert set(buttons) == {"?", "Sign out", "Search", "Close", "This page has news. Show"}
    assert (await outbox.get(ours)).status == "dead"


# The delivery mode


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("capture", "Delivery: capture.</strong> Nothing leaves"),
        ("redirect:dev@example.org", "Delivery: redirect.</strong> Every email goes to one address"),
        ("nobody", "Delivery: unreadable.</strong> POSTROOM_DELIVERY cannot be read"),
    ],
)
async def test_every_page_says_who_gets_what_where_it_is_not_everybody(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, mode: str, told: str
) -> None:
    """Also before anybody has signed in, and without an address."""
    monkeypatch.setenv("POSTROOM_DELIVERY", mode)
    async with AsyncOutbox(sqlite_url) as outbox:
        await outbox.migrate()
        for dev, paths in ((True, ("/admin", QUEUE, "/admin/audit", "/admin/nowhere")), (False, ("/admin/sign-in",))):
            app = ASGITransport(build(outbox, dev=dev))
            async with AsyncClient(transport=app, base_url="http://localhost", follow_redirects=True) as client:
                pages = [(await client.get(path)).text for path in paths]

            assert [path for path, page in zip(paths, pages, strict=True) if told not in page] == []
            assert not any("dev@example.org" in page for page in pages)


async def test_no_page_speaks_of_delivery_where_emails_are_delivered(browser: AsyncClient) -> None:
    assert "Delivery:" not in (await browser.get("/admin")).text
