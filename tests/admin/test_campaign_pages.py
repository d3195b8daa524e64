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


async def test_the_list_tells_how_far_each_has_come_when_it_ends_and_why_it_waits(browser: AsyncClient) -> None:
    await launched(browser)
    page = await browser.get(LIST)

    assert 'aria-label="Spring: 0 sent, 2 waiting, 0 stopped, 0 dead"' in page.text
    assert "Ends Wed 11 Mar" in text_of(page), "one on Monday by the ramp-up, none on the holiday, one on Wednesday"
    assert "Waits: window closed , next Mon 09:00" in text_of(page)


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
    assert "steps[1].text there is no 'nmae' (2 prospects:" in text_of(checked)
    assert "did you mean name?" in checked.text
    assert ("cannot be launched yet" in text_of(asked), 'id="confirm"' in asked.text) == (True, False)
    assert (forced.status_code, "there is no 'nmae'" in text_of(forced)) == (422, True)
    assert 'class="status status-draft"' in (await browser.get(PAGE)).text


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

    assert "ada@x.example step 1 window closed , next Mon 09:00" in text_of(await browser.get(PAGE))
    clock.now = datetime(2026, 3, 9, 9, tzinfo=UTC)
    async with outbox.transaction() as connection:
        await connection.execute("INSERT INTO postroom_campaign_days VALUES ('hotel', '', '2026-03-09', 1, 1)")
    assert "ada@x.example step 1 ramp day 1, next Wed 09:00" in text_of(await browser.get(PAGE))


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
    await press(browser, PAGE, PAGE.replace("?", "/launch?"), confirmed="1", again="1")
    assert "2 mails = 0 sent + 2 waiting" in text_of(await browser.get(PAGE))
    assert [each for each in await acts_on_record(outbox) if "launch" not in each][-3:] == [
        "campaign_pause", "campaign_resume", "campaign_cancel",
    ]  # fmt: skip


async def test_one_prospect_is_paused_resumed_and_stopped_and_the_thread_tells(browser: AsyncClient) -> None:
    await launched(browser)
    path = await prospect_path(browser)
    page = await browser.get(path)
    assert "1. About Engines waiting window closed , next Mon 09:00" in text_of(page)
    assert "company Engines" in text_of(page)
    await press(browser, path, path.replace("?", "/pause?"))
    assert 'class="status status-paused"' in (await browser.get(path)).text
    await press(browser, path, path.replace("?", "/resume?"))
    asked = await press(browser, path, path.replace("?", "/stop?"))
    assert "Stop ada@x.example?" in text_of(asked)
    await press(browser, path, path.replace("?", "/stop?"), confirmed="1")
    page = await browser.get(path)
    assert ('class="status status-stopped"' in page.text, 'id="act-stop"' in page.text) == (True, False)


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
    assert "As BOB@x.example gets it About Boats Hello Bob" in text_of(shown)
    assert "Re: About Boats Again" in text_of(shown)
    assert re.search(r'id="text-3-wrong">there is no &#39;city&#39;; ', shown.text)
    assert ">See you in {{ city }}</textarea>" in shown.text
    assert "Version 1." in text_of(await browser.get(SEQUENCE)), "a preview saves nothing"


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
        ({"delay_days-2": "soon"}, 'id="delay_days-2-wrong"'),
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
    assert "Fri 6 Mar, 22:00–02:00 21:00–01:00 1" in text_of(page)
    assert "Mon 30 Mar, 22:00–02:00" not in text_of(page)
    assert len(re.findall(r'<tr><th scope="row">\w{3} \d+ \w{3},', page.text)) == 10
    assert "Tue 10 Mar" not in text_of(page), "a holiday"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"timezone": "Europe/Berln"}, "timezone"),
        ({"daily_quota": "many"}, "daily_quota"),
        ({"start_hour": "25"}, "start_hour"),
        ({"end_hour": "9"}, "end_hour"),
        ({"sending_days": []}, "sending_days"),
        ({"ramp_up": "5, x"}, "ramp_up"),
        ({"holidays": "Christmas"}, "holidays"),
        ({"gap_least": "90", "gap_most": "30"}, "gap_least"),
        ({"person_hours": "-1"}, "person_hours"),
        ({"bounce_limit": "half"}, "bounce_limit"),
        ({"version": "7"}, "version"),
    ],
)
async def test_what_is_wrong_with_the_settings_is_told_by_field_and_what_was_typed_stays(
    browser: AsyncClient, wrong: dict[str, Any], field: str
) -> None:
    page = await press(browser, SENDING, SENDING, **{**SETTINGS, "limit_after": "123", **wrong})

    assert page.status_code == 422
    assert f"Not saved: {field.replace('_', ' ')} " in text_of(page)
    assert (field == "version") or 'class="wrong"' in page.text
    assert 'value="123"' in page.text
    assert "Nobody has said it yet" in page.text, "nothing was written"


async def test_a_sender_is_added_with_a_quota_of_its_own_or_refused_by_field(browser: AsyncClient) -> None:
    path = SENDING.replace("?", "/senders?")
    fields = {"id": "ada", "name": "Ada", "address": "ada@hotel.example", "route": "default", "daily_quota": "30"}
    done = await press(browser, SENDING, path, **fields, ramp_up="5, 10")
    wrong = await press(browser, SENDING, path, **{**fields, "id": "bob", "address": "nobody"})

    assert "notice=sender_saved" in done.headers["location"]
    assert "Ada ada@hotel.example default 30 5, 10" in text_of(await browser.get(SENDING))
    assert (wrong.status_code, 'id="sender-address-hint"' in wrong.text, 'value="bob"' in wrong.text) == (
        422,
        True,
        True,
    )


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

    assert "ada@x.example" in pages[PAGE]
    buttons = r'id="(make|act-\w+|save|save-sender|add-step|import-it)"'
    assert [re.findall(buttons, page) for page in pages.values()] == [[]] * 5
    assert refused == [403] * 5


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
        assert len(re.findall("<h1>", page)) == 1, path
        assert page.count("<table") == page.count("<caption"), path
        assert all("aria-label" in svg for svg in re.findall("<svg[^>]*>", page)), path


async def test_every_page_answers_on_either_store(store_url: str, clock: Clock) -> None:
    """What the pages ask is asked of both databases."""
    async with AsyncOutbox(store_url, clock=clock, sender="desk@hotel.example") as outbox:
        transport = ASGITransport(build(outbox, dev=True))
        async with AsyncClient(transport=transport, base_url="http://localhost") as browser:
            await launched(browser)
            prospect = await prospect_path(browser)
            page = await browser.get(f"{PAGE}&q=ada&status=active")
            others = [await browser.get(path) for path in (LIST, prospect, SEQUENCE, SENDING, "/admin/campaigns")]

    assert "ada@x.example step 1 window closed , next Mon 09:00" in text_of(page)
    assert "Mon 9 Mar: 1 planned; 1 may leave" in page.text
    assert [answer.status_code for answer in others] == [200] * 5
    assert "Spring" in text_of(others[-1]), "the first workspace that there is"
