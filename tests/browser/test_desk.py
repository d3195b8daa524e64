"""An operator at the desk, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from postroom import Email, RetryPolicy
from postroom.work.breakers import standing_of
from tests.browser.entrance import PASSWORD, code_in_mail, give_code, give_password
from tests.browser.furnish import furnish
from tests.browser.house import House

QUEUE = "/admin/email-queue"
DEAD = f"{QUEUE}?status=dead"
IMPATIENT = RetryPolicy(name="impatient", steps=["1s"], max_attempts=50)


def press(page: Page, *keys: str) -> None:
    """One after the other, once our script listens: it shows the help button when it starts."""
    expect(page.locator("[data-help]")).to_be_visible()
    for key in keys:
        page.keyboard.press(key)


def test_signing_in_takes_the_password_and_the_code_that_was_mailed(browser: Browser, tmp_path: Path) -> None:
    """(C4) The product uses itself: the code comes through the outbox and the worker."""
    context = browser.new_context()
    page = context.new_page()
    with House(tmp_path, dev=False) as house, house.worker():
        house.add_person("grace@example.org", PASSWORD)
        page.goto(house.address(DEAD))
        give_password(page, "grace@example.org")
        page.goto(house.address("/admin"))  # half signed in is nobody
        expect(page).to_have_url(re.compile("/admin/sign-in"))

        give_code(page, code_in_mail(house, "grace@example.org"))
        page.goto(house.address(DEAD))
        expect(page.get_by_text("Nothing has failed")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page).to_have_url(re.compile("/admin/sign-in"))
        page.goto(house.address("/admin"))
        expect(page).to_have_url(re.compile("/admin/sign-in"))
    context.close()


def test_an_outage_is_seen_and_so_is_its_end_without_touching_the_page(house: House, page: Page) -> None:
    with house.worker():
        house.outbox.enqueue(Email(to="ada@example.org", subject="Before", text="…"))
        house.smtp.wait_for(1)
        page.goto(house.address("/admin"))
        expect(page.get_by_role("heading", level=1)).to_contain_text("All mail")

        house.smtp.stop()
        for number in range(5):
            email = Email(to=f"guest{number}@example.org", subject="During", text="…")
            house.outbox.enqueue(email, policy=IMPATIENT)
        expect(page.get_by_role("heading", level=1)).to_contain_text("cannot be reached")
        expect(page.locator("#queue-card")).to_have_class(re.compile("queue-card-pending"))
        expect(page.locator("#routes")).to_contain_text("unreachable")
        expect(page.locator("#routes").get_by_role("button", name="Pause")).to_be_visible()

        house.smtp.start()
        page.locator("#routes").get_by_role("button", name="Resume").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("All mail")
        house.smtp.wait_for(6)
        expect(page.locator("#pending-count")).to_have_text("0")

    assert set(house.smtp.copies_of_all().values()) == {1}


def test_a_dead_email_is_retried_with_one_press(house: House, page: Page) -> None:
    """(A6, A8)"""
    house.refuse("ada@example.org")
    page.goto(house.address(DEAD))
    page.get_by_role("button", name="Retry «For ada@example.org»").click()
    expect(page.get_by_text("1 email will be tried again now.")).to_be_visible()
    with house.worker():
        page.goto(house.address(QUEUE))
        expect(page.locator("tr[data-email] .status")).to_have_text("sent")

    assert len(house.smtp.messages) == 1


def test_a_dead_email_is_dismissed_after_a_question(house: House, page: Page) -> None:
    """(A6, A8)"""
    house.refuse("ada@example.org", "grace@example.org")
    page.goto(house.address(DEAD))
    page.get_by_role("button", name="Dismiss «For ada@example.org»").click()
    expect(page.get_by_role("heading", name="Dismiss «For ada@example.org»?")).to_be_visible()
    assert house.outbox.counts()["dead"] == 2
    page.get_by_role("button", name="Dismiss", exact=True).click()
    expect(page.get_by_text("1 email dismissed.")).to_be_visible()
    expect(page.locator("tr[data-email]")).to_have_count(1)

    assert house.outbox.counts()["dismissed"] == 1


def test_a_dismissal_is_undone_with_one_press_and_later_from_its_list(house: House, page: Page) -> None:
    house.refuse("ada@example.org", "grace@example.org")
    page.goto(house.address(DEAD))
    page.get_by_label("Select all on this page").check()
    page.locator("#dismiss-selected").click()
    page.get_by_role("button", name="Dismiss 2 emails").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("2 emails reinstated.")).to_be_visible()
    expect(page.locator("tr[data-email]")).to_have_count(2)
    expect(page).to_have_url(house.address(DEAD))

    [first, _] = house.outbox.list(status="dead").emails
    house.outbox.dismiss(first.id, by="grace")
    page.get_by_role("link", name="Dismissed").click()
    expect(page.locator("#dismissed li")).to_contain_text("by grace")
    page.get_by_role("button", name=f"Reinstate «{first.subject}»").click()
    expect(page.get_by_text("1 email reinstated.")).to_be_visible()

    assert house.outbox.counts() | {"dead": 2, "dismissed": 0} == house.outbox.counts()


def test_many_are_selected_and_acted_on_at_once(house: House, page: Page) -> None:
    house.refuse("ada@example.org", "grace@example.org", "mary@example.org")
    page.goto(house.address(DEAD))
    expect(page.locator("#retry-selected")).to_be_disabled()
    page.get_by_label("Select all on this page").check()
    page.get_by_label(re.compile("Select «For mary")).uncheck()
    expect(page.locator("#selected")).to_have_text("2 selected")
    page.locator("#dismiss-selected").click()
    page.get_by_role("button", name="Dismiss 2 emails").click()
    expect(page.get_by_text("2 emails dismissed.")).to_be_visible()

    assert [email.subject for email in house.outbox.list(status="dead").emails] == ["For mary@example.org"]


def test_failures_of_one_cause_are_retried_together(house: House, page: Page) -> None:
    house.refuse("ada@example.org", "grace@example.org")
    house.refuse("mary@example.org", reply="554 5.7.1 rejected as spam")
    page.goto(house.address("/admin"))
    page.get_by_role("button", name="Retry these 2").click()
    expect(page.get_by_role("heading", name="Retry 2 emails?")).to_be_visible()
    assert house.outbox.counts()["dead"] == 3
    page.get_by_role("button", name="Retry 2 emails").click()
    expect(page.get_by_text("2 emails will be tried again now.")).to_be_visible()

    assert [email.subject for email in house.outbox.list(status="dead").emails] == ["For mary@example.org"]


def test_a_wrong_address_is_corrected_and_the_email_arrives(house: House, page: Page) -> None:
    """(B5)"""
    house.refuse("adda@example.org")
    page.goto(house.address(DEAD))
    page.get_by_role("link", name="For adda@example.org").click()
    page.get_by_role("link", name="Correct and replay").click()
    page.get_by_label("To").fill("ada@example.org")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("on its way again")).to_be_visible()
    with house.worker():
        [mail] = house.smtp.wait_for(1)
        expect(page.locator("#why")).to_contain_text("Accepted by the server")
        expect(page.locator("#story")).to_contain_text("Replayed by developer: to")

    assert mail.recipients == ("ada@example.org",)


def test_what_each_recipient_got_in_each_attempt_is_read_on_a_phone_without_a_script(
    house: House, browser: Browser
) -> None:
    """(B4) The grid scrolls inside its own box; the conversation unfolds by itself."""
    furnish(house)
    [minutes] = house.outbox.list(kind="minutes").emails
    context = browser.new_context(viewport={"width": 360, "height": 740}, java_script_enabled=False)
    page = context.new_page()
    page.goto(house.address(f"{QUEUE}/{minutes.id}"))
    grid = page.locator("table.grid")
    cells = grid.locator("tbody tr").filter(has_text="full@example.org").locator("td")

    expect(grid.locator("thead th.attempt")).to_have_count(3)
    assert [text.split()[0] for text in cells.all_inner_texts()] == ["deferred"] * 3
    refused = grid.locator("tbody tr").filter(has_text="nobody@example.org").locator("td")
    assert [text.split()[0] for text in refused.all_inner_texts()] == ["–", "–", "refused"]
    first = page.locator("details.conversation").last
    expect(first.get_by_text("nobody@example.org: 550 5.1.1 no such user here")).to_be_hidden()
    first.locator("summary").click()
    expect(first.get_by_text("nobody@example.org: 550 5.1.1 no such user here")).to_be_visible()
    box = page.locator("#attempts .scroll").first.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 360
    context.close()


def test_an_admin_reads_in_the_audit_log_who_paused_a_transport(house: House, page: Page) -> None:
    with house.worker():
        house.outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="…"))
        house.smtp.wait_for(1)
    house.outbox.database.run(standing_of({"smtp.example.org:587": ""}))
    page.goto(house.address("/admin"))
    page.locator("#routes li").filter(has_text="smtp.example.org:587").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The route is paused.")).to_be_visible()
    press(page, "g", "a")
    line = page.locator("table.audit tbody tr").filter(has_text="route_pause")

    expect(line).to_contain_text("developer")
    expect(line).to_contain_text("smtp.example.org:587")


def test_live_updates_disturb_neither_selection_nor_typing(house: House, page: Page) -> None:
    house.refuse("ada@example.org")
    page.goto(house.address(QUEUE))
    page.get_by_label(re.compile("Select «For ada")).check()
    page.get_by_label("Search", exact=True).fill("half a wo")
    house.outbox.enqueue(Email(to="grace@example.org", subject="Just in", text="…"))
    expect(page.get_by_role("link", name="Just in")).to_be_visible()

    expect(page.get_by_label(re.compile("Select «For ada"))).to_be_checked()
    expect(page.locator("#selected")).to_have_text("1 selected")
    expect(page.get_by_label("Search", exact=True)).to_have_value("half a wo")
    expect(page.get_by_label("Search", exact=True)).to_be_focused()


def test_the_desk_can_be_worked_by_keyboard(house: House, page: Page) -> None:
    house.refuse("ada@example.org", "grace@example.org")
    page.goto(house.address(DEAD))
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    press(page, "Escape")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    press(page, "/")
    expect(page.get_by_label("Search", exact=True)).to_be_focused()
    page.keyboard.type("for ada")
    with page.expect_navigation():
        press(page, "Enter")
    expect(page.locator("tr[data-email]")).to_have_count(1)
    press(page, "j")
    expect(page.get_by_role("link", name="For ada@example.org")).to_be_focused()
    press(page, "x")
    expect(page.locator("#selected")).to_have_text("1 selected")
    press(page, "x")
    with page.expect_navigation():
        press(page, "r")
    expect(page.get_by_text("1 email will be tried again now.")).to_be_visible()
    press(page, "g", "o")
    expect(page).to_have_url(house.address("/admin"))

    assert [email.subject for email in house.outbox.list(status="dead").emails] == ["For grace@example.org"]


def test_everything_can_be_read_and_done_without_scripts(house: House, plain_page: Page) -> None:
    page = plain_page
    house.refuse("ada@example.org", "grace@example.org", "mary@example.org", "joan@example.org")
    page.goto(house.address("/admin"))
    page.locator("#queue-card").click()
    expect(page.locator("tr[data-email]")).to_have_count(4)

    page.get_by_label("Search", exact=True).fill("ada@example.org")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("tr[data-email]")).to_have_count(1)
    page.get_by_role("button", name="Retry «For ada@example.org»").click()
    expect(page.get_by_text("1 email will be tried again now.")).to_be_visible()

    page.goto(house.address(DEAD))
    page.get_by_label(re.compile("Select «For mary")).check()
    page.get_by_label(re.compile("Select «For joan")).check()
    page.locator(".bulk").get_by_role("button", name="Retry", exact=True).click()
    page.get_by_role("button", name="Retry 2 emails").click()
    expect(page.get_by_text("2 emails will be tried again now.")).to_be_visible()

    page.get_by_role("link", name="For grace@example.org").click()
    expect(page.locator("#why")).to_contain_text("Given up")
    page.get_by_role("link", name="Source").click()
    expect(page.locator("pre")).to_contain_text("Message-ID:")
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_role("button", name="Dismiss", exact=True).click()
    expect(page.get_by_text("1 email dismissed.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("1 email reinstated.")).to_be_visible()
    page.goto(house.address(DEAD))
    page.get_by_role("button", name="Dismiss «For grace@example.org»").click()
    page.get_by_role("button", name="Dismiss", exact=True).click()
    expect(page.get_by_text("1 email dismissed.")).to_be_visible()

    assert {name: count for name, count in house.outbox.counts().items() if count} == {"pending": 3, "dismissed": 1}
