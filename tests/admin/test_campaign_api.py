"""The API of campaigns, on both stores: what it shows, what it does, to whom, and in which shapes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime

import httpx
import pytest

from postroom.accounts.audit import read_audit
from postroom.accounts.values import Role
from postroom.admin.launches import Launches
from postroom.campaigns import RampUp
from postroom.campaigns.drafts.prospects import Arrival, take_in
from postroom.campaigns.values import Prospect
from postroom.returns.recording import record_returns
from postroom.store.returns import Mention, Note
from postroom.store.suppressions import Stop, suppress
from postroom.vocabulary import SuppressionReason
from tests.admin.campaign_house import NORTH, SOUTH, CampaignHouse, campaign_house, data_of, error_of
from tests.campaigns.sending.stage import MONDAY, OFFICE, Stage
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.store.journey import Clock

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]

SPRING = "/api/campaigns/spring"
QUESTIONS = ("", "/schedule", "/emails", "/pending", "/forecast")
ACTS = ("/schedule", "/launch", "/pause", "/resume", "/cancel", "/prospects")
PEOPLE = "email,name,company\nada@example.org,Ada,Acme\nbad,x,y\nADA@example.org,Ada,Acme\n"


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now = MONDAY
    return clock


@pytest.fixture
async def house(store_url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CampaignHouse]:
    async with campaign_house(store_url, clock, monkeypatch) as house:
        yield house


@pytest.fixture
async def small_house(
    migrated_sqlite_url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[CampaignHouse]:
    """On SQLite alone, for what no store decides."""
    async with campaign_house(migrated_sqlite_url, clock, monkeypatch) as house:
        yield house


@pytest.fixture
async def operator(house: CampaignHouse) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody whose only workspace is north: it need not be named."""
    async with house.caller(Role.OPERATOR, NORTH) as client:
        yield client


