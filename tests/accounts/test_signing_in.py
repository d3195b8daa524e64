"""Signing in (C4): the right password, then the code from the email; on both stores."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from argon2.exceptions import VerifyMismatchError

from postroom import AsyncOutbox, Priority, Status
from postroom.accounts import passwords, rules
from postroom.accounts.accounts import change_password, remove_person
from postroom.accounts.answers import Entered, Refused, WrongCode
from postroom.accounts.chance import new_code
from postroom.accounts.code_email import CODE_KIND
from postroom.accounts.steps import code_from_the_host
from postroom.accounts.values import Person, Stage
from tests.accounts.doorstep import HERE, PASSWORD, Doorstep, wrong
from tests.store.journey import Clock

TRIES = rules.OF_NAME.at_once + 2


async def test_password_then_code_let_somebody_in(door: Doorstep, ada: Person) -> None:
    answer = await door.knock()
    assert isinstance(answer, tuple)
    half, _ = answer
    entered = await door.enter(half, await door.newest_code())

    assert isinstance(entered, tuple)
    assert entered[1] == Entered(person=ada)
    session = await door.keeper.session(entered[0])
    assert session is not None
    assert (session.person, session.stage) == (ada, Stage.FULL)
    assert await door.audited() == ["password_right", "sign_in"]


async def test_the_code_goes_through_the_outbox_urgent_sensitive_and_for_ten_minutes(
    door: Doorstep, outbox: AsyncOutbox, clock: Clock
) -> None:
    await door.begin()
    [email] = (await outbox.list(kind=CODE_KIND)).emails

    assert (email.priority, email.sensitive, email.status) == (Priority.URGENT, True, Status.PENDING)
    assert email.expires_at == clock.now + timedelta(minutes=10)
    assert [recipient.address for recipient in email.recipients] == ["ada@example.org"]
    assert await door.newest_code() not in email.subject


async def test_the_name_is_taken_in_any_case_and_with_blanks_around(door: Doorstep) -> None:
    assert isinstance(await door.knock("  ADA@Example.ORG "), tuple)


async def test_each_step_gives_a_new_token_and_the_old_one_stands_for_nothing(door: Doorstep) -> None:
    half = await door.begin()
    entered = await door.enter(half, await door.newest_code())

    assert isinstance(entered, tuple)
    assert entered[0] != half
    assert await door.keeper.session(half) is None


async def test_only_a_hash_of_a_session_and_of_a_code_is_stored(
    door: Doorstep, outbox: AsyncOutbox, clock: Clock
) -> None:
    half = await door.begin()
    code = await door.newest_code()
    token = await door.sign_in_with(half, code)
    clock.advance(minutes=1)
    half = await door.begin()
    tables = outbox.database.dialect.tables
    async with outbox.transaction() as connection:
        found = await rows(connection, f"SELECT digest FROM {tables}sessions")
        codes = await rows(connection, f"SELECT digest FROM {tables}codes")

    assert len(found) == 2
    assert all(len(kept) == 64 for (kept,) in [*found, *codes])
    assert not any(secret in str((found, codes)) for secret in (token, half, code, await door.newest_code()))


async def test_a_half_session_is_not_a_session(door: Doorstep) -> None:
    session = await door.keeper.session(await door.begin())

    assert session is not None
    assert session.stage is Stage.HALF


async def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(door: Doorstep) -> None:
    answers = [await door.knock(password="wrong"), await door.knock("nobody@example.org"), await door.knock("?", "")]

    assert answers == [Refused()] * 3


async def test_a_wrong_password_and_an_unknown_name_cost_the_same_work(
    door: Doorstep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is what takes time: one hash of the same cost, and the same questions to the database."""
    done: list[list[str]] = []
    run = door.outbox.database.run

    class Watched:
        def verify(self, kept: str, password: str) -> bool:
            done[-1].append(kept.rpartition("$")[0].rpartition("$")[0])  # algorithm and cost
            raise VerifyMismatchError

    async def watched(plan: object, **options: object) -> object:
        return await run(noted(plan), **options)

    def noted(plan):
        rows = None
        try:
            while True:
                step = plan.send(rows)
                done[-1].append(step.name)
                rows = yield step
        except StopIteration as finished:
            return finished.value

    await door.keeper.key()
    passwords.nobodys()
    monkeypatch.setattr(passwords, "_hasher", Watched)
    monkeypatch.setattr(door.outbox.database, "run", watched)
    for name in ("ada@example.org", "nobody@example.org", "not even an address"):
        done.append([])
        for _ in range(TRIES):
            await door.knock(name, "wrong password")

    assert done[0] == done[1] == done[2]
    assert len(done[0]) > 5 * TRIES
    assert sum(each.startswith("$argon2id$") for each in done[0]) == TRIES


