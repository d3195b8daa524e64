"""The pages of campaigns as plain HTTP: what is on them, what their forms do, who may, what never gets out."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import quote, unquote

import pytest
from httpx import ASGITransport, AsyncClient, Response

from postroom import AsyncOutbox
from postroom.accounts.audit import read_audit
from postroom.accounts.values import Role
from postroom.admin.app import build
from postroom.admin.campaign_places import id_in, segment
from postroom.operate.campaigns import AsyncCampaignOperations
from postroom.returns.recording import record_returns
from postroom.store.returns import Note
from tests.admin.test_pages import HOSTILE, press
from tests.admin.test_suppressions_pages import as_somebody
from tests.browser.outreach import LINKS
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.store.journey import Clock

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]

W = "?workspace=hotel"
LIST = f"/admin/campaigns{W}"
PAGE = f"/admin/campaigns/spring{W}"
SEQUENCE = f"/admin/sequences/spring{W}"
SENDING = f"/admin/sending{W}"
FRIDAY_EVENING = datetime(2026, 3, 6, 20, tzinfo=UTC)
PEOPLE = b"email,name,company\nada@x.example,Ada,Engines\nbob@x.example,Bob,Boats\n"
NEW = {
    "name": "Spring",
    "sender_address": "grace@hotel.example",
    "subject": "About {{ company }}",
    "text": "Hello {{ name }},\r\nhow is {{ company }}?",
}
SETTINGS = {
    "version": "0", "sending_days": ["mon", "tue", "wed", "thu", "fri"], "start_hour": "9", "end_hour": "17",
    "timezone": "Europe/Berlin", "daily_quota": "50", "ramp_up": "1, 5", "holidays": "2026-03-10", "gap_least": "30",
    "gap_most": "90", "person_hours": "0", "bounce_limit": "5", "complaint_limit": "0.3", "limit_after": "100",
}  # fmt: skip


@pytest.fixture(autouse=True)
def links(monkeypatch: pytest.MonkeyPatch) -> None:
    """What links to unsubscribe are made with."""
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now = FRIDAY_EVENING
    return clock


@pytest.fixture
async def outbox(migrated_sqlite_url: str, clock: Clock) -> AsyncIterator[AsyncOutbox]:
    async with AsyncOutbox(migrated_sqlite_url, clock=clock, sender="desk@hotel.example") as outbox:
        yield outbox


@pytest.fixture
async def browser(outbox: AsyncOutbox) -> AsyncIterator[AsyncClient]:
    """Somebody at this machine, under `--dev`."""
    async with AsyncClient(transport=ASGITransport(build(outbox, dev=True)), base_url="http://localhost") as client:
        yield client


def text_of(response: Response) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", response.text)).split())


async def upload(browser: AsyncClient, content: bytes, path: str = PAGE, **fields: str) -> Response:
    """Send the form of an import, with the token that the page carries."""
    found = re.search(r'name="csrf" value="([^"]*)"', (await browser.get(path)).text)
    assert found is not None
    files = {"file": ("people.csv", content, "text/csv")}
    return await browser.post(path.replace("?", "/import?"), data={"csrf": found[1], **fields}, files=files)


async def drafted(browser: AsyncClient, **changes: Any) -> None:
    """A draft with two prospects, in a workspace that has said when it sends."""
    assert (await press(browser, SENDING, SENDING, **SETTINGS)).status_code == 303
    assert (await press(browser, LIST, LIST, **{**NEW, **changes})).status_code == 303
    assert (await upload(browser, PEOPLE)).status_code == 200


async def launched(browser: AsyncClient) -> None:
    await drafted(browser)
    answer = await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1")
    assert answer.headers["location"] == f"{PAGE}&notice=campaign_launch&count=2"


async def acts_on_record(outbox: AsyncOutbox) -> list[str]:
    return [entry.what for entry in (await outbox.database.run(read_audit(), writes=False)).entries][::-1]


async def prospect_path(browser: AsyncClient, name: str = "ada") -> str:
    found = re.search(rf'href="([^"]*/prospects/[^"]*)">{name}@', (await browser.get(PAGE)).text)
    assert found is not None
    return unescape(found[1])


@pytest.mark.parametrize(
    "path",
    [f"/admin/campaigns/none{W}", f"/admin/campaigns/none/prospects/p1{W}", f"/admin/sequences/none{W}"],
)
async def test_what_is_not_there_leads_to_the_list_of_campaigns_and_to_no_place_for_programs(
    browser: AsyncClient, path: str
) -> None:
    answer = await browser.get(path)

    assert answer.status_code == 404
    assert f'<a class="button" href="{LIST}">Campaigns</a>' in answer.text
    assert "/api/" not in answer.text
    assert "postroom campaign" not in answer.text


# The list, and a new one


async def test_an_empty_workspace_says_what_a_campaign_is_and_offers_the_first(browser: AsyncClient) -> None:
    page = await browser.get(LIST)

    assert (page.status_code, "No campaign yet" in page.text, 'id="make"' in page.text) == (200, True, True)
    assert 'href="/admin/campaigns" aria-current="page"' in page.text


async def test_a_new_campaign_is_a_draft_under_an_id_made_of_its_name(browser: AsyncClient) -> None:
    answer = await press(browser, LIST, LIST, **{**NEW, "name": "Spring, 2026!"})

    assert answer.headers["location"] == "/admin/campaigns/spring-2026?workspace=hotel&notice=campaign_new&count=1"
    page = await browser.get(answer.headers["location"])
    assert "Nothing is sent from it until somebody launches it." in page.text
    assert 'class="status status-draft"' in page.text
    assert "Spring, 2026!" in text_of(await browser.get(LIST))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"sender_address": "nobody"}, 'id="new-sender-address-hint"'),
        ({"sender_address": ""}, "choose at least one sender"),
        ({"id": "a:b"}, 'id="new-id-hint"'),
        ({"subject": ""}, 'id="new-subject-hint"'),
        ({"text": ""}, 'class="wrong" id="new-text-hint"'),
        ({"text": "Hello {{ name"}, 'class="wrong" id="new-text-hint">line 1: '),
        ({"subject": "{% if %}"}, 'class="wrong" id="new-subject-hint">line 1: '),
        ({"name": " "}, 'id="new-name-hint"'),
    ],
)
async def test_what_is_wrong_with_a_new_campaign_stands_beside_its_field(
    browser: AsyncClient, wrong: dict[str, str], told: str
) -> None:
    page = await press(browser, LIST, LIST, **{**NEW, **wrong})

    assert (page.status_code, told in page.text) == (422, True)
    kept = {**NEW, **wrong}
    assert f'value="{kept["subject"]}"' in page.text, "what was typed is not lost"
    assert "No campaign yet" in page.text


async def test_a_text_that_is_too_long_is_told_so_when_all_of_it_has_come(browser: AsyncClient) -> None:
    """A browser that is answered while it still sends sees a connection that was reset, and no page."""
    left = 10

    async def pasted() -> AsyncIterator[bytes]:
        nonlocal left
        yield b"text="
        while left:
            left -= 1
            yield b"a" * 1_000_000

    form = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(10_000_005)}
    page = await browser.post(LIST, content=pasted(), headers={**form, "Referer": f"http://localhost{LIST}"})
    other = await browser.post(
        LIST, content=b"text=" + b"a" * 3_000_000, headers=form | {"Referer": "http://x.example"}
    )
    chinese = await press(browser, LIST, LIST, **{**NEW, "text": "字" * 199_999})

    assert (page.status_code, left) == (413, 0)
    assert "A text in the form is over 2 MB" in text_of(page)
    assert f'href="{LIST}">Back to the page</a>' in page.text
    assert (other.status_code, "Back to the page" in other.text) == (413, False)
    assert chinese.status_code == 303, "the longest that a step may have fits, in any script"
    assert 'maxlength="200000"' in (await browser.get(LIST)).text


async def test_the_list_tells_how_far_each_has_come_when_it_ends_and_why_it_waits(browser: AsyncClient) -> None:
    await launched(browser)
    page = await browser.get(LIST)

    assert 'aria-label="Spring: 0 sent, 2 waiting, 0 stopped, 0 dead"' in page.text
    assert "Ends Wed 11 Mar" in text_of(page), "one on Monday by the ramp-up, none on the holiday, one on Wednesday"
    assert "Waits: window closed , next Mon 9 Mar 09:00" in text_of(page)


# A draft


async def test_an_import_reports_every_row_that_was_not_taken_and_offers_the_rows_as_a_file(
    browser: AsyncClient,
) -> None:
    await drafted(browser)
    page = await upload(browser, PEOPLE + b"=1+1,,\nbob@x.example,B,B\nnew@x.example,New,Nests\n")
    kept = re.search(r'<textarea name="report"[^>]*>(.*?)</textarea>', page.text, re.DOTALL)

    assert "5 rows: 1 added, 0 updated, 2 known already, 1 twice in the file, 1 refused. 1 came into" in text_of(page)
    assert "Words for your mails: {{ company }}" in text_of(page)
    assert kept is not None
    assert unescape(kept[1]).startswith("line,outcome,address,reason\n4,refused,'=1+1,")
    answer = await press(browser, PAGE, PAGE.replace("?", "/report?"), report=unescape(kept[1]))
    assert answer.text == unescape(kept[1])
    assert answer.headers["content-disposition"] == 'attachment; filename="import-report.csv"'


async def test_the_report_of_many_rows_can_be_downloaded_and_says_what_it_leaves_out(browser: AsyncClient) -> None:
    """The page sends it along with a form, which takes so much and no more."""
    await drafted(browser)
    rows = "".join(f"né,,{'é' * 60}\n" for _ in range(6_000))
    page = await upload(browser, b"email,name,company\n" + rows.encode())
    kept = re.search(r'<textarea name="report"[^>]*>(.*?)</textarea>', page.text, re.DOTALL)
    assert kept is not None
    told = re.search(r"100 of 6,000 rows are shown; the file has the first ([\d,]+), and ([\d,]+) are", text_of(page))
    assert told is not None
    filed, left_out = (int(each.replace(",", "")) for each in told.groups())
    answer = await press(browser, PAGE, PAGE.replace("?", "/report?"), report=unescape(kept[1]).replace("\n", "\r\n"))

    assert (answer.status_code, answer.text) == (200, unescape(kept[1]))
    assert answer.text.count("\n") == filed + 1
    assert (filed > 1_000, filed + left_out) == (True, 6_000)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfea\x00b\x00", "is UTF-16, and not UTF-8"),
        (b"nothing,known\n1,2\n", "file"),
        (b"PK\x03\x04 spreadsheet", "is a spreadsheet"),
        (b"", "has no first line"),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused_with_the_remedy(
    browser: AsyncClient, content: bytes, told: str
) -> None:
    await drafted(browser)
    page = await upload(browser, content)

    assert (page.status_code, told in text_of(page)) == (422, True)
    assert "2 prospects" in text_of(page)


async def test_a_file_of_headings_alone_says_that_it_has_no_rows(browser: AsyncClient) -> None:
    await drafted(browser)
    page = await upload(browser, b"email,name\n")

    assert "The file has no rows" in page.text
    assert ("The file was imported" in page.text, "0 added" in page.text) == (False, False)


async def test_an_import_without_a_file_says_what_is_missing(browser: AsyncClient) -> None:
    await drafted(browser)
    page = await press(browser, PAGE, PAGE.replace("?", "/import?"))

    assert (page.status_code, "choose a CSV file first" in page.text) == (422, True)


async def test_a_draft_shows_its_forecast_drawn_and_as_a_table(browser: AsyncClient) -> None:
    await drafted(browser)
    page = await browser.get(PAGE)

    assert "First mail Mon 9 Mar 09:00" in text_of(page)
    assert "Last mail Wed 11 Mar" in text_of(page)
    assert "Mon 9 Mar: 1 planned; 1 may leave" in page.text
    assert "Tue 10 Mar: nothing; closed" in page.text
    assert re.search(r'<th scope="row">Wed 11 Mar</th><td>0</td><td>1</td><td>0</td><td>5</td>', page.text)


async def test_a_check_names_what_is_wrong_and_a_launch_with_it_is_not_offered(browser: AsyncClient) -> None:
    await drafted(browser, text="Hello {{ nmae }}")
    checked = await browser.get(f"{PAGE}&check=1")
    asked = await press(browser, PAGE, PAGE.replace("?", "/launch?"))
    forced = await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1")

    assert "Not ready yet" in checked.text
    for page in (checked, asked):
        assert "steps[1].text there is no 'nmae' (2 prospects: ada@x.example , bob@x.example )" in text_of(page)
        linked = dict(re.findall(r'<a href="([^"]*)">(ada@x.example|did you mean name\?)</a>', page.text))
        assert [unescape(each).partition("/admin/")[2][:10] for each in linked] == ["campaigns/", "sequences/"]
        editor = unescape(list(linked)[1])
        assert editor.endswith("#step-1")
        written = (await browser.get(editor)).text
        assert ('value="ada@x.example"' in written, "there is no &#39;nmae&#39;" in written) == (True, True)
    assert ("cannot be launched yet" in text_of(asked), 'id="confirm"' in asked.text) == (True, False)
    assert (forced.status_code, "there is no 'nmae'" in text_of(forced)) == (422, True)
    assert 'class="status status-draft"' in (await browser.get(PAGE)).text


async def test_a_part_of_a_draft_that_a_check_finds_wrong_is_not_ticked_off(browser: AsyncClient) -> None:
    await drafted(browser, text="Hello {{ nmae }}")
    unchecked, checked = await browser.get(PAGE), await browser.get(f"{PAGE}&check=1")
    form = {"act": "save", "version": "1", **steps("Hello {{ name }}")}
    await press(browser, SEQUENCE, SEQUENCE, **form)
    mended = await browser.get(f"{PAGE}&check=1")

    ticked = [
        re.findall(r'<li class="([a-z-]+)">', each.text.partition('class="ways"')[2].partition("</ol>")[0])
        for each in (unchecked, checked, mended)
    ]
    assert ticked == [["done"] * 4, ["done", "wrong-way", "done", "done"], ["done"] * 4]
    primary = ['class="primary" id="act-launch"' in each.text for each in (unchecked, checked, mended)]
    assert primary == [True, False, True]


async def test_a_check_of_an_empty_draft_says_what_to_do_on_the_page_and_not_in_a_shell(browser: AsyncClient) -> None:
    assert (await press(browser, LIST, LIST, **NEW)).status_code == 303
    checked = await browser.get(f"{PAGE}&check=1")
    taken = await press(browser, LIST, LIST, **NEW, id="spring")

    assert "prospects there is none import a file of prospects" in text_of(checked)
    assert f'href="{PAGE}#import">import a file of prospects</a>' in checked.text
    assert f'href="{SENDING}">say when it sends</a>' in checked.text
    assert "is there already; choose another id" in text_of(taken)
    assert [page for page in (checked, taken) if "postroom campaign" in page.text] == []


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("Весна", "весна"),
        ("Gru\u0308ße aus Zürich", "grüße-aus-zürich"),
        ("春のお知らせ", "春のお知らせ"),
        ("हिन्दी समाचार", "हिन्दी-समाचार"),
        ("50 % off: a / b", "50-off-a-b"),
        ("«…»", "campaign"),
        (f"{'a' * 59} long name", "a" * 59),
    ],
)
async def test_an_id_is_made_of_the_letters_of_a_name_in_any_script(browser: AsyncClient, name: str, id: str) -> None:
    first, second = [await press(browser, LIST, LIST, **{**NEW, "name": name}) for _ in range(2)]
    paths = [answer.headers["location"].partition("?")[0] for answer in (first, second)]

    assert paths == [f"/admin/campaigns/{quote(each, safe='')}" for each in (id, f"{id}-2")], "and the next is numbered"
    assert [(await browser.get(f"{path}{W}")).status_code for path in paths] == [200, 200]


async def test_without_a_place_to_unsubscribe_at_the_check_says_so(
    browser: AsyncClient, outbox: AsyncOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    await drafted(browser)
    assert "Ready to be launched" in (await browser.get(f"{PAGE}&check=1")).text
    for name in LINKS:
        monkeypatch.delenv(name)
    async with AsyncOutbox(outbox.database_url, sender="desk@hotel.example") as other:
        transport = ASGITransport(build(other, dev=True))
        async with AsyncClient(transport=transport, base_url="http://localhost") as client:
            page = await client.get(f"{PAGE}&check=1")

    assert "Not ready yet" in page.text
    assert "unsubscrib" in text_of(page)


# Launched


async def test_whom_a_launch_passes_over_is_told_before_it_and_after_it(browser: AsyncClient) -> None:
    await drafted(browser)
    adding = {"address": "ada@x.example", "scope": "workspace", "workspace": "hotel", "reason": "manual"}
    await press(browser, "/admin/suppressions", "/admin/suppressions", **adding)
    asked = text_of(await press(browser, PAGE, PAGE.replace("?", "/launch?")))
    told = await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1")

    assert "pass over some of them: not to be mailed (1 prospect) nothing need" in asked, "of nobody who is named"
    assert "1 prospect gets 1 step" in asked
    assert "1 more get nothing: not to be mailed" in asked
    assert "1 prospect passed over" in text_of(await browser.get(told.headers["location"]))


async def test_a_draft_of_which_nobody_would_get_anything_says_so_and_leads_to_the_import(
    browser: AsyncClient,
) -> None:
    await launched(browser)
    again = {"name": "Again", "sequence": "spring", "senders": "grace"}
    assert (await press(browser, LIST, LIST, **again)).status_code == 303
    page = PAGE.replace("spring", "again")
    await upload(browser, PEOPLE, page)
    checked = await browser.get(f"{page}&check=1")
    asked = text_of(await press(browser, page, page.replace("?", "/launch?")))

    assert "nobody would get anything; a launch would pass over all of them: have this sequence already (2)" in asked
    assert re.search('<a href="[^"]*/again[^"]*#import">import others; who has', checked.text)


async def test_a_draft_that_was_cancelled_is_launched_only_if_it_is_in_order(browser: AsyncClient) -> None:
    """Nothing of it has ever passed a check."""
    await drafted(browser, subject="About {{ nothing_like_it }}")
    await press(browser, PAGE, PAGE.replace("?", "/cancel?"), confirmed="1")
    asked = await press(browser, PAGE, PAGE.replace("?", "/launch?"))
    forced = await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1", again="1")

    assert "cannot be launched yet" in text_of(asked)
    assert 'id="confirm"' not in asked.text
    assert forced.status_code == 422


async def test_a_launch_asks_first_with_the_numbers_and_is_on_record(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await drafted(browser)
    asked = await press(browser, PAGE, PAGE.replace("?", "/launch?"))

    assert "Launch «Spring»? 2 prospects get 1 step, from grace@hotel.example." in text_of(asked)
    assert "Mails 2 in 1 step" in text_of(asked)
    assert 'class="status status-draft"' in (await browser.get(PAGE)).text, "nothing was done yet"
    done = await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1")
    page = await browser.get(done.headers["location"])
    assert "Launched: 2 mails planned." in page.text
    assert "2 mails = 0 sent + 2 waiting + 0 stopped + 0 dead" in text_of(page)
    assert (await acts_on_record(outbox))[-2:] == ["campaign_launch", "campaign_launch"]


async def test_every_waiting_mail_shows_its_reason_and_when_it_goes_on(
    browser: AsyncClient, outbox: AsyncOutbox, clock: Clock
) -> None:
    await launched(browser)

    assert "ada@x.example step 1 planned Mon 9 Mar 09:00 · window closed , next Mon 9 Mar 09:00" in text_of(
        await browser.get(PAGE)
    )
    clock.now = datetime(2026, 3, 9, 9, tzinfo=UTC)
    async with outbox.transaction() as connection:
        await connection.execute(
            "INSERT INTO postroom_campaign_days (workspace, sender_id, day, used, accepted)"
            " VALUES ('hotel', '', '2026-03-09', 1, 1)"
        )
    assert "ada@x.example step 1 ramp day 1, next Wed 11 Mar 09:00" in text_of(await browser.get(PAGE))


async def test_pause_and_resume_hold_at_once_and_cancelling_asks(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await launched(browser)
    paused = await press(browser, PAGE, PAGE.replace("?", "/pause?"))
    page = await browser.get(paused.headers["location"])
    assert "Nothing of it leaves until somebody resumes it." in page.text
    assert "ada@x.example step 1 paused" in text_of(page)
    again = await press(browser, PAGE, PAGE.replace("?", "/launch?"))
    assert "notice=campaign_changed" in again.headers["location"]
    await press(browser, PAGE, PAGE.replace("?", "/resume?"))
    assert 'class="status status-running"' in (await browser.get(PAGE)).text
    asked = await press(browser, PAGE, PAGE.replace("?", "/cancel?"))
    assert "2 mails that wait will not leave." in text_of(asked)
    done = await press(browser, PAGE, PAGE.replace("?", "/cancel?"), confirmed="1")
    page = await browser.get(done.headers["location"])
    assert "2 mails = 0 sent + 0 waiting + 2 stopped + 0 dead" in text_of(page)
    assert "2 campaign cancelled" in text_of(page)
    assert "Launch again…" in page.text
    asked = await press(browser, PAGE, PAGE.replace("?", "/launch?"))
    assert "It was cancelled. What had not left then waits again" in text_of(asked)
    assert 'name="again" value="1"' in asked.text
    done = await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1", again="1")
    page = await browser.get(done.headers["location"])
    assert "Launched: 2 mails planned." in text_of(page)
    assert "2 mails = 0 sent + 2 waiting" in text_of(page)
    assert [each for each in await acts_on_record(outbox) if "launch" not in each][-3:] == [
        "campaign_pause", "campaign_resume", "campaign_cancel",
    ]  # fmt: skip


async def test_one_prospect_is_paused_resumed_and_stopped_and_the_thread_tells(browser: AsyncClient) -> None:
    await launched(browser)
    path = await prospect_path(browser)
    page = await browser.get(path)
    assert "1. About Engines waiting planned Mon 9 Mar 09:00 · window closed , next Mon 9 Mar 09:00" in text_of(page)
    assert "company Engines" in text_of(page)
    await press(browser, path, path.replace("?", "/pause?"))
    assert 'class="status status-paused"' in (await browser.get(path)).text
    await press(browser, path, path.replace("?", "/resume?"))
    asked = await press(browser, path, path.replace("?", "/stop?"))
    assert "Stop ada@x.example?" in text_of(asked)
    await press(browser, path, path.replace("?", "/stop?"), confirmed="1")
    page = await browser.get(path)
    assert ('class="status status-stopped"' in page.text, 'id="act-stop"' in page.text) == (True, False)


async def test_who_is_paused_in_a_draft_gets_nothing_of_the_launch_until_somebody_resumes_them(
    browser: AsyncClient,
) -> None:
    await drafted(browser)
    path = await prospect_path(browser)
    offered = await browser.get(path)
    paused = await press(browser, path, path.replace("?", "/pause?"))
    page = await browser.get(path)
    asked = text_of(await press(browser, PAGE, PAGE.replace("?", "/launch?")))
    await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1")
    waits = await browser.get(path)
    await press(browser, path, path.replace("?", "/resume?"))

    assert "/pause?" in offered.text
    assert "notice=prospect_pause" in paused.headers["location"]
    assert ('class="status status-paused"' in page.text, 'id="act-resume"' in page.text) == (True, True)
    assert "1 prospect gets 1 step" in asked
    assert "1. About Engines waiting paused" in text_of(waits)
    assert 'class="status status-active"' in (await browser.get(path)).text


async def test_who_was_suppressed_is_told_in_words_with_a_link_to_the_entry_while_it_is_there(
    browser: AsyncClient,
) -> None:
    await launched(browser)
    path, home = await prospect_path(browser), "/admin/suppressions"
    adding = {"address": "ada@x.example", "scope": "workspace", "workspace": "hotel", "reason": "manual"}
    added = await press(browser, home, home, **adding)
    entry = added.headers["location"].rpartition("=")[2]
    link = f'href="{home}?q=ada%40x.example">suppressed on 2026-03-06: manual</a>'
    told = [await browser.get(each) for each in (PAGE, path)]
    await press(browser, home, f"{home}/{entry}/remove", confirmed="1")
    after = [await browser.get(each) for each in (PAGE, path)]

    assert [link in each.text for each in told] == [True, True]
    assert ["suppressed on 2026-03-06: manual (removed since)" in text_of(each) for each in after] == [True, True]
    assert [f"{home}?q=" in each.text for each in after] == [False, False]
    assert [entry in text_of(each) for each in (*told, *after)] == [False] * 4


async def test_the_page_of_a_prospect_tells_what_left_what_came_back_and_what_was_done(
    browser: AsyncClient, outbox: AsyncOutbox, clock: Clock
) -> None:
    await launched(browser)
    path = await prospect_path(browser)
    assert "Nothing yet" in text_of(await browser.get(path))
    await press(browser, path, path.replace("?", "/pause?"))
    clock.advance(minutes=1)
    strange = Note(source="mail", source_id="1", what="replied", address="ada@x.example", text=HOSTILE, problem=HOSTILE)
    await outbox.database.run(record_returns([strange]))
    page = await browser.get(path)
    async with as_somebody(outbox, Role.VIEWER, "hotel") as client:
        theirs = await client.get(path)

    assert re.findall("<b>([^<]*)</b><time", page.text) == ["Paused", "Replied", "Stopped: replied"]
    assert "by developer" in text_of(page)
    assert re.search(r'href="/admin/returns/[0-9a-f-]+"', page.text)
    assert ("names no email" in text_of(page), "<script>alert" in page.text) == (True, False)
    assert ("names no email" in text_of(theirs), "Stopped: replied" in text_of(theirs)) == (False, True)


async def test_people_are_found_by_part_and_status_and_paged_by_a_cursor(browser: AsyncClient) -> None:
    await drafted(browser)
    many = "email,name\n" + "\n".join(f"p{number}@many.example,Person {number}" for number in range(40))
    await upload(browser, many.encode())

    first = await browser.get(PAGE)
    assert ("p10@many" in first.text, "p39@many" in first.text) == (True, False)
    onward = re.search(r'rel="next" href="([^"]*)"', first.text)
    assert onward is not None
    second = await browser.get(unescape(onward[1]))
    assert ("p10@many" in second.text, "p39@many" in second.text) == (False, True)
    found = await browser.get(f"{PAGE}&q=PERSON+7")
    assert ("p7@many" in found.text, "p8@many" in found.text) == (True, False)
    assert "Nobody matches" in (await browser.get(f"{PAGE}&q=%25")).text
    assert "Nobody matches" in (await browser.get(f"{PAGE}&status=bounced")).text
    assert "ada@x.example" in (await browser.get(f"{PAGE}&status=nonsense&after=nonsense&waiting=-1")).text


async def test_a_campaign_goes_on_telling_the_steps_it_was_launched_with_when_its_sequence_is_edited(
    browser: AsyncClient,
) -> None:
    """The newest version is nobody's yet: its subjects were never sent, and its steps are not those of the funnel."""
    await drafted(browser)
    await press(browser, SEQUENCE, SEQUENCE, act="save", version="1", **steps("Hello", "And again", "And at last"))
    await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1")
    await press(browser, SEQUENCE, SEQUENCE, act="save", version="2", **steps("Hello", **{"subject-1": "Otherwise"}))
    page = await browser.get(PAGE)

    assert "6 mails = 0 sent + 6 waiting" in text_of(page)
    assert re.findall(r'class="funnel-name">(\d)', page.text) == ["1", "2", "3"], "the funnel adds up to the sum"
    assert ("1. About {{ company }}" in text_of(page), "Otherwise" in page.text) == (True, False)
    assert "2 prospects · 3 steps" in text_of(page)
    assert "active 1 of 3" in text_of(page)
    assert "Spring , version 2 It was edited since: version 3 is for" in text_of(page)


