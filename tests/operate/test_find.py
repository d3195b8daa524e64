"""Finding emails: whatever somebody types, page by page, and never more than they may see."""

from __future__ import annotations

import pytest

from postroom import Edition, Outbox, Status
from postroom.operate import AsyncOperations, Search, finding
from postroom.store import acts
from tests.store.journey import Clock, bring_to, claim, dead, email, enqueue, settle

ORDER = Edition(portal="hub", template="order", version="9f2c1a83b0de", language="de-CH")


async def found(operations: AsyncOperations, q: str = "", **fields: object) -> list[str]:
    page = await operations.find(Search(q=q, **fields))  # type: ignore[arg-type]
    return [each.subject for each in page.emails]


@pytest.mark.parametrize(
    ("q", "meaning"),
    [
        ("grace@example.org", "recipient"),
        ("Grace@Example.org", "recipient"),
        ("order-7:confirmed", "key"),
        ("receipt", "kind"),
        ("spring", "tag"),
        ("tag:spring", "tag"),
        ("kind:receipt", "kind"),
        ("route:bulk", "route"),
        ("portal:hub", "portal"),
        ("template:hub.order", "template"),
        ("version:9f2c1a83b0de", "version"),
        ("language:de-CH", "language"),
        ("key:order-7:confirmed", "key"),
        ("to:grace@example.org", "recipient"),
        ("your order", "subject"),
        ("ORDER", "subject"),
        ("subject:order", "subject"),
    ],
)
async def test_a_text_is_recognised_by_its_shape(
    outbox: Outbox, operations: AsyncOperations, q: str, meaning: str
) -> None:
    outbox.enqueue(email("Something else", to="ada@example.org"), key="order-8", kind="welcome")
    wanted = email("Your order", to="grace@example.org", tags=["spring"], edition=ORDER)
    id = outbox.enqueue(wanted, key="order-7:confirmed", kind="receipt").id
    outbox.database.run(acts.move_route(from_route="default", to="bulk", actor=None, limit=10))
    outbox.database.run(acts.move_route(from_route="bulk", to="default", actor=None, limit=1))
    assert outbox.get(id).route == "bulk"

    page = await operations.find(Search(q=q))

    assert [each.subject for each in page.emails] == ["Your order"]
    assert page.understood == meaning


