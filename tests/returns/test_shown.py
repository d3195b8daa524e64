"""What came back is told on the email's page and over the API, in the same words as on the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postroom import Email, Outbox
from postroom.store.returns import Mention, Note, note_returns
from postroom.testing import ScriptedSmtp
from postroom.vocabulary import BounceClass, Return
from tests.outbox.test_told_of_recipients import over_http


@pytest.fixture
def outbox(sqlite_url: str) -> Iterator[Outbox]:
    with ScriptedSmtp() as server, Outbox(sqlite_url, smtp=server.url, sender="desk@example.org") as outbox:
        outbox.migrate()
        yield outbox


def test_the_page_and_the_api_tell_what_came_back_about_whom(outbox: Outbox) -> None:
    id = outbox.send(Email(to=["ada@example.org", "bob@example.org"], subject="Hi", text="Hello")).id
    note = Note(
        source="mail",
        source_id="1",
        what=Return.BOUNCED,
        mentions=(Mention(id=id, signed=True),),
        address="bob@example.org",
        bounce_class=BounceClass.PERMANENT,
        code=550,
    )
    outbox.database.run(note_returns([note]))
    page = over_http(outbox, f"/admin/email-queue/{id}")
    ada, bob = over_http(outbox, f"/api/admin/outbox/{id}")["recipients"]
    [listed] = over_http(outbox, "/api/admin/outbox")["emails"]
    events = over_http(outbox, "/api/events?of=bounced")["events"]

    assert "bounced: there is no such mailbox (550)" in page
    assert "Bounced</strong>: there is no such mailbox (550) – recipient 2" in page
    assert ada["returned"] is None
    assert (bob["returned"]["what"], bob["returned"]["bounceClass"]) == ("bounced", "permanent")
    assert [each["returned"] for each in listed["recipients"]] == [None, None]
    assert [(each["event"], each["emailId"]) for each in events] == [("bounced", id)]
