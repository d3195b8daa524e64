"""What others wrote runs nowhere, reaches nobody, and pushes nothing off the screen."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Request

from postroom import Email
from tests.browser.furnish import furnish
from tests.browser.house import House

QUEUE = "/admin/email-queue"

MARK = "window.top.pwned = 1; document.title = 'pwned'; fetch('/pwned-by-script')"
SCRIPTS = f"""<script>{MARK}</script><img src="/pwned.png" onerror="{MARK}"><svg onload="{MARK}"></svg>
<a href="javascript:{MARK}" id="bait">bait</a><iframe srcdoc="<script>{MARK}</script>"></iframe>
<form action="/pwned"><button>bait</button></form><meta http-equiv="refresh" content="0; url=/pwned">
<link rel="stylesheet" href="https://evil.example/pwned.css"><style>@import "https://evil.example/pwned.css";
p {{ background: url(https://evil.example/pwned.png) }}</style><p>Hello from the email</p>"""
INLINE = "<script>window.top.pwned=1</script><img src=x onerror=window.top.pwned=1>"


def requests_of(page: Page) -> list[str]:
    """What the browser fetched or tried to, in order. What a policy held back is not among it; nothing leaves here."""
    asked: list[str] = []
    page.on("requestfinished", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: asked.append(request.url) if tried(request) else None)
    return asked


def tried(request: Request) -> bool:
    """Whether a failed request was ever begun: the browser tells of those that a policy held back as failed, too."""
    return request.failure != "csp"


def views(id: str) -> list[str]:
    """Every place where something of this email is shown."""
    letter = [f"{QUEUE}/{id}?view={view}" for view in ("html", "text", "headers", "source")]
    return ["/admin", QUEUE, f"{QUEUE}?status=dead", f"{QUEUE}/{id}/replay", *letter]


def test_a_script_in_a_body_a_subject_or_a_servers_reply_runs_nowhere(house: House, page: Page) -> None:
    asked = requests_of(page)
    house.smtp.script(at="rcpt", reply=f"550 5.1.1 {INLINE}")
    receipt = house.outbox.enqueue(
        Email(to="ada@example.org", subject=INLINE, html=SCRIPTS, tags=INLINE), kind=INLINE, key=INLINE
    )
    house.work(lambda counts: counts["dead"] == 1)

    for path in views(receipt.id):
        page.goto(house.address(path), wait_until="load")
        assert page.evaluate("window.pwned") is None, path
        assert page.title() != "pwned", path
    assert {urlsplit(url).hostname for url in asked} == {"127.0.0.1"}
    assert [url for url in asked if "pwned" in urlsplit(url).path] == []


def test_whoever_asks_for_pictures_gets_pictures_and_nothing_else(house: House, page: Page) -> None:
    asked = requests_of(page)
    receipt = house.outbox.enqueue(Email(to="ada@example.org", subject="Hi", html=SCRIPTS))
    page.goto(house.address(f"{QUEUE}/{receipt.id}"))
    assert "img-src data:;" in policy_of_preview(page)
    assert [url for url in asked if "evil.example" in url] == []
    page.get_by_role("link", name="Show them").click()
    page.wait_for_url("**images=1**")

    assert "img-src data: https:;" in policy_of_preview(page)
    assert {url for url in asked if "evil.example" in url} <= {"https://evil.example/pwned.png"}
    assert page.evaluate("window.pwned") is None


def policy_of_preview(page: Page) -> str:
    """What the frame of the email may fetch, as its own document says."""
    document = page.locator("iframe.preview").get_attribute("srcdoc") or ""
    return document.partition('http-equiv="Content-Security-Policy"')[2].partition(">")[0] + ";"


def test_the_walls_would_have_something_to_hold_back(house: House, page: Page) -> None:
    """Shown without them, the same email does run, not only in a frame of its own: the test above can fail."""
    page.route("**/bare", lambda route: route.fulfill(body=SCRIPTS, content_type="text/html"))
    with page.expect_request(lambda request: request.frame == page.main_frame and "by-script" in request.url) as asked:
        page.goto(house.address("/bare"))

    assert urlsplit(asked.value.url).path == "/pwned-by-script"


def test_an_email_is_shown_with_its_looks_in_a_frame_without_an_origin(house: House, page: Page) -> None:
    html = '<p id="hello" style="color: rgb(1, 2, 3)">Hello <b>Ada</b></p>'
    receipt = house.outbox.enqueue(Email(to="ada@example.org", subject="Hi", html=html))
    page.goto(house.address(f"{QUEUE}/{receipt.id}"))
    frame = page.frame_locator("iframe.preview")

    assert frame.locator("p").inner_text() == "Hello Ada"
    assert frame.locator("p").evaluate("element => getComputedStyle(element).color") == "rgb(1, 2, 3)"
    assert page.locator("iframe.preview").evaluate("frame => frame.contentDocument") is None
    assert page.locator("iframe.preview").get_attribute("sandbox") == ""


NARROW = """() => {
    const wide = document.documentElement.scrollWidth - innerWidth;
    return wide > 0 ? wide : 0;
}"""
NAMELESS = """() => [...document.querySelectorAll(
        "input:not([type=hidden]), select, textarea, button, iframe, svg[role=img]")]
    .filter((each) => each.checkVisibility())
    .filter((each) => !(each.labels?.length || each.getAttribute("aria-label") || each.getAttribute("aria-labelledby")
                        || each.title || each.textContent.trim()))
    .map((each) => each.outerHTML)"""


def test_every_page_fits_a_phone_and_every_control_has_a_name(house: House, browser: Browser) -> None:
    furnish(house)
    long = "x" * 300
    odd = house.outbox.enqueue(Email(to="ada@example.org", subject=long, html=f"<p>{long}</p>"), key=long[:200])
    dead, *_ = house.outbox.list(status="dead", kind="minutes").emails
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    paths = [
        "/admin",
        "/admin/audit",
        QUEUE,
        f"{QUEUE}?kind=booking",
        f"{QUEUE}?q=nothing@such.example",
        f"{QUEUE}/{dead.id}/replay",
    ]
    paths += [f"{QUEUE}/{id}?view={view}" for id in (odd.id, dead.id) for view in ("html", "source", "headers")]

    for path in paths:
        page.goto(house.address(path))
        assert page.evaluate(NARROW) == 0, path
        assert page.evaluate(NAMELESS) == [], path
    context.close()
