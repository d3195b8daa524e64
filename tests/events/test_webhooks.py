"""Webhooks of changes: each change enqueues one in its own transaction, and it arrives like any email does."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from postroom import Outbox, Status, config
from postroom.errors import ConfigurationError
from postroom.events import listeners_of
from postroom.events.webhooks import KIND
from postroom.store.returns import Mention, Note, note_returns
from postroom.testing import ScriptedHttp
from postroom.testing.http import ReceivedRequest
from postroom.vocabulary import Return
from tests.store.journey import claim, dead, email, sent, settle
from tests.store.stream import settle_and_roll_back
from tests.work.office import Office, wait_until

HOUSE, OWN = (f"whsec_{b64encode(bytes([n]) * 24).decode()}" for n in (1, 2))


def subscribed(outbox: Outbox, *subscriptions: dict[str, Any]) -> Outbox:
    """The same outbox, with somebody to hear of what happens in it."""
    return Outbox.from_settings(
        config.load(database=outbox.database_url, smtp="smtp://127.0.0.1:1", events=list(subscriptions))
    )


def environment(*subscriptions: dict[str, Any], **webhooks: Any) -> dict[str, str]:
    """The same for a worker. Its web server is on this machine, which is not where webhooks may go by themselves."""
    allowed = {"allow": ["127.0.0.0/8"], "secrets": [HOUSE]} | webhooks
    return {"POSTROOM_EVENTS": json.dumps(subscriptions), "POSTROOM_WEBHOOKS": json.dumps(allowed)}


def webhooks(outbox: Outbox) -> list[dict[str, Any]]:
    """The bodies of the webhooks that wait, in the order of their ids."""
    found = outbox.list(kind=KIND, limit=500).emails
    return [json.loads(_body(outbox, each.id)) for each in reversed(found)]


def _body(outbox: Outbox, id: str) -> str:
    with outbox.transaction() as connection:
        table = f"{outbox.database.dialect.tables}contents"
        place = "?" if outbox.database.dialect.name == "sqlite" else "%s"
        [[text]] = connection.execute(f"SELECT text FROM {table} WHERE email_id = {place}", (id,)).fetchall()
        return str(text)


def told(request: ReceivedRequest) -> tuple[str, str]:
    body = json.loads(request.body)
    return body["data"]["id"], body["type"]


def test_a_change_enqueues_a_webhook_that_says_what_happened_and_to_nobody_whom(office: Office) -> None:
    with subscribed(office.outbox, {"url": "https://example.org/hook"}) as outbox:
        id = outbox.enqueue(email(), kind="invoice", workspace="acme", key="a-7").id
        [claimed] = claim(outbox)
        settle(outbox, [dead(claimed, last_error="550 <ada@example.org>: no such user")])
        [body] = webhooks(outbox)
        [waiting] = outbox.list(kind=KIND).emails

    at = body.pop("timestamp")
    assert body == {
        "type": "email.dead",
        "data": {
            "id": id,
            "status": "dead",
            "attempts": 1,
            "kind": "invoice",
            "workspace": "acme",
            "route": "default",
            "channel": "email",
            "key": "a-7",
            "message_id": claimed.message_id,
            "dead_reason": "permanent",
            "error": "550 <…>: no such user",
        },
    }
    assert at.endswith("Z")
    assert (waiting.status, waiting.workspace, waiting.route) == (Status.PENDING, "acme", "webhooks")
    assert [each.address for each in waiting.recipients] == ["https://example.org/hook"]


def test_whoever_asks_for_bounces_hears_of_bounces_alone(office: Office) -> None:
    with subscribed(office.outbox, {"url": "https://example.org/hook", "of": ["bounced"]}) as outbox:
        id = outbox.enqueue(email()).id
        settle(outbox, [sent(each) for each in claim(outbox)])
        about = (Mention(id=id, signed=True),)
        for what in (Return.REPLIED, Return.BOUNCED):
            note = Note(source="mail", source_id=what, what=what, mentions=about, text="<ada@example.org> is unknown")
            outbox.database.run(note_returns([note]))
        [body] = webhooks(outbox)

    assert (body["type"], body["data"]["id"], body["data"]["status"]) == ("email.bounced", id, "sent")
    assert "ada@" not in json.dumps(body)


def test_nobody_hears_of_what_did_not_happen(office: Office) -> None:
    with subscribed(office.outbox, {"url": "https://example.org/hook"}) as outbox:
        outbox.enqueue(email())
        [claimed] = claim(outbox)
        settle_and_roll_back(outbox, sent(claimed))

        assert outbox.counts()["pending"] == 0
        assert webhooks(outbox) == []


def test_a_subscription_hears_of_the_changes_and_kinds_it_names(office: Office) -> None:
    subscriptions = (
        {"url": "https://example.org/dead", "of": "dead"},
        {"url": "https://example.org/invoices", "of": ["sent", "dead"], "kind": "invoice*"},
    )
    with subscribed(office.outbox, *subscriptions) as outbox:
        for kind in ("invoice.paid", "invoice.due", "news", "memo"):
            outbox.enqueue(email(), kind=kind)
        paid, due, news, memo = claim(outbox)
        settle(outbox, [sent(paid), dead(due), sent(news), dead(memo)])
        found = {
            (each.recipients[0].address.rpartition("/")[2], json.loads(_body(outbox, each.id))["data"]["id"])
            for each in outbox.list(kind=KIND).emails
        }

    assert found == {("invoices", paid.id), ("dead", due.id), ("invoices", due.id), ("dead", memo.id)}


def test_a_settle_that_is_repeated_enqueues_nothing_twice(office: Office) -> None:
    with subscribed(office.outbox, {"url": "https://example.org/hook"}) as outbox:
        outbox.enqueue(email())
        [claimed] = claim(outbox)
        settle(outbox, [sent(claimed)])
        settle(outbox, [sent(claimed)])

        assert len(webhooks(outbox)) == 1


def test_what_people_do_is_heard_of_too(office: Office) -> None:
    with subscribed(office.outbox, {"url": "https://example.org/hook", "of": ["cancelled", "pending"]}) as outbox:
        id = outbox.enqueue(email()).id
        outbox.cancel(id)
        outbox.replay(id)

        assert [body["type"] for body in webhooks(outbox)] == ["email.cancelled", "email.pending"]


def test_each_change_arrives_once_signed_and_webhooks_themselves_cause_none(
    office: Office, http_server: ScriptedHttp
) -> None:
    """No loop: what becomes of the webhooks is seen on the desk, and told to nobody."""
    ids = office.enqueue(20)
    office.finish(**environment({"url": f"{http_server.url}/hook"}))

    assert sorted(map(told, http_server.accepted)) == sorted((id, "email.sent") for id in ids)
    assert office.outbox.counts()["sent"] == 40
    assert len({request.headers["webhook-id"] for request in http_server.requests}) == 20
    for request in http_server.requests:
        Verifier(HOUSE).verify(request.body, dict(request.headers))


def test_a_subscription_with_a_secret_of_its_own_is_signed_by_that_alone(
    office: Office, http_server: ScriptedHttp
) -> None:
    office.enqueue(1)
    own = {"url": f"{http_server.url}/own", "secret": OWN}
    office.finish(**environment(own, {"url": f"{http_server.url}/house"}))

    requests = {request.target: request for request in http_server.accepted}
    for target, right, wrong in (("/own", OWN, HOUSE), ("/house", HOUSE, OWN)):
        Verifier(right).verify(requests[target].body, dict(requests[target].headers))
        with pytest.raises(WebhookVerificationError):
            Verifier(wrong).verify(requests[target].body, dict(requests[target].headers))
    secrets = office.sql("SELECT text, envelope FROM {contents}")
    assert OWN not in str(secrets)


def test_a_worker_that_is_killed_after_its_settle_leaves_the_webhooks_to_the_next(
    office: Office, http_server: ScriptedHttp
) -> None:
    """One email: of several, some would be on their way still when the first are settled."""
    ids = office.enqueue(1)
    settings = environment({"url": f"{http_server.url}/hook"})
    killed = office.start_worker(POSTROOM_FAILPOINT="after_settle", lease="2s", **settings)
    killed.wait(60)
    before = len(http_server.requests)

    office.finish(**settings)

    assert before == 0
    assert sorted(map(told, http_server.accepted)) == sorted((id, "email.sent") for id in ids)
    assert {office.copies(id) for id in ids} == {1}


def test_a_worker_that_is_killed_before_its_settle_tells_of_nothing_that_was_not_recorded(
    office: Office, http_server: ScriptedHttp
) -> None:
    """The mail server has the email, the database does not know it yet: it is told when it is recorded, and once."""
    ids = office.enqueue(5)
    settings = environment({"url": f"{http_server.url}/hook"})
    office.start_worker(POSTROOM_FAILPOINT="before_settle", lease="2s", **settings).wait(60)
    assert office.outbox.list(kind=KIND).emails == ()

    office.finish(**settings)

    heard = list(map(told, http_server.accepted))
    assert sorted(each for each in heard if each[1] == "email.sent") == sorted((id, "email.sent") for id in ids)
    # One whose reply had not been noted is in doubt first, and one that had not begun is pending again: told, too.
    assert {what for _id, what in heard} <= {"email.sent", "email.in_doubt", "email.pending"}


def test_a_receiver_that_is_away_hears_of_it_later_and_holds_up_no_email(
    office: Office, http_server: ScriptedHttp, tmp_path: Any
) -> None:
    http_server.script(status=503, times=3)
    ids = office.enqueue(3)
    settings = environment({"url": f"{http_server.url}/hook"})
    policies = {"POSTROOM_POLICY": "soon", "POSTROOM_POLICIES": '{"soon": {"steps": ["0s"], "max_attempts": 9}}'}

    office.finish(**settings, **policies)

    assert sorted(map(told, http_server.accepted)) == sorted((id, "email.sent") for id in ids)
    assert {office.copies(id) for id in ids} == {1}


def test_an_inline_send_is_heard_of(office: Office) -> None:
    settings = config.load(
        database=office.url,
        smtp=office.server.url,
        journal=office.journals,
        events=[{"url": "https://example.org/hook"}],
    )
    with Outbox.from_settings(settings) as outbox:
        outcome = outbox.send(email())
        assert outcome.sent
        wait_until(lambda: len(webhooks(outbox)) == 1)

        assert webhooks(outbox)[0]["data"]["id"] == outcome.id


@pytest.mark.parametrize(
    ("subscription", "words"),
    [
        ({"url": "https://user:secret@example.org/"}, "events.0"),
        ({"url": "https://example.org/", "of": ["sending"]}, "events.0.of"),
    ],
)
def test_a_subscription_that_could_never_be_served_is_refused_at_once(subscription: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        listeners_of(config.load(database="sqlite:///never.db", events=[subscription]))


def test_where_nobody_wants_to_hear_nobody_listens() -> None:
    assert listeners_of(config.load(smtp="smtp://mail")) == ()