async def test_a_campaign_is_scheduled_once_and_its_emails_pending_count_and_quota_are_told(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    """(E7)"""
    launched = data_of(await operator.post(f"{SPRING}/schedule"))
    assert launched == {
        "done": True, "status": "running", "scheduled": 6, "revived": 0, "skipped": 0, "reasons": {}, "errors": [],
        "prospects": None,
    }  # fmt: skip
    again = data_of(await operator.post(f"{SPRING}/schedule"))
    assert (again["scheduled"], again["skipped"], again["reasons"]) == (0, 3, {"already_scheduled": 3})

    emails = data_of(await operator.get(f"{SPRING}/emails"))["emails"]
    assert [each["key"] for each in emails] == [f"p{n}:spring-words:{step}" for n in (1, 2, 3) for step in (1, 2)]
    assert {each["status"] for each in emails} == {"pending"}
    assert [each["wait"]["reason"] for each in emails[:2]] == ["window_closed", "waiting_step"]
    assert emails[0]["wait"]["until"] == "2026-03-09T09:00:00Z"
    assert data_of(await operator.get(f"{SPRING}/pending")) == {"pending": 6}

    quota = data_of(await operator.get(f"/api/workspaces/{NORTH}/quota", params={"date": "2026-03-09"}))
    assert quota == {
        "workspace": NORTH, "date": "2026-03-09", "timezone": "UTC", "dailyQuota": 50, "rampDay": 1, "allowance": 50,
        "used": 0, "left": 50, "opensAt": "2026-03-09T09:00:00Z", "closesAt": "2026-03-09T17:00:00Z",
    }  # fmt: skip


async def test_the_schedule_tells_the_next_mails_each_day_and_the_end(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    """(E7)"""
    drafted = data_of(await operator.get(f"{SPRING}/schedule"))
    await operator.post(f"{SPRING}/launch")
    plan = data_of(await operator.get(f"{SPRING}/schedule"))

    assert (drafted["status"], plan["status"]) == ("draft", "running")
    assert drafted["days"] == plan["days"]
    assert [(day["day"], day["planned"], day["allowance"]) for day in plan["days"]] == [
        ("2026-03-09", 3, 50),
        ("2026-03-12", 3, 50),
    ]
    assert [each["step"] for each in plan["next"]] == [1, 1, 1, 2, 2, 2]
    times = [datetime.fromisoformat(each["at"]) for each in plan["next"]]
    assert times == sorted(times)
    assert (plan["planned"], plan["left"], plan["endsAt"]) == (6, 0, plan["next"][-1]["at"])


async def test_the_schedule_goes_by_what_has_left_already(
    house: CampaignHouse, operator: httpx.AsyncClient, clock: Clock
) -> None:
    await operator.post(f"{SPRING}/launch")
    house.north.advance(hours=2)
    house.north.send()
    house.north.tick()

    plan = data_of(await operator.get(f"{SPRING}/schedule"))
    quota = data_of(await operator.get(f"/api/workspaces/{NORTH}/quota"))
    [first, second, *_] = data_of(await operator.get(f"{SPRING}/emails"))["emails"]

    assert [(day["planned"], day["used"]) for day in plan["days"]] == [(2, 1), (3, 0)]
    assert (quota["used"], quota["left"]) == (1, 49)
    assert (first["status"], first["wait"]) == ("sent", None)
    assert datetime.fromisoformat(first["leftAt"]) == clock.now
    assert second["wait"]["reason"] == "waiting_step"


async def test_the_ramp_up_and_closed_days_are_in_the_quota(house: CampaignHouse, operator: httpx.AsyncClient) -> None:
    house.north.settings(replace(OFFICE, ramp_up=RampUp(schedule=(2, 3))))
    sunday = data_of(await operator.get(f"/api/workspaces/{NORTH}/quota", params={"date": "2026-03-08"}))
    monday = data_of(await operator.get(f"/api/workspaces/{NORTH}/quota"))

    assert (sunday["allowance"], sunday["opensAt"], sunday["closesAt"]) == (0, None, None)
    assert (monday["date"], monday["rampDay"], monday["allowance"], monday["left"]) == ("2026-03-09", 1, 2, 2)


async def test_a_prospect_is_told_with_the_thread_and_what_happened(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    await operator.post(f"{SPRING}/launch")
    house.north.advance(hours=2)
    assert house.north.send() == "p1:spring-words:1"
    mail = house.north.mail("p1:spring-words:1")
    mention = Mention(id=mail.id, message_id=mail.message_id or "")
    note = Note(source="mail", source_id="1", what="replied", address="me@home.example", mentions=(mention,))
    house.outbox.database.run(record_returns([note]))
    told = data_of(await operator.get(f"{SPRING}/prospects/p1"))

    assert (told["address"], told["status"], told["reason"]) == ("p1@example.org", "replied", "replied")
    assert [(each["step"], each["reason"]) for each in told["thread"]] == [(1, None), (2, "replied")]
    assert [(each["what"], each["campaignId"], each["steps"], each["emailKept"]) for each in told["happened"]] == [
        ("sent", "spring", [1], True), ("replied", "spring", [1], True), ("ended", "spring", [2], False),
    ]  # fmt: skip
    sent, replied, ended = told["happened"]
    assert (sent["emailId"], replied["emailId"], ended["status"]) == (mail.id, mail.id, "replied")
    assert (await operator.get(f"/api/admin/returns/{replied['returnId']}")).json()["mail"]["prospectId"] == "p1"


async def test_when_a_mail_leaves_and_until_when_it_waits_are_told_by_the_clock_of_the_workspace(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    """(P10) With the one reason beside it; and nobody is told of a time at which it cannot leave."""
    house.north.settings(replace(OFFICE, timezone="Asia/Tokyo", start_hour=20, end_hour=22))
    await operator.post(f"{SPRING}/launch")
    page = data_of(await operator.get(f"{SPRING}/emails"))
    first = page["emails"][0]
    assert (page["timezone"], first["wait"]["reason"]) == ("Asia/Tokyo", "window_closed")
    assert first["wait"]["until"] == "2026-03-09T20:00:00+09:00"
    assert first["plannedAt"].startswith("2026-03-09T20:0")
    assert first["plannedAt"].endswith("+09:00")
    thread = data_of(await operator.get(f"{SPRING}/prospects/p1"))
    assert (thread["workspaceTimezone"], thread["thread"][0]["plannedAt"]) == ("Asia/Tokyo", first["plannedAt"])

    await operator.post(f"{SPRING}/pause")
    held = data_of(await operator.get(f"{SPRING}/emails"))["emails"]
    assert {(each["wait"]["reason"], each["plannedAt"]) for each in held} == {("paused", None)}


async def test_a_prospect_of_elsewhere_is_not_there(small_house: CampaignHouse) -> None:
    async with small_house.caller(Role.VIEWER, NORTH) as client:
        for path in (f"{SPRING}/prospects/nobody", "/api/campaigns/none/prospects/p1"):
            assert (await client.get(path)).status_code == 404
        error = error_of(await client.get(f"{SPRING}/prospects/p1", params={"workspace": SOUTH}), 404)

    assert error["code"] == "workspace_not_found"


async def test_the_forecast_is_that_of_the_command_line(house: CampaignHouse, operator: httpx.AsyncClient) -> None:
    """(E7)"""
    told = data_of(await operator.get(f"{SPRING}/forecast"))

    assert (told["mails"], told["prospects"], told["steps"], told["endsOn"]) == (6, 3, 2, "2026-03-12")
    assert [(day["day"], day["planned"]) for day in told["days"]] == [("2026-03-09", 3), ("2026-03-12", 3)]


async def test_the_forecast_and_the_plan_of_a_paused_campaign_suppose_that_it_is_resumed_now(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    await operator.post(f"{SPRING}/launch")
    await operator.post(f"{SPRING}/pause")
    told = data_of(await operator.get(f"{SPRING}/forecast"))
    plan = data_of(await operator.get(f"{SPRING}/schedule"))

    assert (told["status"], told["mails"], told["endsOn"]) == ("paused", 6, "2026-03-12")
    assert (plan["status"], plan["planned"]) == ("paused", 6)
    assert told["supposing"] == plan["supposing"] == "it is paused: this is what becomes of it if it is resumed now"


async def test_campaigns_are_listed_and_looked_at_with_totals_that_add_up(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    stop = Stop(address="p2@example.org", reason=SuppressionReason.UNSUBSCRIBE)
    house.outbox.database.run(suppress([stop]))
    skipped = data_of(await operator.post(f"{SPRING}/launch"))
    house.north.advance(hours=2)
    house.north.send()
    house.north.tick()
    listed = data_of(await operator.get("/api/campaigns"))
    whole = data_of(await operator.get(SPRING))

    assert (skipped["scheduled"], skipped["reasons"]) == (4, {"suppressed": 1})
    assert (listed["workspace"], listed["next"]) == (NORTH, None)
    assert [(each["id"], each["status"], each["prospects"]) for each in listed["campaigns"]] == [
        ("spring", "running", 3)
    ]
    assert listed["campaigns"][0]["mails"] == {"total": 4, "sent": 1, "waiting": 3, "stopped": 0, "dead": 0}
    assert whole["totals"] == {"mails": 4, "sent": 1, "waiting": 3, "stopped": {}, "dead": {}}
    assert (whole["enrolments"], whole["senders"]) == ({"active": 2, "unsubscribed": 1}, ["grace"])


async def test_a_campaign_is_paused_resumed_cancelled_and_launched_again_only_on_purpose(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    assert error_of(await operator.post(f"{SPRING}/pause"), 409)["code"] == "not_applicable"
    await operator.post(f"{SPRING}/launch")
    paused = data_of(await operator.post(f"{SPRING}/pause", params={"reason": "a typo"}))
    assert (paused["status"], paused["pauseReason"]) == ("paused", "a typo")
    [first, *_] = data_of(await operator.get(f"{SPRING}/emails"))["emails"]
    assert first["wait"]["reason"] == "paused"
    waits = data_of(await operator.post(f"{SPRING}/launch"))
    assert (waits["done"], waits["status"], "resume it" in waits["errors"][0]) == (False, "paused", True)

    assert data_of(await operator.post(f"{SPRING}/resume"))["status"] == "running"
    assert data_of(await operator.post(f"{SPRING}/cancel")) == {"status": "cancelled", "stopped": 6}
    assert {each["status"] for each in data_of(await operator.get(f"{SPRING}/emails"))["emails"]} == {"cancelled"}
    assert data_of(await operator.get(f"{SPRING}/pending")) == {"pending": 0}
    for act in ("schedule", "resume"):
        refused = error_of(await operator.post(f"{SPRING}/{act}"), 409)
        assert (refused["code"], '{"again": true}' in refused["remedy"]) == ("not_applicable", True)
    again = data_of(await operator.post(f"{SPRING}/schedule", json={"again": True}))
    assert (again["status"], again["scheduled"], again["revived"], again["reasons"]) == ("running", 0, 6, {})
    assert data_of(await operator.get(f"{SPRING}/pending")) == {"pending": 6}


async def test_a_campaign_that_can_never_send_says_so(house: CampaignHouse, operator: httpx.AsyncClient) -> None:
    await operator.post("/api/campaigns/spring/launch?workspace=north")
    assert data_of(await operator.get("/api/campaigns/spring?workspace=north"))["impasses"] == []
    house.north.settings(replace(OFFICE, daily_quota=0))

    [held] = data_of(await operator.get("/api/campaigns/spring?workspace=north"))["impasses"]
    assert held == {
        "told": "Nothing will ever leave: the daily quota is 0.", "cause": "the daily quota is 0",
        "remedy": "raise it", "senderId": None, "later": False,
    }  # fmt: skip
    [first, *_] = data_of(await operator.get("/api/campaigns/spring/emails?workspace=north"))["emails"]
    assert first["wait"] == {
        "reason": "quota_used", "detail": "0/0", "until": None, "never": "the daily quota is 0; raise it",
    }  # fmt: skip
    assert (
        data_of(await operator.get("/api/campaigns/spring/schedule?workspace=north"))["reason"]
        == first["wait"]["never"]
    )


async def test_why_something_is_paused_is_said_in_the_body_or_in_the_query_and_is_not_passed_over(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    await operator.post(f"{SPRING}/launch")
    paused = data_of(await operator.post(f"{SPRING}/pause", json={"reason": "a typo"}))
    again = data_of(await operator.post(f"{SPRING}/pause", json={"reason": "another"}))
    sender = data_of(await operator.post("/api/senders/grace/pause", json={"reason": "on holiday"}))

    assert paused["pauseReason"] == "a typo"
    assert again == paused, "it stays as it was paused"
    assert sender["pauseReason"] == "on holiday"
    for path in (f"{SPRING}/resume", f"{SPRING}/cancel", "/api/senders/grace/resume"):
        for said in ({"json": {"reason": "read by nobody"}}, {"params": {"reason": "read by nobody"}}):
            assert error_of(await operator.post(path, **said), 422)["code"] == "invalid_request", path
    assert error_of(await operator.post(f"{SPRING}/pause", params={"reson": "a typo"}), 422)
    assert data_of(await operator.post(f"{SPRING}/resume", json={}))["status"] == "running"


async def test_a_sender_is_paused_and_resumed(house: CampaignHouse, operator: httpx.AsyncClient) -> None:
    await operator.post(f"{SPRING}/launch")
    paused = data_of(await operator.post("/api/senders/grace/pause", params={"reason": "on holiday"}))
    assert (paused["id"], paused["pausedAt"] is not None, paused["pauseReason"]) == ("grace", True, "on holiday")
    [first, *_] = data_of(await operator.get(f"{SPRING}/emails"))["emails"]
    assert (first["wait"]["reason"], first["wait"]["detail"]) == ("sender_down", "grace: on holiday")
    listed = data_of(await operator.get("/api/senders"))
    assert (listed["workspace"], [each["pauseReason"] for each in listed["senders"]]) == (NORTH, ["on holiday"])

    assert data_of(await operator.post("/api/senders/grace/resume"))["pausedAt"] is None
    assert error_of(await operator.post("/api/senders/nobody/pause"), 404)["code"] == "sender_not_found"
    elsewhere = await operator.post("/api/senders/grace/pause", params={"workspace": SOUTH})
    assert error_of(elsewhere, 404)["code"] == "workspace_not_found"


async def test_scheduling_at_once_from_several_places_schedules_each_email_once(house: CampaignHouse) -> None:
    """(E7) Two requests to one app share a launch; other processes share the work."""
    async with house.caller() as one, house.caller_elsewhere() as other:
        asking = [client.post(f"{SPRING}/schedule", params={"workspace": NORTH}) for client in (one, one, other, other)]
        answers = [data_of(each) for each in await asyncio.gather(*asking)]

    assert all(each["done"] for each in answers)
    assert len({mail.key for mail in house.north.mails()}) == len(house.north.mails()) == 6
    assert {each["scheduled"] for each in answers} <= {0, 6}


async def test_emails_are_read_piece_by_piece(house: CampaignHouse, operator: httpx.AsyncClient) -> None:
    await operator.post(f"{SPRING}/launch")
    whole = data_of(await operator.get(f"{SPRING}/emails", params={"limit": 200}))
    pieces, after = [], None
    for _ in range(10):
        params = {"limit": 2, **({"after": after} if after else {})}
        piece = data_of(await operator.get(f"{SPRING}/emails", params=params))
        pieces.append([each["key"] for each in piece["emails"]])
        if (after := piece["next"]) is None:
            break

    assert whole["next"] is None
    assert after is None
    assert [key for piece in pieces for key in piece] == [each["key"] for each in whole["emails"]]
    assert max(map(len, pieces)) == 2


async def test_prospects_are_imported_into_a_draft_from_a_csv_body(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    csv = {"content": PEOPLE, "headers": {"Content-Type": "text/csv"}}
    first = data_of(await operator.post(f"{SPRING}/prospects", **csv))
    again = data_of(await operator.post(f"{SPRING}/prospects", **csv))
    data_of(await operator.post(f"{SPRING}/launch"))

    assert first["counts"] == {"added": 1, "updated": 0, "unchanged": 0, "duplicate": 1, "refused": 1}
    assert (first["rows"], first["enrolled"], first["fields"], first["more"]) == (3, 1, ["company"], 0)
    assert [(each["line"], each["outcome"]) for each in first["look"]] == [(3, "refused"), (4, "duplicate")]
    assert (again["counts"]["unchanged"], again["enrolled"]) == (1, 0)
    assert len(house.north.enrolments()) == 4
    assert error_of(await operator.post(f"{SPRING}/prospects", **csv), 409)["code"] == "not_applicable"


@pytest.mark.parametrize("body", [b"", b"\x00\x01", b"name\nAda\n", b"\xff\xfee\x00m\x00", b'"email\n', b"PK\x03\x04"])
async def test_a_file_that_cannot_be_used_is_refused_whole(small_house: CampaignHouse, body: bytes) -> None:
    async with small_house.caller(Role.OPERATOR, NORTH) as operator:
        refused = error_of(await operator.post(f"{SPRING}/prospects", content=body), 422)

    assert refused["code"] == "invalid_campaign"
    assert len(small_house.north.enrolments()) == 3


@pytest.mark.parametrize("path", QUESTIONS)
async def test_a_parameter_that_nobody_knows_is_refused(operator: httpx.AsyncClient, path: str) -> None:
    assert error_of(await operator.get(f"{SPRING}{path}", params={"bogus": "1"}), 422)["code"] == "invalid_request"


async def test_who_asks_for_a_campaign_that_is_not_there_is_led_to_the_list(operator: httpx.AsyncClient) -> None:
    assert "`GET /api/campaigns`" in error_of(await operator.get("/api/campaigns/autumn"), 404)["remedy"]


async def test_emails_tell_no_addresses(house: CampaignHouse, operator: httpx.AsyncClient) -> None:
    await operator.post(f"{SPRING}/launch")
    text = (await operator.get(f"{SPRING}/emails")).text

    assert "p1:spring-words:1" in text
    assert "@" not in text


async def test_a_draft_that_could_not_be_sent_is_refused_before_anything_is_written(
    house: CampaignHouse, operator: httpx.AsyncClient
) -> None:
    house.north.settings(replace(OFFICE, daily_quota=0))
    refused = error_of(await operator.post(f"{SPRING}/schedule"), 422)

    assert (refused["code"], "daily_quota" in refused["message"]) == ("invalid_campaign", True)
    assert house.north.mails() == []
    assert house.north.campaign().status == "draft"


async def test_another_workspaces_campaign_is_not_there_on_any_route(house: CampaignHouse) -> None:
    """(E8) Both workspaces have a campaign of the same id; `autumn` is of the south alone."""
    house.south.draft("autumn", 2)
    async with house.caller(Role.ADMIN, NORTH) as north:
        named = {"params": {"workspace": SOUTH}}
        for path in QUESTIONS:
            assert error_of(await north.get(f"/api/campaigns/autumn{path}"), 404)["code"] == "campaign_not_found"
            assert error_of(await north.get(f"{SPRING}{path}", **named), 404)["code"] == "workspace_not_found"
        for path in ACTS:
            body = {"content": PEOPLE} if path == "/prospects" else {}
            missing = await north.post(f"/api/campaigns/autumn{path}", **body)
            assert error_of(missing, 404)["code"] == "campaign_not_found"
            assert error_of(await north.post(f"{SPRING}{path}", **named, **body), 404)["code"] == "workspace_not_found"
        assert error_of(await north.get("/api/campaigns", **named), 404)["code"] == "workspace_not_found"
        assert error_of(await north.get(f"/api/workspaces/{SOUTH}/quota"), 404)["code"] == "workspace_not_found"
        assert [each["id"] for each in data_of(await north.get("/api/campaigns"))["campaigns"]] == ["spring"]
        data_of(await north.post(f"{SPRING}/launch"))
        data_of(await north.post(f"{SPRING}/cancel"))

    assert [stage.campaign().status.value for stage in (house.north, house.south)] == ["cancelled", "draft"]
    assert house.south.campaign("autumn").status == "draft"
    assert house.south.mails() == []


async def test_a_launch_that_is_under_way_is_not_joined_from_another_workspace(small_house: CampaignHouse) -> None:
    """(E8)"""
    under_way = small_house.app.state.launches = Launches(patience=0.0)
    async with small_house.caller(Role.OPERATOR, SOUTH) as south, small_house.caller(Role.OPERATOR, NORTH) as north:
        data_of(await north.post(f"{SPRING}/launch"), 202)
        refused = await south.post(f"{SPRING}/launch", params={"workspace": NORTH})
        await _at_rest(under_way)

    assert error_of(refused, 404)["code"] == "workspace_not_found"


async def test_without_a_name_it_is_the_only_workspace_of_the_caller_else_the_nameless_one(
    small_house: CampaignHouse,
) -> None:
    async with small_house.caller(Role.VIEWER) as everything, small_house.caller(Role.VIEWER, NORTH, SOUTH) as both:
        assert data_of(await everything.get("/api/campaigns"))["workspace"] == ""
        assert data_of(await everything.get("/api/workspaces/-/quota"))["workspace"] == ""
        error_of(await both.get("/api/campaigns"), 404)
        assert data_of(await both.get("/api/campaigns", params={"workspace": SOUTH}))["workspace"] == SOUTH


async def test_a_workspace_of_which_nothing_is_known_has_no_quota_but_for_those_whose_own_it_is(
    small_house: CampaignHouse, clock: Clock
) -> None:
    """A slip of the pen would look like fifty mails that may leave."""
    Stage(small_house.outbox, clock, "senders only").sender()
    somebody = Arrival(Prospect(id="p1", address="p1@example.org"), True)
    Stage(small_house.outbox, clock, "people only").run(take_in("people only", [somebody], update=False))
    async with small_house.caller(Role.ADMIN) as everything, small_house.caller(Role.VIEWER, "new") as own:
        error = error_of(await everything.get("/api/workspaces/nroth/quota"), 404)
        assert (error["code"], error["message"]) == ("workspace_not_found", "there is no workspace 'nroth'")
        for known in (NORTH, "senders only", "people only"):
            assert data_of(await everything.get(f"/api/workspaces/{known}/quota"))["workspace"] == known
        assert data_of(await own.get("/api/workspaces/new/quota"))["dailyQuota"] == 50


async def test_a_viewer_looks_and_does_nothing_and_nobody_does_neither(small_house: CampaignHouse) -> None:
    async with small_house.caller(Role.VIEWER, NORTH) as viewer:
        for path in QUESTIONS:
            data_of(await viewer.get(f"{SPRING}{path}"))
        for path in ACTS:
            assert error_of(await viewer.post(f"{SPRING}{path}"), 403)["code"] == "not_allowed"
        for path in QUESTIONS:
            bare = await viewer.get(f"{SPRING}{path}", headers={"Authorization": "Bearer none"})
            assert error_of(bare, 401)["code"] == "bad_token"

    assert small_house.north.campaign().status == "draft"


async def test_a_launch_that_takes_long_goes_on_without_its_caller(small_house: CampaignHouse) -> None:
    launches = small_house.app.state.launches = Launches(patience=0.0)
    async with small_house.caller(Role.OPERATOR, NORTH) as operator:
        answer = data_of(await operator.post(f"{SPRING}/launch"), 202)
        joined = data_of(await operator.post(f"{SPRING}/launch"), 202)
        await _at_rest(launches)
        launches.patience = 60.0
        after = data_of(await operator.post(f"{SPRING}/launch"))

    assert [(each["done"], each["errors"]) for each in (answer, joined)] == [(False, []), (False, [])]
    assert (after["done"], after["scheduled"], after["reasons"]) == (True, 0, {"already_scheduled": 3})
    assert len(small_house.north.mails()) == 6
    entries = small_house.outbox.database.run(read_audit(actor=None, what="campaign_launch", before=None, limit=10))
    assert [entry.detail["state"] for entry in entries.entries] == ["done", "begun"] * 2, "who joins begins nothing"


async def test_what_stops_a_launch_that_nobody_waits_for_is_told_to_the_next_who_asks(
    small_house: CampaignHouse,
) -> None:
    launches = small_house.app.state.launches = Launches(patience=0.0)
    small_house.north.settings(replace(OFFICE, daily_quota=0))
    async with small_house.caller(Role.OPERATOR, NORTH) as operator:
        data_of(await operator.post(f"{SPRING}/launch"), 202)
        await _at_rest(launches)
        small_house.north.settings(OFFICE)
        assert error_of(await operator.post(f"{SPRING}/launch"), 422)["code"] == "invalid_campaign"
        launches.patience = 60.0
        assert data_of(await operator.post(f"{SPRING}/launch"))["scheduled"] == 6


async def test_an_id_may_hold_a_slash_and_anything_else_that_is_no_id_is_not_there(small_house: CampaignHouse) -> None:
    small_house.north.draft("q1/2026 50%", 1)
    async with small_house.caller(Role.OPERATOR, NORTH) as operator:
        assert data_of(await operator.get("/api/campaigns/q1%252F2026%2050%2525"))["id"] == "q1/2026 50%"
        for hostile in ("%2500", "%00", "%ED%A0%80", "x" * 300, "..%252F", "%2520", "'; DROP TABLE campaigns; --"):
            assert error_of(await operator.get(f"/api/campaigns/{hostile}/emails"), 404)["code"] == "campaign_not_found"


@pytest.mark.parametrize(
    "body",
    ["[]", "7", '{"again": "yes"}', '{"again": 1}', '{"agian": true}', "{", "\x00", '{"again": true', "[" * 9_999],
)
async def test_a_body_that_is_not_meant_changes_nothing(small_house: CampaignHouse, body: str) -> None:
    async with small_house.caller(Role.OPERATOR, NORTH) as operator:
        sent = await operator.post(f"{SPRING}/launch", content=body, headers={"Content-Type": "application/json"})

    assert sent.status_code in (400, 413, 422), sent.text
    error_of(sent, sent.status_code)
    assert small_house.north.campaign().status == "draft"


@pytest.mark.parametrize(
    ("path", "params"),
    [
        (f"{SPRING}/emails", {"after": "1"}),
        (f"{SPRING}/emails", {"after": "-1.0"}),
        (f"{SPRING}/emails", {"limit": "0"}),
        (f"{SPRING}/emails", {"limit": "100000"}),
        (f"{SPRING}/emails", {"lmit": "1"}),
        ("/api/workspaces/north/quota", {"date": "1"}),
        ("/api/workspaces/north/quota", {"date": "2026-02-30"}),
        ("/api/workspaces/north/quota", {"date": "2026-03-09T00:00"}),
        ("/api/workspaces/north/quota", {"dat": "2026-03-09"}),
        ("/api/workspaces/north/quota", {"date": ["2026-03-09", "2026-03-10"]}),
        (f"{SPRING}/emails", {"limit": ["1", "1"]}),
        ("/api/campaigns", {"workspaces": "north"}),
        ("/api/senders", {"workspaces": "north"}),
        ("/api/campaigns", {"workspace": "x" * 101}),
        ("/api/campaigns", {"after": "\x00"}),
    ],
)
async def test_parameters_that_mean_nothing_are_refused(
    small_house: CampaignHouse, path: str, params: dict[str, str | list[str]]
) -> None:
    async with small_house.caller(Role.VIEWER, NORTH) as viewer:
        assert error_of(await viewer.get(path, params=params), 422)["code"] == "invalid_request"


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
async def test_the_quota_of_any_day_of_the_calendar_is_told(
    house: CampaignHouse, operator: httpx.AsyncClient, day: str
) -> None:
    assert data_of(await operator.get(f"/api/workspaces/{NORTH}/quota", params={"date": day}))["used"] == 0


async def test_what_is_not_there_has_the_shape_of_its_neighbours(small_house: CampaignHouse) -> None:
    async with small_house.caller(Role.VIEWER, NORTH) as viewer:
        assert error_of(await viewer.get(f"{SPRING}/nothing"), 404)["code"] == "not_found"
        assert error_of(await viewer.delete(SPRING), 405)["code"] == "method_not_allowed"
        assert set((await viewer.get("/api/admin/nothing")).json()) == {"error"}


async def _at_rest(launches: Launches) -> None:
    """No launch goes on any more."""
    while running := [each.task for each in launches.under_way if not each.task.done()]:
        await asyncio.wait(running)
    await asyncio.sleep(0)