async def test_people_are_found_by_any_status_and_by_a_mail_that_waits_or_is_in_doubt(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    await launched(browser)
    async with outbox.transaction() as connection:
        await connection.execute("UPDATE postroom_enrolments SET status = 'complained' WHERE number = 1")
        await connection.execute(
            "UPDATE postroom_campaign_mails SET state = 'leaving', email_status = 'in_doubt' WHERE number = 2"
        )
    complained = await browser.get(f"{PAGE}&status=complained")
    assert '<option value="complained" selected>Complained</option>' in complained.text
    assert found_in(complained) == ["ada@x.example"]
    in_doubt = await browser.get(f"{PAGE}&mail=in_doubt")
    assert '<option value="in_doubt" selected>In doubt</option>' in in_doubt.text
    assert found_in(in_doubt) == ["bob@x.example"]

    assert found_in(await browser.get(f"{PAGE}&mail=waiting")) == ["ada@x.example", "bob@x.example"]


def found_in(page: Response) -> list[str]:
    """Those in the list of prospects."""
    return re.findall(r">(\w+@x.example)</a>", page.text.partition('id="people"')[2])


async def test_what_nobody_can_look_for_is_told_and_narrows_nothing(browser: AsyncClient) -> None:
    await launched(browser)
    page = await browser.get(f"{PAGE}&status=nope&after=zzz")

    assert "says what nobody can look for: status=nope , after=zzz . It is passed over." in text_of(page)
    assert found_in(page) == ["ada@x.example", "bob@x.example"]
    assert "nobody can look for" not in (await browser.get(f"{PAGE}&status=active&after=1")).text


async def test_mails_of_somebody_who_is_paused_are_told_to_be_missing_from_the_calendar(browser: AsyncClient) -> None:
    await launched(browser)
    assert "not planned, for" not in text_of(await browser.get(PAGE))
    path = await prospect_path(browser)
    await press(browser, path, path.replace("?", "/pause?"))
    page = await browser.get(PAGE)

    assert "1 of them is not planned, for 1 prospect is paused." in text_of(page)
    assert "1 planned" in text_of(page)


async def test_of_more_mails_than_a_page_looks_ahead_at_it_names_the_command_and_plans_none(
    browser: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.admin.campaign_places.MOST_LOOKED_AT", 1)
    await launched(browser)
    page, listed = await browser.get(PAGE), await browser.get(LIST)
    for each in (page, listed):
        assert "2 mails are still to leave, too many to look ahead at here." in text_of(each)
        assert "postroom campaign forecast spring --workspace hotel works it out" in text_of(each)

    assert "0 planned" not in text_of(page)
    assert "when it leaves is not worked out here" in text_of(page)


async def test_why_mail_waits_is_told_in_numbers_and_a_page_of_it_is_long(browser: AsyncClient) -> None:
    await drafted(browser)
    await upload(browser, b"email,name\n" + b"".join(b"p%d@many.example,P\n" % number for number in range(20)))
    form = steps("Hello {{ name }}", "Again", **{"subject-1": "Hello"})
    await press(browser, SEQUENCE, SEQUENCE, act="save", version="1", **form)
    await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1")
    page = await browser.get(PAGE)

    assert "22 window closed · 22 after another step" in text_of(page)
    assert "ada@x.example step 2 planned Thu 12 Mar 09:00 · after step 1" in text_of(page)
    onward = re.search(r'href="([^"]*)">Next →</a>', page.text.partition('id="waiting"')[2])
    assert (page.text.count('<li><div class="what">'), onward is not None) == (25, True)
    second = await browser.get(unescape(onward[1] if onward else ""))
    assert second.text.count('<li><div class="what">') == 19
    assert "22 window closed · 22 after another step" in text_of(second), "they are of the whole campaign"


async def test_what_has_come_to_its_end_leads_to_whose_it_was(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await launched(browser)
    async with outbox.transaction() as connection:
        await connection.execute("UPDATE postroom_campaign_mails SET state = 'dead' WHERE number = 2")
    page = await browser.get(PAGE)
    links = [unescape(each) for each in re.findall(r'href="([^"]*)#people">', page.text.partition('id="sum"')[2])]
    dead, active = await browser.get(links[0]), await browser.get(links[1])

    assert links[:2] == [f"{PAGE}&mail=dead", f"{PAGE}&status=active"]
    assert 'class="sum-part sum-dead"' in page.text
    people = [each.text.partition('id="people"')[2] for each in (dead, active)]
    assert [("ada@x" in each, "bob@x" in each) for each in people] == [(False, True), (True, True)]
    assert 'value="dead" selected' in dead.text


async def test_a_draft_that_was_cancelled_has_no_numbers_and_offers_no_import(browser: AsyncClient) -> None:
    assert (await press(browser, LIST, LIST, **NEW)).status_code == 303
    await press(browser, PAGE, PAGE.replace("?", "/cancel?"), confirmed="1")
    page = await browser.get(PAGE)

    assert "Nobody was in it Prospects come into a campaign while it is a draft." in text_of(page)
    assert [words for words in ("Import a file", "People:", "mails =", "1 mails") if words in text_of(page)] == []
    assert re.search("cancelled (now|.* ago)", text_of(await browser.get(LIST)))


async def test_numbers_of_one_are_told_as_one_and_nobody_dead_is_no_alarm(browser: AsyncClient) -> None:
    assert (await press(browser, LIST, LIST, **NEW)).status_code == 303
    await upload(browser, PEOPLE.rpartition(b"bob")[0])
    await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1")
    page = await browser.get(PAGE)

    assert "1 mail = 0 sent + 1 waiting + 0 stopped + 0 dead" in text_of(page)
    assert "sum-dead" not in page.text


async def test_names_are_shown_in_their_own_direction(browser: AsyncClient) -> None:
    await drafted(browser, name="مرحبا", id="spring")
    await upload(browser, "email,name\nada2@x.example,שלום (עדה)\n".encode())

    assert "<h1><bdi>مرحبا</bdi></h1>" in (await browser.get(PAGE)).text
    assert "<bdi>שלום (עדה)</bdi>" in (await browser.get(PAGE)).text
    assert "<bdi>مرحبا</bdi></a>" in (await browser.get(LIST)).text


REFRESH = {"X-Postroom-Refresh": "1"}
"""How an open page asks for itself again."""


def regions(page: Response) -> list[str]:
    """What of a page its script puts in place anew."""
    return re.findall(r'id="([^"]+)" data-live', page.text)


async def test_an_open_page_hears_of_everything_that_happens_to_its_campaign_elsewhere(browser: AsyncClient) -> None:
    """Status, buttons, banner and calendar with the numbers, and of a paused one that it goes on."""
    await launched(browser)
    running = await browser.get(PAGE)
    await press(browser, PAGE, PAGE.replace("?", "/pause?"), reason="the words are wrong")
    paused = await browser.get(PAGE, headers=REFRESH)
    await press(browser, PAGE, PAGE.replace("?", "/cancel?"), confirmed="1")
    ended = await browser.get(PAGE, headers=REFRESH)

    live = ["head", "sum", "by-day", "funnel", "waiting"]
    assert (regions(running), regions(paused), regions(ended)) == (live, live, [])
    for page, words in ((paused, "the words are wrong. Nothing of it leaves"), (ended, "Launch again…")):
        head = page.text.partition('id="head"')[2].partition('id="sum"')[0]
        assert words in " ".join(head.split())
        assert 'id="by-day"' in page.text, "and what was planned is taken back"
    assert "1 planned" in running.text
    assert "planned; " not in paused.text


async def test_the_calendar_moves_with_the_sum(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    """What has left since somebody looked ahead is sent, and planned no more."""
    await launched(browser)
    assert "<b>0</b> sent</li>" in (await browser.get(PAGE)).text
    async with outbox.transaction() as connection:
        await connection.execute(
            "UPDATE postroom_campaign_mails SET state = 'sent', day = '2026-03-06' WHERE number = 1"
        )
    page = await browser.get(PAGE, headers=REFRESH)

    assert "2 mails = 1 sent + 1 waiting" in text_of(page)
    calendar = page.text.partition('id="by-day"')[2]
    assert ("<b>1</b> sent</li>" in calendar, "<b>1</b> planned</li>" in calendar) == (True, True)


async def test_the_banner_of_a_paused_campaign_is_one_sentence(browser: AsyncClient) -> None:
    await launched(browser)
    await press(browser, PAGE, PAGE.replace("?", "/pause?"), reason="we wait")
    page = await browser.get(PAGE)

    assert re.search(r'role="note"><p>Paused <time[^>]*>[^<]*</time>: we wait\. Nothing[^<]*</p></div>', page.text)


async def test_a_pause_is_told_once_and_what_waits_is_not_called_planned(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    await launched(browser)
    async with outbox.transaction() as connection:
        await connection.execute(
            "UPDATE postroom_campaign_mails SET state = 'sent', day = '2026-03-06' WHERE number = 1"
        )
    done = await press(browser, PAGE, PAGE.replace("?", "/pause?"))
    page = await browser.get(done.headers["location"])

    assert "The campaign is paused." in page.text
    assert page.text.count("Nothing of it leaves until somebody resumes it.") == 1
    assert "1 mail waits; nothing is planned while it is paused." in text_of(page)
    assert "planned</li>" not in page.text


async def test_the_calendar_is_drawn_for_the_mails_and_says_what_it_cuts(browser: AsyncClient) -> None:
    """With a thousand a day, sixty mails were a line at the bottom."""
    await drafted(browser)
    rows = b"".join(b"p%d@many.example,P\n" % number for number in range(58))
    await upload(browser, b"email,name\n" + rows)
    await press(browser, SENDING, SENDING, **{**SETTINGS, "version": "1", "daily_quota": "1000", "ramp_up": "10, 5"})
    await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1")
    page = await browser.get(PAGE)

    assert 'class="chart-top">50</span>' in page.text
    assert 'text-anchor="start">5 may leave</text>' in page.text, "the line says itself what it stands for"
    assert "may leave up to 1,000 a day may leave: more than is drawn" in text_of(page)
    lines = [
        [name for name in ("; 10 ", "; 5 ", "; 1,000 ") if name in each]
        for each in re.findall(r"<title>([^<]*)</title>(?:(?!</g>).)*day-ceiling", page.text)
    ]
    assert lines == [["; 10 "], ["; 5 "]], "there is a line where there is room for it"
    assert re.search(r"The busiest day is Thu 12 Mar: 45 planned; 1,000 may leave by quota and ramp-up\.", page.text)


async def test_a_day_that_is_not_full_does_not_reach_the_edge_nor_a_line(browser: AsyncClient) -> None:
    """Five of twenty stood up to a line at the edge of the drawing, and looked like all that may leave."""
    await drafted(browser)
    await upload(browser, b"email,name\n" + b"".join(b"p%d@many.example,P\n" % number for number in range(3)))
    await press(browser, SENDING, SENDING, **{**SETTINGS, "version": "1", "daily_quota": "20", "ramp_up": ""})
    page = await browser.get(PAGE)
    calendar = page.text.partition('id="calendar"')[2].partition("</figure>")[0]

    assert "Mon 9 Mar: 5 planned; 20 may leave" in calendar
    assert 'y="80.0" width="78.17" height="80.0"' in calendar, "half of ten"
    assert ("day-ceiling" in calendar, "key-allowed" in calendar, "chart-labels" in calendar) == (False, False, False)
    assert "up to 20 a day may leave: more than is drawn" in text_of(page)
    assert "other campaigns" not in calendar


async def test_a_day_that_is_full_reaches_its_line_beneath_the_edge(browser: AsyncClient) -> None:
    await drafted(browser)
    await press(browser, SENDING, SENDING, **{**SETTINGS, "version": "1", "daily_quota": "2", "ramp_up": ""})
    calendar = (await browser.get(PAGE)).text.partition('id="calendar"')[2].partition("</figure>")[0]

    assert 'class="chart-top">5</span>' in calendar, "the edge is no quota"
    assert 'x="71.43%" y="60.0%" dy="-6" text-anchor="end">2 may leave</text>' in calendar
    assert ('y="96.0" width="78.17" height="64.0"' in calendar, 'y1="96.0"' in calendar) == (True, True)
    assert "key-allowed" in calendar


async def test_what_other_campaigns_send_is_in_the_legend_where_they_send(browser: AsyncClient) -> None:
    await launched(browser)
    assert (await press(browser, LIST, LIST, **{**NEW, "name": "Summer", "senders": ["grace"]})).status_code == 303
    summer = PAGE.replace("spring", "summer")
    await upload(browser, b"email,name,company\neve@x.example,Eve,Apples\n", summer)

    assert 'class="key-others"' in (await browser.get(summer)).text


# The sequence


def steps(*texts: str, **more: str) -> dict[str, str]:
    found = {"name": "Spring", "subject-1": "About {{ company }}", **more}
    for number, text in enumerate(texts, 1):
        found |= {f"text-{number}": text, f"delay_days-{number}": found.get(f"delay_days-{number}", "3")}
    return found


async def test_a_preview_says_what_a_prospect_gets_and_names_what_is_missing_beside_the_step(
    browser: AsyncClient,
) -> None:
    await drafted(browser)
    shown = await press(
        browser, SEQUENCE, SEQUENCE, act="preview", prospect="BOB@x.example",
        **steps("Hello {{ name }}", "Again", "See you in {{ city }}"),
    )  # fmt: skip

    assert shown.status_code == 200
    assert "As bob@x.example gets it About Boats Hello Bob" in text_of(shown)
    assert "Re: About Boats Again" in text_of(shown)
    assert re.search(r'id="text-3-wrong">there is no &#39;city&#39;; ', shown.text)
    assert ">See you in {{ city }}</textarea>" in shown.text
    assert "Version 1." in text_of(await browser.get(SEQUENCE)), "a preview saves nothing"


async def test_a_preview_says_that_the_link_to_unsubscribe_will_be_the_reader_s_own(browser: AsyncClient) -> None:
    await drafted(browser)
    shown = await press(
        browser, SEQUENCE, SEQUENCE, act="preview", prospect="bob@x.example",
        **steps("Stop: {{ unsubscribe_url }}", "No link"),
    )  # fmt: skip

    assert "{{ unsubscribe_url }}" in text_of(shown).partition("Words to use: ")[2].partition("First mail")[0]
    assert "unsubscribe.invalid" not in shown.text
    assert text_of(shown).count("/u/… stands for a link to unsubscribe of their own") == 1
    assert "Stop: https://" in text_of(shown)


async def test_saving_makes_a_new_version_and_the_same_steps_none(browser: AsyncClient) -> None:
    await drafted(browser)
    form = steps("Hello {{ name }}", "And again", **{"html-2": "<p>And again</p>"})
    saved = await press(browser, SEQUENCE, SEQUENCE, act="save", version="1", **form)
    same = await press(browser, SEQUENCE, SEQUENCE, act="save", version="2", **form)
    page = await browser.get(SEQUENCE)

    assert "notice=sequence_saved" in saved.headers["location"]
    assert "notice=sequence_same" in same.headers["location"]
    assert "Version 2." in text_of(page)
    assert ">And again</textarea>" in page.text


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"delay_days-2": "soon"}, "write it in digits alone"),
        ({"delay_days-2": "-5"}, "got -5; choose one within these bounds"),
        ({"delay_days-2": "99999"}, 'id="delay_days-2-wrong"'),
        ({"subject-1": ""}, 'id="subject-1-wrong"'),
    ],
)
async def test_what_is_wrong_with_a_step_stands_beside_it_and_nothing_is_lost(
    browser: AsyncClient, wrong: dict[str, str], told: str
) -> None:
    await drafted(browser)
    page = await press(browser, SEQUENCE, SEQUENCE, act="save", **{**steps("Hello", "Typed with care"), **wrong})

    assert (page.status_code, told in page.text) == (422, True)
    assert ">Typed with care</textarea>" in page.text


async def test_templates_that_nobody_could_read_are_refused_each_beside_its_part(browser: AsyncClient) -> None:
    await drafted(browser)
    form = steps("Hello {% bad", "Typed with care", "{{ name", **{"html-3": "{% if %}"})
    page = await press(browser, SEQUENCE, SEQUENCE, act="save", **form)

    assert page.status_code == 422
    assert re.findall(r'id="([a-z]+-\d)-wrong"', page.text) == ["text-1", "text-3", "html-3"]
    assert "Not saved. What is wrong stands beside step 1 and step 3" in text_of(page)
    assert ">Hello {% bad</textarea>" in page.text
    assert ">Typed with care</textarea>" in page.text
    assert "Version 1." in text_of(await browser.get(SEQUENCE)), "nothing was written"


async def test_words_that_the_first_prospect_lacks_are_saved_with_a_caution(browser: AsyncClient) -> None:
    await drafted(browser)
    form = {"act": "save", "campaign": "spring", "version": "1"}
    saved = await press(browser, SEQUENCE, SEQUENCE, **form, **steps("Hello", "Again, {{ nmae }}"))
    page = await browser.get(saved.headers["location"])
    mended = await press(browser, SEQUENCE, SEQUENCE, **form, **steps("Hello", "Again, {{ name }}"))

    assert "Saved, but it cannot be launched like this: step 2, there is no 'nmae'; did you mean name?" in text_of(page)
    assert ("notice-caution" in page.text, "notice-done" in page.text) == (True, False)
    assert "Saved as a new version." in (await browser.get(mended.headers["location"])).text


async def test_a_problem_begins_with_a_capital_letter_and_keeps_what_was_typed(browser: AsyncClient) -> None:
    await drafted(browser)
    nobody = await press(browser, SEQUENCE, SEQUENCE, act="preview", prospect="Emmy", **steps("Hello"))
    long = await press(browser, SEQUENCE, SEQUENCE, act="save", **{**steps("Hello"), "name": "Spring" * 100})

    assert "Nobody called Emmy is here." in text_of(nobody)
    assert (long.status_code, "Name: has 600 characters; shorten it to 200." in text_of(long)) == (422, True)


@pytest.mark.parametrize("act", ["preview", "save"])
async def test_the_words_to_use_stay_where_an_address_was_mistyped_or_a_step_refused(
    browser: AsyncClient, act: str
) -> None:
    """They are needed then as before: those of the first of the campaign."""
    await drafted(browser)
    form = {"act": act, "prospect": "Emmy", "campaign": "spring", "version": "1"}
    page = await press(browser, SEQUENCE, SEQUENCE, **form, **steps("Hello {{ name"))

    assert "Words to use: {{ address }} {{ company }}" in text_of(page)


async def test_steps_are_added_and_removed_without_a_script(browser: AsyncClient) -> None:
    await drafted(browser)
    more = await press(browser, SEQUENCE, SEQUENCE, act="add", **steps("One", "Two"))
    less = await press(browser, SEQUENCE, SEQUENCE, act="remove-1", **steps("One", "Two"))

    assert re.findall(r'id="step-(\d)"', more.text) == ["1", "2", "3"]
    assert (re.findall(r'id="step-(\d)"', less.text), ">Two</textarea>" in less.text) == (["1"], True)


# When and who sends


async def test_the_settings_show_the_week_and_the_next_ten_windows_in_local_time_and_utc(browser: AsyncClient) -> None:
    await press(browser, SENDING, SENDING, **{**SETTINGS, "start_hour": "22", "end_hour": "2"})
    page = await browser.get(SENDING)

    assert 'aria-label="Mon: 22:00–24:00"' in page.text
    assert 'aria-label="Tue: 00:00–02:00 and 22:00–24:00"' in page.text
    assert 'aria-label="Sun: closed"' in page.text
    assert "Fri 6 Mar, 22:00–Sat 02:00 21:00–Sat 01:00 1" in text_of(page)
    assert "Mon 30 Mar, 22:00–Tue 02:00" not in text_of(page)
    assert len(re.findall(r'<tr><th scope="row">\w{3} \d+ \w{3},', page.text)) == 10
    assert "Tue 10 Mar" not in text_of(page), "a holiday"


@pytest.mark.parametrize(
    ("wrong", "field", "told"),
    [
        ({"timezone": "Europe/Berln"}, "timezone", "Timezone : 'Europe/Berln' is no zone"),
        ({"daily_quota": "many"}, "daily_quota", "Mails a day : expected a whole number from 0, got 'many'; write"),
        ({"daily_quota": "-5"}, "daily_quota", "Mails a day : expected a whole number from 0, got -5; choose one"),
        ({"start_hour": "25"}, "start_hour", "From (hour) : expected a whole number from 0 to 23, got 25"),
        ({"end_hour": "9"}, "end_hour", "Until (hour) : is 9 like «From (hour)», which leaves no hour to send in"),
        ({"sending_days": []}, "sending_days", "Sending days : is empty, so nothing would ever leave"),
        ({"ramp_up": "5, x"}, "ramp_up", "Ramp-up : expected a whole number from 0, got 'x'"),
        ({"holidays": "Christmas"}, "holidays", "Holidays : expected dates, got 'Christmas'; write 2026-12-25"),
        ({"gap_least": "90", "gap_most": "30"}, "gap_least", "Seconds between two mails, at least : the least, 90, is"),
        ({"gap_most": "soon"}, "gap_most", "Seconds between two mails, at most : expected a whole number from 0 to"),
        ({"person_hours": "-1"}, "person_hours", "Hours between two mails to one person : expected a whole number"),
        ({"bounce_limit": "half"}, "bounce_limit", "At so many bounces, in % : expected a percentage above 0"),
        ({"bounce_limit": "150"}, "bounce_limit", "up to 100, got '150'; write 5 for one in twenty"),
        ({"version": "7"}, "version", "Somebody else has changed them meanwhile; look at them, and save again"),
    ],
)
async def test_what_is_wrong_with_the_settings_is_told_by_field_and_what_was_typed_stays(
    browser: AsyncClient, wrong: dict[str, Any], field: str, told: str
) -> None:
    page = await press(browser, SENDING, SENDING, **{**SETTINGS, "limit_after": "123", **wrong})

    assert page.status_code == 422
    assert "Not saved: " in text_of(page)
    assert told in text_of(page)
    assert (field == "version") or re.search(rf'id="{field}"[^>]* aria-describedby="{field}-', page.text)
    assert page.text.count('class="wrong"') == (field != "version")
    assert 'value="123"' in page.text
    assert "Nobody has said it yet" in page.text, "nothing was written"


async def test_all_that_is_wrong_with_the_settings_is_told_at_once(browser: AsyncClient) -> None:
    wrong = {"start_hour": "99", "end_hour": "x", "gap_least": "?", "gap_most": "!"}
    wrong |= {"timezone": "Mars", "daily_quota": "-1", "bounce_limit": "0", "complaint_limit": "101", "holidays": "no"}
    page = await press(browser, SENDING, SENDING, **{**SETTINGS, **wrong, "sending_days": ["someday"]})

    assert page.text.count('aria-invalid="true"') == len(wrong)
    assert set(re.findall(r'<li><a href="#(\w+)">', page.text)) == {*wrong, "sending_days"}
    assert 'id="sending_days" aria-label="Sending days" aria-describedby="sending_days-wrong"' in page.text


@pytest.mark.parametrize(
    ("zone", "hours", "told"),
    [
        ("Europe/Berlin", ("0", "24"), "Mon 9 Mar, 00:00–24:00 Sun 23:00–Mon 23:00"),
        ("UTC", ("20", "0"), "Mon 9 Mar, 20:00–24:00 20:00–24:00"),
        ("America/Los_Angeles", ("17", "23"), "Mon 9 Mar, 17:00–23:00 Tue 00:00–06:00"),
    ],
)
async def test_a_window_names_the_midnight_that_ends_its_day_and_a_day_that_is_another(
    browser: AsyncClient, zone: str, hours: tuple[str, str], told: str
) -> None:
    changes = {"timezone": zone, "start_hour": hours[0], "end_hour": hours[1], "holidays": ""}
    await press(browser, SENDING, SENDING, **{**SETTINGS, **changes})

    assert told in text_of(await browser.get(SENDING))


async def test_of_the_present_window_the_page_shows_how_many_mails_are_left(
    browser: AsyncClient, outbox: AsyncOutbox, clock: Clock
) -> None:
    """And its day is one of the ramp-up, however often it is counted."""
    await press(browser, SENDING, SENDING, **{**SETTINGS, "daily_quota": "50", "ramp_up": "20, 30"})
    clock.now = datetime(2026, 3, 9, 10, tzinfo=UTC)
    async with outbox.transaction() as connection:
        await connection.execute(
            "INSERT INTO postroom_campaign_days (workspace, sender_id, day, used, accepted)"
            " VALUES ('hotel', '', '2026-03-09', 12, 12)"
        )
    told = text_of(await browser.get(SENDING))

    assert "8 left of 20 Wed 11 Mar" in told
    assert re.search(r"Wed 11 Mar, \S+ \S+ 30 ", told), "and the next one has the second step"


async def test_a_quota_of_nothing_is_saved_with_a_caution(browser: AsyncClient) -> None:
    done = await press(browser, SENDING, SENDING, **{**SETTINGS, "daily_quota": "0"})
    page = await browser.get(done.headers["location"])

    assert "Saved; but nothing will ever leave like this, as is said beneath." in page.text
    assert ("notice-caution" in page.text, "notice-done" in page.text) == (True, False)
    assert "Nothing will ever leave: the daily quota is 0. Raise it" in text_of(await browser.get(SENDING))


async def test_pages_of_a_campaign_say_plainly_that_nothing_of_it_will_ever_leave(browser: AsyncClient) -> None:
    await launched(browser)
    await press(browser, SENDING, SENDING, **{**SETTINGS, "version": "1", "daily_quota": "0"})
    told = "Nothing will ever leave: the daily quota is 0. Raise it"

    for path in (LIST, PAGE):
        page = await browser.get(path)
        assert told in text_of(page)
        assert f"{SENDING}#daily_quota" in unescape(page.text)
        assert "daily_quota is 0" not in page.text
    assert "step 1 quota used 0/0, never: the daily quota is 0; raise it" in text_of(await browser.get(PAGE))
    await press(browser, SENDING, SENDING, **{**SETTINGS, "version": "2", "ramp_up": ""})
    await press(browser, SENDING, SENDERS.replace("?", "/grace?"), address="grace@hotel.example", daily_quota="0")
    page = await browser.get(PAGE)
    assert "Nothing will ever leave from grace: the daily quota of grace is 0. Raise it" in text_of(page)
    assert f"{SENDING}&edit=grace#sender-form" in unescape(page.text)


async def test_no_window_brings_mail_after_a_day_of_the_ramp_up_that_allows_none(browser: AsyncClient) -> None:
    await press(browser, SENDING, SENDING, **{**SETTINGS, "ramp_up": "5, 0, 20"})
    page = await browser.get(SENDING)
    windows = page.text.partition("windows-title")[2].partition("</table>")[0]

    assert re.findall(r"<td>(\d+)</td></tr>", windows) == ["5", *["0"] * 9]
    assert "From a later day on nothing will leave: the ramp-up allows 0 mails on its day 2" in text_of(page)


async def test_pages_of_campaigns_say_whose_time_they_tell(browser: AsyncClient) -> None:
    told = "Forecasts, waits, windows and days are in the workspace's time; other times are UTC."

    assert [told in text_of(await browser.get(path)) for path in (LIST, SENDING)] == [True, True]
    assert "All times are UTC." in text_of(await browser.get("/admin/suppressions"))


async def test_a_sender_is_added_with_a_quota_of_its_own_or_refused_by_field(browser: AsyncClient) -> None:
    path = SENDING.replace("?", "/senders?")
    fields = {"id": "ada", "name": "Ada", "address": "ada@hotel.example", "route": "default", "daily_quota": "30"}
    done = await press(browser, SENDING, path, **fields, ramp_up="5, 10")
    wrong = await press(browser, SENDING, path, **{**fields, "id": "bob", "address": "nobody"})

    assert "notice=sender_saved" in done.headers["location"]
    assert "Ada ada@hotel.example ada default 30 5, 10" in text_of(await browser.get(SENDING))
    assert (wrong.status_code, 'id="sender-address-hint"' in wrong.text, 'value="bob"' in wrong.text) == (
        422,
        True,
        True,
    )


ADA = {
    "id": "ada", "name": "Ada", "address": "ada@hotel.example", "reply_to": "hello@hotel.example", "route": "default",
    "daily_quota": "30", "ramp_up": "5, 10",
}  # fmt: skip
SENDERS = SENDING.replace("?", "/senders?")


async def test_who_is_there_already_is_not_changed_by_adding_them_again(browser: AsyncClient) -> None:
    await press(browser, SENDING, SENDERS, **ADA)
    refused = await press(browser, SENDING, SENDERS, id="ada", name="", address="other@hotel.example", route="default")

    assert refused.status_code == 422
    assert "Not saved: Id : 'ada' is there already; change that one , or take another id" in text_of(refused)
    beside = re.search(r'<p class="wrong" id="sender-id-hint">.*href="([^"]*)"', refused.text)
    assert beside is not None
    assert unescape(beside[1]) == f"{SENDING}&edit=ada#sender-form"
    assert "Ada ada@hotel.example ada default 30 5, 10" in text_of(refused)
    assert 'value="other@hotel.example"' in refused.text, "what was typed is not lost either"


async def test_a_sender_is_edited_in_a_form_that_holds_what_is_known_of_them(browser: AsyncClient) -> None:
    await press(browser, SENDING, SENDERS, **ADA)
    edit = f"{SENDING}&edit=ada"
    form = await browser.get(edit)
    filled = dict(re.findall(r'id="sender-[a-z]+"(?: name="([a-z_]+)")? value="([^"]*)"', form.text))
    assert filled == {"": "ada", **{name: ADA[name] for name in ADA if name not in ("id", "route")}}
    assert "Edit ada" in text_of(form)

    was = re.search(r'name="was" value="([^"]*)"', form.text)
    assert was is not None
    changed = {**ADA, "name": "Ada L.", "reply_to": "", "ramp_up": "", "was": unescape(was[1])}
    saved = await press(browser, edit, SENDERS.replace("?", "/ada?"), **changed)
    assert saved.headers["location"] == f"{SENDING}&notice=sender_saved&count=1#senders"
    assert "Ada L. ada@hotel.example ada default 30 none" in text_of(await browser.get(SENDING))
    assert 'name="reply_to" value=""' in (await browser.get(edit)).text
    assert (await browser.get(f"{SENDING}&edit=nobody")).status_code == 404


async def test_an_edit_leaves_what_somebody_else_has_changed_meanwhile(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    await press(browser, SENDING, SENDERS, **ADA)
    edit = f"{SENDING}&edit=ada"
    was = re.search(r'name="was" value="([^"]*)"', (await browser.get(edit)).text)
    assert was is not None
    await AsyncCampaignOperations(outbox).change_sender("hotel", "ada", {"daily_quota": 3}, by="eve")

    change = SENDERS.replace("?", "/ada?")
    await press(browser, edit, change, **{**ADA, "name": "Ada L.", "was": unescape(was[1])})
    assert "Ada L. ada@hotel.example ada default 3 5, 10" in text_of(await browser.get(SENDING))


async def test_what_is_wrong_with_an_edited_sender_stands_beside_its_field(browser: AsyncClient) -> None:
    await press(browser, SENDING, SENDERS, **ADA)
    change = SENDERS.replace("?", "/ada?")
    refused = await press(browser, f"{SENDING}&edit=ada", change, **{**ADA, "address": "", "daily_quota": "7"})

    assert (refused.status_code, 'id="sender-address-hint"' in refused.text) == (422, True)
    assert ("Edit ada" in text_of(refused), 'value="7"' in refused.text) == (True, True)
    assert "ada default 30 5, 10" in text_of(await browser.get(SENDING))


async def test_a_route_that_is_not_set_up_here_stays_with_its_sender(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    elsewhere = {"address": "ada@hotel.example", "route": "elsewhere"}
    await AsyncCampaignOperations(outbox).change_sender("hotel", "ada", elsewhere, by="eve")

    page = await browser.get(f"{SENDING}&edit=ada")
    assert '<option value="elsewhere" selected>elsewhere (not set up here)</option>' in page.text


async def test_a_sender_is_paused_and_resumed_on_the_page(browser: AsyncClient) -> None:
    path = SENDING.replace("?", "/senders?")
    await press(browser, SENDING, path, id="ada", name="Ada", address="ada@hotel.example", route="default")
    act = SENDING.replace("?", "/senders/ada/pause?")
    paused = await press(browser, SENDING, act, reason="on holiday\x00")
    page = text_of(await browser.get(SENDING))
    resumed = await press(browser, SENDING, act.replace("pause?", "resume?"))

    assert "notice=sender_pause" in paused.headers["location"]
    assert re.search(r"Ada ada@hotel.example paused .* ago : on holiday ada", page)
    assert "notice=sender_resume" in resumed.headers["location"]
    assert "on holiday" not in text_of(await browser.get(SENDING))
    assert (await press(browser, SENDING, act.replace("ada", "nobody"))).status_code == 404
    assert (await press(browser, SENDING, act.replace("pause?", "delete?"))).status_code == 404


# Who may, and what never gets out


async def test_who_sees_one_workspace_finds_nothing_of_another(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await launched(browser)
    prospect = await prospect_path(browser)
    async with as_somebody(outbox, Role.OPERATOR, "bank") as client:
        answers = [await client.get(path) for path in (LIST, PAGE, prospect, SEQUENCE, SENDING)]
        answers += [await client.get(path.replace("=hotel", "=bank")) for path in (PAGE, prospect, SEQUENCE)]
        answers += [
            await client.post(path, data={**NEW, "confirmed": "1", "act": "save", "text-1": "x"})
            for path in (
                LIST,
                PAGE.replace("?", "/pause?"),
                PAGE.replace("=hotel", "=bank").replace("?", "/cancel?"),
                prospect.replace("?", "/stop?"),
                SEQUENCE,
                SENDING,
                SENDING.replace("?", "/senders?"),
            )
        ]
        own = await client.get("/admin/campaigns")

    assert [answer.status_code for answer in answers[:-2]] == [404] * (len(answers) - 2)
    assert {answer.status_code for answer in answers[-2:]} <= {404, 422}
    assert not any("Spring" in answer.text or "ada@x" in answer.text for answer in answers[:-2] if answer.is_success)
    assert "Of the workspace bank." in text_of(own)
    assert 'class="status status-running"' in (await browser.get(PAGE)).text, "and nothing was done to it"


async def test_who_sees_several_workspaces_chooses_among_theirs(outbox: AsyncOutbox) -> None:
    async with as_somebody(outbox, Role.VIEWER, "hotel", "bank") as client:
        page = await client.get("/admin/campaigns")

    assert re.findall(r'<option value="([^"]*)"( selected)?>', page.text) == [("bank", " selected"), ("hotel", "")]


async def test_who_may_only_look_has_no_buttons_and_is_refused(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await launched(browser)
    prospect = await prospect_path(browser)
    async with as_somebody(outbox, Role.VIEWER) as client:
        pages = {path: (await client.get(path)).text for path in (LIST, PAGE, prospect, SEQUENCE, SENDING)}
        refused = [
            (await client.post(path, data={"confirmed": "1"})).status_code
            for path in (LIST, PAGE.replace("?", "/pause?"), prospect.replace("?", "/stop?"), SEQUENCE, SENDING)
        ]
        refused.append((await client.post(SENDING.replace("?", "/senders/ada/pause?"))).status_code)

    assert "ada@x.example" in pages[PAGE]
    buttons = r'id="(make|act-\w+|save|save-sender|add-step|import-it)"'
    assert [re.findall(buttons, page) for page in pages.values()] == [[]] * 5
    assert refused == [403] * 6


async def test_a_form_that_is_not_ours_does_nothing(browser: AsyncClient) -> None:
    await launched(browser)
    answer = await browser.post(PAGE.replace("?", "/pause?"), data={"csrf": "forged"})

    assert answer.status_code == 403
    assert 'class="status status-running"' in (await browser.get(PAGE)).text


async def test_what_others_have_written_is_shown_and_not_run(browser: AsyncClient) -> None:
    await drafted(browser, name=HOSTILE, id="spring")
    await upload(browser, f'email,name,company\neve@x.example,"{HOSTILE}",{HOSTILE}\n'.encode())
    await press(browser, SEQUENCE, SEQUENCE, act="save", **{**steps("{{ company }}"), "html-1": "<b>{{ company }}</b>"})
    previewed = await browser.get(f"{SEQUENCE}&prospect=eve@x.example")
    eve = await prospect_path(browser, "eve")

    for answer in [previewed, *[await browser.get(path) for path in (LIST, PAGE, f"{PAGE}&q={quote(HOSTILE)}", eve)]]:
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
    assert "&lt;script&gt;" in previewed.text


@pytest.mark.parametrize("character", ["\N{RIGHT-TO-LEFT OVERRIDE}", "\N{LEFT-TO-RIGHT ISOLATE}"])
async def test_no_name_is_shown_in_another_order_than_it_was_written_in(browser: AsyncClient, character: str) -> None:
    misread = f"{character}evil"
    refused = await press(browser, LIST, LIST, **{**NEW, "name": misread})
    assert (refused.status_code, 'class="wrong" id="new-name-hint"' in refused.text) == (422, True)
    assert "the name contains the text-direction character U+" in refused.text
    await drafted(browser)
    rows = await upload(browser, f"email,name\neve@x.example,{misread}\n".encode())
    assert "1 refused" in text_of(rows)
    assert "name: the name contains the text-direction character" in text_of(rows)
    sequence = await press(browser, SEQUENCE, SEQUENCE, act="save", **{**steps("Hello"), "name": misread})
    assert (sequence.status_code, "Name: the name contains the text" in text_of(sequence)) == (422, True)
    sender = {"id": "eve", "address": "eve@hotel.example", "name": misread}
    page = await press(browser, SENDING, SENDING.replace("?", "/senders?"), **sender)
    assert (page.status_code, 'class="wrong" id="sender-name-hint"' in page.text) == (422, True)


@pytest.mark.parametrize("id", ["spring", "a/b", "100%", "a%2Fb", "ü & ?", "../x", "#1"])
async def test_every_id_has_an_address_of_its_own(browser: AsyncClient, id: str) -> None:
    answer = await press(browser, LIST, LIST, **{**NEW, "id": id})
    page = await browser.get(answer.headers["location"])

    assert (answer.status_code, page.status_code, id_in(unquote(segment(id)))) == (303, 200, id)
    assert f"<code>{id.replace('&', '&amp;')}</code>" in page.text


async def test_every_field_has_a_label_every_column_a_heading_and_every_drawing_words(browser: AsyncClient) -> None:
    await drafted(browser)
    for path in (LIST, PAGE, f"{SEQUENCE}&campaign=spring&prospect=ada@x.example", SENDING):
        page = (await browser.get(path)).text
        fields = set(re.findall(r'<(?:input|select|textarea)[^>]* id="([^"]+)"', page)) - {"keys-on"}

        assert fields == set(re.findall(r'<label for="([^"]+)"', page)), path
        assert len(re.findall("<h1[ >]", page)) == 1, path
        assert page.count("<table") == page.count("<caption"), path
        drawings = re.findall("<svg[^>]*>", page)
        assert all("aria-label" in svg or 'aria-hidden="true"' in svg for svg in drawings), path


async def test_every_page_answers_on_either_store(store_url: str, clock: Clock) -> None:
    """What the pages ask is asked of both databases."""
    async with AsyncOutbox(store_url, clock=clock, sender="desk@hotel.example") as outbox:
        transport = ASGITransport(build(outbox, dev=True))
        async with AsyncClient(transport=transport, base_url="http://localhost") as browser:
            await launched(browser)
            prospect = await prospect_path(browser)
            page = await browser.get(f"{PAGE}&q=ada&status=active")
            others = [await browser.get(path) for path in (LIST, prospect, SEQUENCE, SENDING, "/admin/campaigns")]

    assert "ada@x.example step 1 planned Mon 9 Mar 09:00 · window closed , next Mon 9 Mar 09:00" in text_of(page)
    assert "Mon 9 Mar: 1 planned; 1 may leave" in page.text
    assert [answer.status_code for answer in others] == [200] * 5
    assert "Spring" in text_of(others[-1]), "the first workspace that there is"
