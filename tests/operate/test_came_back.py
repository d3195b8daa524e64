"""What came back, as people look for it, on both stores: found, in its workspace, with what it is about and led to."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from postroom import Outbox, Status
from postroom.operate import AsyncOperations
from postroom.operate.came_back import LOOKED_AT, ReturnNotFound, ReturnSearch, ReturnView
from postroom.store.kept_returns import returns
from postroom.store.plan import Plan, ask
from postroom.store.returns import Mention, Note, Raw, note_returns
from postroom.vocabulary import BounceClass, EmailId, Return, SuppressionReason
from tests.store.journey import bring_to

ADA = "ada@example.org"
HOTEL, BANK = frozenset({"hotel"}), frozenset({"bank"})
_ids = count(1)


def came_back(outbox: Outbox, id: EmailId | None = None, *, raw: bytes | None = None, **fields: Any) -> str:
    """A note about an email, or about none; its id."""
    usual: dict[str, Any] = {
        "source": "mail", "source_id": str(next(_ids)), "what": Return.BOUNCED, "address": ADA,
        "bounce_class": BounceClass.PERMANENT, "status": "5.1.1", "code": 550,
        "mentions": (Mention(id=id, signed=True),) if id else (),
    }  # fmt: skip
    kept = None if raw is None else Raw(content=raw, size=len(raw))
    [noted] = outbox.database.run(note_returns([Note(**(usual | fields))], raw=kept))
    assert noted.id is not None
    return noted.id


def ids_of(found: tuple[ReturnView, ...]) -> list[str]:
    return [each.kept.id for each in found]


@pytest.fixture
def ours(outbox: Outbox) -> EmailId:
    """An email to Ada that was sent, of the workspace hotel."""
    return bring_to(outbox, Status.SENT, workspace="hotel")


async def test_a_return_comes_with_its_email_and_the_entry_that_it_led_to(
    outbox: Outbox, operations: AsyncOperations, ours: EmailId
) -> None:
    id = came_back(outbox, ours)
    [view] = (await operations.returns()).returns

    assert view.email is not None
    assert view.entry is not None
    assert (view.kept.id, view.email.id, view.email.subject) == (id, ours, outbox.get(ours).subject)
    assert (view.entry.reason, view.entry.email_id) == (SuppressionReason.HARD_BOUNCE, ours)


async def test_an_entry_that_was_removed_or_says_something_else_is_not_what_followed(
    outbox: Outbox, operations: AsyncOperations, ours: EmailId
) -> None:
    came_back(outbox, ours)
    came_back(outbox, ours, bounce_class=BounceClass.TRANSIENT)
    soft, hard = (await operations.returns()).returns
    assert (soft.entry, hard.entry is not None) == (None, True)
    assert hard.entry is not None
    await operations.unsuppress(hard.entry.id, by="grace")

    assert [each.entry for each in (await operations.returns()).returns] == [None, None]


async def test_every_filter_narrows_and_pages_are_gone_through_without_gaps(
    outbox: Outbox, operations: AsyncOperations, ours: EmailId
) -> None:
    other = bring_to(outbox, Status.SENT, workspace="bank")
    bounced = came_back(outbox, ours)
    replied = came_back(outbox, other, what=Return.REPLIED, bounce_class=None, address="eve@x.org")
    strange = came_back(outbox, what=Return.REPLIED, bounce_class=None)
    junk = came_back(outbox, what="unreadable", address="")

    async def found(**search: Any) -> list[str]:
        """All of it, one on a page."""
        ids: list[str] = []
        before: str | None = None
        while True:
            page = await operations.returns(ReturnSearch(**search), limit=1, before=before)
            ids += ids_of(page.returns)
            if (before := page.next) is None:
                return ids

    assert await found() == [junk, strange, replied, bounced]
    assert await found(kind="replied") == [strange, replied]
    assert await found(unclear=True) == [junk, strange]
    assert await found(unclear=True, kind="replied") == [strange]
    assert await found(about=ADA.upper()) == [strange, bounced]
    assert await found(about=ADA, kind="bounced") == [bounced]
    assert await found(about=ADA, unclear=True) == [strange]
    assert await found(about=ours) == await found(about=outbox.get(ours).message_id) == [bounced]
    assert await found(about=other, kind="bounced") == await found(about="nobody@x.org") == await found(about="?") == []


async def test_people_see_what_is_about_emails_of_their_workspaces_and_nothing_else(
    outbox: Outbox, operations: AsyncOperations, ours: EmailId
) -> None:
    theirs = came_back(outbox, ours)
    others = came_back(outbox, bring_to(outbox, Status.SENT, workspace="bank"))
    nobodys = came_back(outbox)

    for search in (ReturnSearch(), ReturnSearch(about=ADA), ReturnSearch(kind="bounced")):
        assert ids_of((await operations.returns(search, workspaces=HOTEL)).returns) == [theirs]
    assert ids_of((await operations.returns(ReturnSearch(about=ours), workspaces=BANK)).returns) == []
    assert (await operations.returns(ReturnSearch(unclear=True), workspaces=HOTEL)).returns == ()
    assert (await operations.returns(workspaces=frozenset())).returns == ()
    assert (await operations.returned(theirs, workspaces=HOTEL)).view.kept.id == theirs
    for hidden in (others, nobodys, "nothing", "ffffffff-ffff-ffff-ffff-ffffffffffff"):
        with pytest.raises(ReturnNotFound):
            await operations.returned(hidden, workspaces=HOTEL)
    assert (await operations.returned(nobodys)).view.kept.problem == "it does not say which email it is about"


async def test_a_flood_from_one_address_ends_the_page_and_not_the_search(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.operate.came_back.LOOKED_AT", 3)
    assert LOOKED_AT > 100
    replied = came_back(outbox, what=Return.REPLIED, bounce_class=None)
    for _ in range(4):
        came_back(outbox)
    first = await operations.returns(ReturnSearch(about=ADA, kind="replied"))
    second = await operations.returns(ReturnSearch(about=ADA, kind="replied"), before=first.next)

    assert (first.returns, first.next is not None) == ((), True)
    assert (ids_of(second.returns), second.next) == ([replied], None)


async def test_the_message_is_shown_and_of_a_sensitive_email_nothing_is(
    outbox: Outbox, operations: AsyncOperations, ours: EmailId
) -> None:
    secret = bring_to(outbox, Status.SENT, workspace="hotel", sensitive=True)
    shown = await operations.returned(came_back(outbox, ours, raw=b"a report"))
    hidden = await operations.returned(came_back(outbox, secret, raw=b"your code is 123456"))

    assert shown.raw is not None
    assert (shown.raw.content, shown.secret) == (b"a report", False)
    assert (hidden.raw, hidden.secret) == (None, True)
    assert hidden.view.email is not None
    assert hidden.view.email.subject == "(sensitive)"


async def test_a_message_about_several_people_leads_from_one_to_the_others(
    outbox: Outbox, operations: AsyncOperations, ours: EmailId
) -> None:
    notes = [
        Note(source="mail", source_id="m", part=part, what="bounced", address=f"g{part}@x.org", mentions=())
        for part in range(3)
    ]
    noted = outbox.database.run(note_returns(notes, raw=Raw(content=b"all three", size=9)))
    whole = await operations.returned(str(noted[1].id))

    assert [each.address for each in whole.others] == ["g0@x.org", "g2@x.org"]
    assert whole.raw is not None, "it is kept beside the first"


async def test_an_email_that_is_gone_is_told_as_gone(
    outbox: Outbox, operations: AsyncOperations, ours: EmailId
) -> None:
    id = came_back(outbox, ours)

    def forget() -> Plan[None]:
        yield ask("forget", ids=[ours], events=True)

    outbox.database.run(forget())
    [view] = (await operations.returns(workspaces=HOTEL)).returns

    assert (view.kept.id, view.kept.email_id, view.email) == (id, ours, None)
    assert len(outbox.database.run(returns(limit=9))) == 1