async def test_a_code_works_once(door: Doorstep) -> None:
    half = await door.begin()
    code = await door.newest_code()
    answers = await asyncio.gather(*(door.enter(half, code) for _ in range(4)))

    assert sum(isinstance(answer, tuple) for answer in answers) == 1
    assert not isinstance(await door.enter(half, code), tuple)


async def test_a_code_is_good_for_ten_minutes_and_no_longer(door: Doorstep, clock: Clock) -> None:
    half = await door.begin()
    clock.advance(minutes=10)

    assert isinstance(await door.enter(half, await door.newest_code()), WrongCode)

    clock.advance(minutes=9)
    assert await door.resend(half) == timedelta(0)
    clock.advance(seconds=59)
    assert isinstance(await door.enter(half, await door.newest_code()), tuple)


async def test_a_code_belongs_to_the_sign_in_it_was_made_for(door: Doorstep, clock: Clock) -> None:
    """Whoever knows the password and reads no mail gains nothing from a code that was made for its owner."""
    others = await door.begin()
    clock.advance(seconds=30)
    own = await door.begin()
    code = await door.newest_code()

    assert isinstance(await door.enter(others, code), WrongCode)
    assert isinstance(await door.enter(own, code), tuple)


async def test_a_code_can_be_tried_five_times(door: Doorstep) -> None:
    half = await door.begin()
    code = await door.newest_code()
    left = [await door.enter(half, wrong(code)) for _ in range(5)]

    assert left == [WrongCode(tries_left=count) for count in (4, 3, 2, 1, 0)]
    assert await door.enter(half, code) == WrongCode(tries_left=0)


async def test_tries_at_the_same_time_are_all_counted(door: Doorstep) -> None:
    half = await door.begin()
    code = await door.newest_code()
    answers = await asyncio.gather(*(door.enter(half, wrong(code)) for _ in range(8)))

    assert sorted(answer.tries_left for answer in answers if isinstance(answer, WrongCode)) == [0, 0, 0, 0, 1, 2, 3, 4]
    assert not isinstance(await door.enter(half, code), tuple)


async def test_a_new_code_ends_the_old_one(door: Doorstep, clock: Clock) -> None:
    half = await door.begin()
    old = await door.newest_code()
    clock.advance(seconds=30)
    assert await door.resend(half) == timedelta(0)
    new = await door.newest_code()

    assert isinstance(await door.enter(half, old), WrongCode) or old == new
    assert isinstance(await door.enter(half, new), tuple)


async def test_codes_are_mailed_every_thirty_seconds_at_most(door: Doorstep, clock: Clock) -> None:
    half = await door.begin()
    clock.advance(seconds=29)

    assert await door.resend(half) == timedelta(seconds=1)
    assert len(await door.codes()) == 1
    clock.advance(seconds=1)
    assert await door.resend(half) == timedelta(0)
    assert len(await door.codes()) == 2


async def test_codes_are_mailed_five_times_an_hour_at_most_however_often_one_begins(
    door: Doorstep, clock: Clock
) -> None:
    for _ in range(8):
        await door.begin()
        clock.advance(minutes=1)
    half = await door.begin()

    assert len(await door.codes()) == 5
    assert await door.resend(half) == timedelta(minutes=52)
    clock.advance(minutes=52)
    half = await door.begin()
    assert len(await door.codes()) == 6
    assert isinstance(await door.enter(half, await door.newest_code()), tuple)


