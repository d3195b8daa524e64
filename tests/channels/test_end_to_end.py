"""Webhooks and text messages go the whole way of an email: enqueued, claimed, sent, settled, read back, replayed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from standardwebhooks import Webhook as Judge

from postroom import Email, Sms, Status, Webhook
from postroom.admin.contents import letter_view
from postroom.admin.conversations import conversation
from postroom.errors import InvalidEmail
from postroom.operate.attempts import attempts_of, rows_of
from postroom.store.overview import versions
from postroom.testing import ScriptedHttp
from tests.channels.house import House

PHONE = "+4915112345678"


async def test_a_webhook_arrives_signed_and_is_sent(house: House, receiver: ScriptedHttp) -> None:
    url = f"{receiver.url}/orders"
    id = house.outbox.enqueue(Webhook(url=url, event="order.paid", data={"id": 7}), kind="orders").id
    await house.work()
    stored, [request] = house.outbox.get(id), receiver.requests

    assert (stored.status, stored.route, stored.subject) == (Status.SENT, "webhooks", "order.paid")
    assert stored.channel == "webhook"
    assert [each.address for each in stored.recipients] == [url]
    assert request.headers["webhook-id"] == stored.message_id
    payload = Judge("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").verify(request.body, dict(request.headers))
    assert (payload["type"], payload["data"]) == ("order.paid", {"id": 7})
    assert house.outbox.letter(id).text == request.body.decode()
    assert [email.id for email in house.outbox.list(recipient=url).emails] == [id]


async def test_a_text_message_is_created_and_sent(house: House, gateway: ScriptedHttp) -> None:
    id = house.outbox.enqueue(Sms(to=PHONE, text="Your code is 123456"), sensitive=True).id
    await house.work()
    stored, [request] = house.outbox.get(id), gateway.requests

    assert (stored.status, stored.route, stored.subject) == (Status.SENT, "sms", "(sensitive)")
    assert stored.reply is not None
    assert stored.reply["text"] == "SM0123"
    assert parse_qs(request.body.decode())["Body"] == ["Your code is 123456"]


async def test_retry_after_is_heeded(house: House, receiver: ScriptedHttp) -> None:
    receiver.script(status=503, headers={"Retry-After": "7200"})
    id = house.outbox.enqueue(Webhook(url=receiver.url, event="e"), policy="quick").id
    await house.work()
    stored = house.outbox.get(id)

    assert (stored.status, stored.attempts) == (Status.RETRYING, 1)
    assert stored.next_attempt_at is not None
    assert stored.next_attempt_at > datetime.now(UTC) + timedelta(minutes=110)


async def test_one_receiver_that_is_down_stops_nobody_elses_webhooks(house: House, receiver: ScriptedHttp) -> None:
    receiver.script(status=500, path="/down")
    receiver.script(cut=True, at="connect", times=3)
    for number in range(20):
        house.outbox.enqueue(Webhook(url=f"{receiver.url}/down", event="e", data=number))
    well = [house.outbox.enqueue(Webhook(url=f"{receiver.url}/well", event="e")).id for _ in range(5)]
    await house.work()
    await house.work()
    statuses = [house.outbox.get(id).status for id in well]

    assert statuses.count(Status.SENT) >= 2  # at most three of them met the cut connection
    assert set(statuses) <= {Status.SENT, Status.RETRYING}


async def test_a_refused_webhook_is_dead_with_the_beginning_of_the_body(house: House, receiver: ScriptedHttp) -> None:
    receiver.script(status=422, body=b"no such order")
    id = house.outbox.enqueue(Webhook(url=receiver.url, event="e")).id
    await house.work()
    stored = house.outbox.get(id)

    assert (stored.status, stored.last_error) == (Status.DEAD, "answered with 422 no such order")


async def test_a_lost_answer_is_in_doubt_and_the_second_copy_has_the_same_id(
    house: House, receiver: ScriptedHttp
) -> None:
    receiver.script(cut=True, times=1)
    id = house.outbox.enqueue(Webhook(url=receiver.url, event="e")).id
    await house.work()

    assert house.outbox.get(id).status is Status.IN_DOUBT
    house.outbox.retry(id)
    await house.work()
    first, second = receiver.requests
    assert house.outbox.get(id).status is Status.SENT
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


async def test_a_webhook_that_would_lead_inside_is_dead_with_what_to_do(house: House) -> None:
    id = house.outbox.enqueue(Webhook(url="http://[::1]:9/", event="e")).id
    await house.work()
    stored = house.outbox.get(id)

    assert stored.status is Status.DEAD
    assert stored.last_error is not None
    assert "::1 leads to ::1, which is loopback" in stored.last_error
    assert "allow under [webhooks]" in stored.last_error


async def test_wrong_credentials_pause_the_route_and_cost_no_message(house: House, gateway: ScriptedHttp) -> None:
    gateway.script(status=401, body=b'{"code": 20003, "message": "Authenticate"}')
    ids = [house.outbox.enqueue(Sms(to=PHONE, text=f"{number}")).id for number in range(5)]
    await house.work()

    assert {house.outbox.get(id).status for id in ids} <= {Status.PENDING, Status.RETRYING}
    assert sum(house.outbox.get(id).attempts for id in ids) <= len(gateway.requests)


async def test_a_stopped_number_is_dead_and_the_error_holds_no_number(house: House, gateway: ScriptedHttp) -> None:
    message = f"Attempt to send to unsubscribed recipient {PHONE}"
    gateway.script(status=400, body=json.dumps({"code": 21610, "message": message}).encode())
    id = house.outbox.enqueue(Sms(to=PHONE, text="Hi")).id
    await house.work()
    stored = house.outbox.get(id)

    assert stored.status is Status.DEAD
    assert stored.last_error == "answered with 400 21610 Attempt to send to unsubscribed recipient (number)"


async def test_the_history_tells_a_request_as_one(house: House, receiver: ScriptedHttp) -> None:
    receiver.script(status=404, body=b"nobody here")
    id = house.outbox.enqueue(Webhook(url=receiver.url, event="e")).id
    await house.work()
    stored = house.outbox.get(id)
    told = house.outbox._ask(versions(id))
    [attempt] = attempts_of(stored, told)
    lines = conversation(attempt)

    assert [line.ours for line in lines] == ["(we connect)", "(the request)", "(the end of the request)"]
    assert (lines[-1].theirs, lines[-1].went_well) == (("404 nobody here",), False)
    assert [row.cells[0] and row.cells[0].fate for row in rows_of(stored, [attempt])] == ["refused"]


async def test_the_desk_shows_what_is_sent(house: House, receiver: ScriptedHttp) -> None:
    id = house.outbox.enqueue(Webhook(url=receiver.url, event="e", data=[1])).id
    view = letter_view(house.outbox.letter(id))

    assert view.views == ("text", "source")
    assert json.loads(view.source)["data"] == [1]


async def test_a_webhook_is_replayed_as_it_was_and_to_another_url(house: House, receiver: ScriptedHttp) -> None:
    receiver.script(status=410, path="/old")
    sent = Webhook(url=f"{receiver.url}/old", event="e", data={"id": 7}, headers={"X-Shop": "7"})
    id = house.outbox.enqueue(sent).id
    await house.work()
    house.outbox.replay(id)
    await house.work()
    house.outbox.replay(id, to=f"{receiver.url}/new")
    await house.work()
    requests = receiver.requests

    assert house.outbox.get(id).status is Status.SENT
    assert [request.target for request in requests] == ["/old", "/old", "/new"]
    assert len({(r.body, r.headers["webhook-id"], r.headers["x-shop"]) for r in requests}) == 1


async def test_a_text_message_is_replayed_corrected(house: House, gateway: ScriptedHttp) -> None:
    gateway.script(status=400, body=b'{"code": 21211, "message": "invalid"}', times=1)
    id = house.outbox.enqueue(Sms(to=PHONE, text="Hi")).id
    await house.work()
    house.outbox.replay(id, to="+4915187654321", text="Hello")
    await house.work()
    form = parse_qs(gateway.requests[-1].body.decode())

    assert (form["To"], form["Body"]) == (["+4915187654321"], ["Hello"])
    assert house.outbox.get(id).status is Status.SENT


@pytest.mark.parametrize(
    ("corrections", "field"),
    [({"subject": "x"}, "subject"), ({"html": "x"}, "html"), ({"text": "{}"}, "text"), ({"to": "x@y.org"}, "url")],
)
async def test_what_a_webhook_has_no_place_for_cannot_be_corrected(
    house: House, corrections: dict[str, str], field: str
) -> None:
    id = house.outbox.enqueue(Webhook(url="https://example.org/", event="e")).id
    house.outbox.cancel(id)
    with pytest.raises(InvalidEmail) as caught:
        house.outbox.replay(id, **corrections)  # type: ignore[arg-type]

    assert caught.value.field == field
    assert house.outbox.get(id).version == 1


def test_a_key_is_the_same_for_every_channel(house: House) -> None:
    first = house.outbox.enqueue(Webhook(url="https://example.org/", event="e", data=1), key="k")
    again = house.outbox.enqueue(Webhook(url="https://example.org/", event="e", data=1), key="k")
    other = house.outbox.enqueue(Webhook(url="https://example.org/", event="e", data=2), key="k")

    assert (again.id, again.duplicate, again.content_differs) == (first.id, True, False)
    assert (other.duplicate, other.content_differs) == (True, True)


def test_many_are_enqueued_at_once(house: House) -> None:
    mixed = [Webhook(url="https://example.org/", event="e"), Sms(to=PHONE, text="Hi"), Email(to="ada@example.org")]

    assert house.outbox.enqueue_many(mixed * 5) == 15
    assert house.outbox.counts()["pending"] == 15


def test_a_route_of_another_channel_is_refused(house: House) -> None:
    with pytest.raises(InvalidEmail, match="'sms' carries sms, not webhook"):
        house.outbox.enqueue(Webhook(url="https://example.org/", event="e"), route="sms")
    with pytest.raises(InvalidEmail, match="'webhooks' carries webhook, not email"):
        house.outbox.enqueue(Email(to="ada@example.org"), route="webhooks")


def test_a_webhook_can_be_sent_inline(house: House, receiver: ScriptedHttp) -> None:
    outcome = house.outbox.send(Webhook(url=receiver.url, event="e"))

    assert (outcome.sent, outcome.error) == (True, None)
    assert len(receiver.requests) == 1


def test_a_payload_that_no_channel_carries_is_refused(house: House) -> None:
    with pytest.raises(InvalidEmail, match="no channel carries a str; give one of Email, Sms, Webhook"):
        house.outbox.enqueue("Hello")


def test_where_no_route_carries_it_the_error_says_what_to_add(house: House, tmp_path: Path) -> None:
    bare = House(house.outbox.database_url, tmp_path)
    with pytest.raises(InvalidEmail, match=r"add \[routes.sms\] to the settings, with a transport .* twilio:"):
        bare.outbox.enqueue(Sms(to="+491511234567", text="Hi"))
    bare.outbox.close()


def test_a_rule_that_leads_to_another_channel_is_passed_over(house: House, tmp_path: Path) -> None:
    routes = {"webhooks": {"transport": "webhook:"}, "bulk": {"transport": "smtp://127.0.0.1:1"}}
    routes["slow"] = {"transport": "webhook:?total=9s"}
    rules = [{"kind": "news", "route": "bulk"}, {"kind": "news", "route": "slow"}]
    ruled = House(house.outbox.database_url, tmp_path, routes=routes, routing=rules)
    webhook = ruled.outbox.enqueue(Webhook(url="https://example.org/", event="e"), kind="news")
    email = ruled.outbox.enqueue(Email(to="ada@example.org"), kind="news")
    plain = ruled.outbox.enqueue(Webhook(url="https://example.org/", event="e"), kind="other")

    assert [ruled.outbox.get(each.id).route for each in (webhook, email, plain)] == ["slow", "bulk", "webhooks"]
    ruled.outbox.close()