async def test_a_whole_page_goes_on_where_a_quick_one_stops(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person at a page wants an answer now; a command line, everything that was asked for."""
    monkeypatch.setattr(finding, "WINDOW", 2)
    for subject in ("needle 1", "hay", "hay", "needle 2", "hay", "hay", "hay", "needle 3"):
        outbox.enqueue(email(subject))
    search = Search(subject="needle")

    quick = await operations.find(search, limit=2)
    first = await operations.list(search, limit=2)
    second = await operations.list(search, limit=2, before=first.next)

    assert [each.subject for each in quick.emails] == ["needle 3"]
    assert [each.subject for each in first.emails] == ["needle 3", "needle 2"]
    assert ([each.subject for each in second.emails], second.next) == (["needle 1"], None)


async def test_a_key_with_a_subject_finds_its_email_once(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An email that is found by its key is not looked for along an index, page by page."""
    monkeypatch.setattr(finding, "WINDOW", 1)
    outbox.enqueue(email("Your order"), key="order-7")
    enqueue(outbox, 5)

    page = await operations.list(Search(key="order-7", subject="order"))

    assert [each.subject for each in page.emails] == ["Your order"]


async def test_a_list_tells_the_histories_that_it_is_asked_for(outbox: Outbox, operations: AsyncOperations) -> None:
    bring_to(outbox, Status.DEAD)

    [told] = (await operations.list(Search(), with_histories=True)).emails
    [untold] = (await operations.list(Search())).emails

    assert ([entry.what for entry in told.history], untold.history) == (["failed"], ())


async def test_an_email_is_found_by_its_id_and_by_its_message_id(outbox: Outbox, operations: AsyncOperations) -> None:
    """People copy a Message-ID from a mailbox; the id is inside it."""
    first, _second = enqueue(outbox, 2)
    stored = outbox.get(first)

    for q in (first, first.upper(), f"id:{first}", stored.message_id, stored.message_id.strip("<>")):
        page = await operations.find(Search(q=q))
        assert [each.id for each in page.emails] == [first], q


async def test_a_reply_code_finds_the_emails_it_was_said_to(outbox: Outbox, operations: AsyncOperations) -> None:
    bring_to(outbox, Status.DEAD)
    bring_to(outbox, Status.RETRYING)
    bring_to(outbox, Status.PENDING)

    assert await found(operations, "550") == ["An email that is dead"]
    assert await found(operations, "code:451") == ["An email that is retrying"]


async def test_a_key_is_found_in_whichever_workspace_it_is(outbox: Outbox, operations: AsyncOperations) -> None:
    for workspace in ("north", "", "south"):
        outbox.enqueue(email(f"In {workspace}"), key="one-key", workspace=workspace)

    assert await found(operations, "one-key") == ["In south", "In ", "In north"]
    assert await found(operations, "one-key", workspace="north") == ["In north"]
    assert await found(operations, "one-key", workspaces=frozenset({"south"})) == ["In south"]


async def test_a_word_that_is_no_key_kind_or_tag_is_looked_for_in_subjects(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    outbox.enqueue(email("Überraschung für Sie"))

    assert await found(operations, "überraschung") == ["Überraschung für Sie"]
    assert await found(operations, "nowhere") == []


async def test_fields_narrow_together(outbox: Outbox, operations: AsyncOperations) -> None:
    bring_to(outbox, Status.DEAD, kind="welcome")
    bring_to(outbox, Status.CANCELLED, kind="welcome")
    bring_to(outbox, Status.DEAD, kind="receipt")

    assert await found(operations, kind="welcome", status=Status.DEAD) == ["An email that is dead"]
    assert await found(operations, "welcome", kind="receipt") == []
    assert await found(operations, "welcome", status=Status.CANCELLED) == ["An email that is cancelled"]


async def test_a_contradiction_of_text_and_field_finds_nothing(outbox: Outbox, operations: AsyncOperations) -> None:
    outbox.enqueue(email("Hi", to="ada@example.org"))

    assert await found(operations, "to:ada@example.org", recipient="grace@example.org") == []


async def test_times_bound_what_is_found(outbox: Outbox, operations: AsyncOperations, clock: Clock) -> None:
    outbox.enqueue(email("Before"))
    noon = clock.advance(hours=1)
    outbox.enqueue(email("After"))

    assert await found(operations, until=noon) == ["Before"]
    assert await found(operations, "before", since=noon) == []


async def test_pages_neither_skip_nor_repeat(outbox: Outbox, operations: AsyncOperations) -> None:
    enqueue(outbox, 7, workspace="north")
    enqueue(outbox, 4, workspace="south")

    for workspaces in (None, frozenset({"north", "south"})):
        seen, before, pages = [], None, 0
        while True:
            page = await operations.find(Search(workspaces=workspaces), limit=3, before=before)
            seen += [each.id for each in page.emails]
            pages += 1
            if page.next is None:
                break
            before = page.next

        assert len(seen) == len(set(seen)) == 11
        assert seen == sorted(seen, reverse=True)
        assert pages == 4


async def test_a_page_looks_at_a_window_and_says_how_far_back_it_has_looked(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rare word among millions must not hold up the page: it stops, and the next page goes on from there."""
    monkeypatch.setattr(finding, "WINDOW", 4)
    outbox.enqueue(email("The needle"))
    enqueue(outbox, 9)

    first = await operations.find(Search(q="subject:needle"))
    assert (first.emails, first.looked_back_to is None) == ((), False)

    pages = [first]
    while pages[-1].next is not None:
        pages.append(await operations.find(Search(q="subject:needle"), before=pages[-1].next))

    assert len(pages) == 3
    assert [each.subject for page in pages for each in page.emails] == ["The needle"]
    assert pages[-1].looked_back_to is None


async def test_windows_of_several_workspaces_keep_the_order(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one list has to stop, all stop: otherwise a later page would bring what belongs into this one."""
    monkeypatch.setattr(finding, "WINDOW", 3)
    for number in range(12):
        workspace = "busy" if number % 4 else "calm"
        outbox.enqueue(email(f"Hello {number}"), workspace=workspace)

    seen, before = [], None
    while True:
        page = await operations.find(Search(q="hello", workspaces=frozenset({"busy", "calm"})), before=before)
        seen += [each.subject for each in page.emails]
        if page.next is None:
            break
        before = page.next

    assert seen == [f"Hello {number}" for number in reversed(range(12))]


async def test_nobody_finds_what_they_may_not_see(outbox: Outbox, operations: AsyncOperations) -> None:
    """(E8) By whatever way it is looked for."""
    hidden = email("Secret plan", to="grace@example.org", tags=["plan"])
    id = outbox.enqueue(hidden, key="plan-1", kind="plan", workspace="theirs").id
    message_id = outbox.get(id).message_id
    ours = frozenset({"ours"})

    for q in ("", id, message_id, "grace@example.org", "plan-1", "kind:plan", "tag:plan", "plan", "secret plan"):
        assert await found(operations, q, workspaces=ours) == [], q
    assert await found(operations, workspace="theirs", workspaces=ours) == []
    assert await found(operations, workspaces=frozenset()) == []


async def test_emails_of_no_workspace_are_a_workspace_of_their_own(outbox: Outbox, operations: AsyncOperations) -> None:
    outbox.enqueue(email("Nobody's"))
    outbox.enqueue(email("Ours"), workspace="ours")

    assert await found(operations, workspaces=frozenset({""})) == ["Nobody's"]
    assert await found(operations, workspaces=frozenset({"", "ours"})) == ["Ours", "Nobody's"]


async def test_a_cause_finds_exactly_the_emails_of_its_group(outbox: Outbox, operations: AsyncOperations) -> None:
    for error in ("550 no such user", "550 no such user", "552 mailbox full"):
        enqueue(outbox)
        [claimed] = claim(outbox)
        settle(outbox, [dead(claimed, last_error=error, reply_code=int(error[:3]))])

    groups = (await operations.dashboard()).failures

    assert [(group.words, group.count) for group in groups] == [("550 no such user", 2), ("552 mailbox full", 1)]
    for group in groups:
        page = await operations.find(group.search)
        assert len(page.emails) == group.count
        assert {each.reply_code for each in page.emails} == {group.reply_code}