async def test_asking_for_codes_at_the_same_time_mails_one(door: Doorstep, clock: Clock) -> None:
    half = await door.begin()
    clock.advance(minutes=1)
    waits = await asyncio.gather(*(door.resend(half) for _ in range(4)))

    assert sorted(waits) == [timedelta(0)] + [timedelta(seconds=30)] * 3
    assert len(await door.codes()) == 2


async def test_what_was_typed_as_a_name_is_written_down_nowhere(door: Doorstep, outbox: AsyncOutbox) -> None:
    """People type their password into the wrong field."""
    await door.knock("my secret password", "ada@example.org")
    tables = outbox.database.dialect.tables
    async with outbox.transaction() as connection:
        kept = [await rows(connection, f"SELECT * FROM {tables}{table}") for table in ("budgets", "audit")]

    assert len(kept[0]) == 3
    assert "secret" not in str(kept)


async def test_a_code_from_the_host_lets_in_when_mail_is_down(door: Doorstep, ada: Person) -> None:
    half = await door.begin()
    mailed, code = await door.newest_code(), new_code()
    await door.outbox.database.run(code_from_the_host(ada, code, key=await door.keeper.key(), by="root"))

    assert isinstance(await door.enter(half, mailed), WrongCode) or mailed == code
    assert isinstance(await door.enter(half, code), tuple)
    assert (await door.audited())[-3:] == ["code_from_host", "code_wrong", "sign_in"]


async def test_a_code_from_the_host_serves_a_sign_in_that_begins_later_once(
    door: Doorstep, ada: Person, clock: Clock
) -> None:
    code = new_code()
    await door.outbox.database.run(code_from_the_host(ada, code, key=await door.keeper.key(), by="root"))
    door.keeper._code = lambda: wrong(code)
    half = await door.begin()

    assert await door.codes() == [wrong(code)]  # in the mail, which may be down
    assert isinstance(await door.enter(half, code), tuple)
    clock.advance(minutes=1)
    assert not isinstance(await door.enter(await door.begin(), code), tuple)


async def test_a_session_ends_after_twelve_hours(door: Doorstep, clock: Clock) -> None:
    token = await door.sign_in()
    clock.advance(hours=12, seconds=-1)
    assert await door.keeper.session(token) is not None
    clock.advance(seconds=1)

    assert await door.keeper.session(token) is None


async def test_a_session_ends_by_sign_out(door: Doorstep) -> None:
    token = await door.sign_in()
    await door.keeper.leave(token, address=HERE)

    assert await door.keeper.session(token) is None
    assert (await door.audited())[-1] == "sign_out"


async def test_a_new_password_ends_every_session_and_every_sign_in_under_way(
    door: Doorstep, ada: Person, clock: Clock
) -> None:
    full = await door.sign_in()
    clock.advance(minutes=1)
    half = await door.begin()
    code = await door.newest_code()
    await door.outbox.database.run(change_password(ada, "another hash"))

    assert [await door.keeper.session(token) for token in (full, half)] == [None, None]
    assert await door.enter(half, code) == Refused()


async def test_a_password_that_was_changed_while_it_was_checked_counts_as_wrong(door: Doorstep, ada: Person) -> None:
    await door.outbox.database.run(change_password(ada, "another hash"))

    assert isinstance(await door.try_right(), Refused)


async def test_somebody_who_was_removed_is_out_at_once(door: Doorstep, ada: Person) -> None:
    token = await door.sign_in()
    await door.outbox.database.run(remove_person(ada))

    assert await door.keeper.session(token) is None
    assert await door.knock(password=PASSWORD) == Refused()


async def test_a_sign_in_that_nobody_completes_ends_by_itself(door: Doorstep, clock: Clock) -> None:
    half = await door.begin()
    clock.now += rules.HALF_LIFE

    assert await door.resend(half) is None
    assert await door.enter(half, await door.newest_code()) == Refused()


async def rows(connection, sql: str) -> list[tuple[object, ...]]:
    found = await connection.execute(sql)
    return list(found) if isinstance(found, list) else list(await found.fetchall())
