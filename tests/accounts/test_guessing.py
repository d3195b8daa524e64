"""Guessing (C4), played as an attack: who guesses learns little, and the owner is kept out at no time."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from postroom import AsyncOutbox
from postroom.accounts import rules
from postroom.accounts.accounts import add_person
from postroom.accounts.answers import Entered, Half, Refused, Withheld, WrongCode
from postroom.accounts.chance import new_code, new_token
from postroom.accounts.letters import GUESSING_KIND
from postroom.accounts.steps import code_from_the_host
from postroom.accounts.values import Person, Role
from tests.accounts.doorstep import HERE, NAME, Doorstep, elsewhere, wrong
from tests.store.journey import Clock

BOTS = 1_000
DAY = timedelta(days=1)


async def hammer(door: Doorstep, *, tries: int = 40, name: str = NAME, first: int = 0) -> Counter[type]:
    """Wrong passwords from as many addresses, at the same time; what came of them."""
    answers = await asyncio.gather(*(door.fail(name, address=elsewhere(first + n)) for n in range(tries)))
    return Counter(type(answer) for answer in answers)


async def test_the_owner_signs_in_at_once_from_where_they_did_before_while_others_hammer(
    door: Doorstep, clock: Clock
) -> None:
    await door.sign_in(address=HERE)
    clock.advance(days=20)
    assert (await hammer(door))[Withheld] == 30
    half = await door.begin(address=HERE)
    hammering = asyncio.create_task(hammer(door, first=100))

    assert isinstance(await door.enter(half, await door.newest_code()), tuple)
    await hammering


async def test_a_typing_mistake_of_the_owner_is_answered_for_where_they_are_known(door: Doorstep) -> None:
    await door.sign_in(address=HERE)
    await hammer(door)

    assert await door.fail(address=HERE) == Refused()


async def test_from_a_new_address_the_owner_gets_in_at_once_with_both_together_while_others_hammer(
    door: Doorstep,
) -> None:
    """The documented wait is that of the mail: first nothing is told, then password and code together let in."""
    await hammer(door)
    new = "198.51.100.1"
    first = await door.try_right(address=new)
    await hammer(door, first=100)
    second = await door.try_right(address=new, code=await door.newest_code())

    assert isinstance(first, Withheld)
    assert isinstance(second, Entered)
    assert isinstance(await door.fail(address=new), Refused), "it is known from now on"


async def test_from_a_new_address_a_password_alone_is_answered_for_within_half_an_hour_of_silence(
    door: Doorstep, clock: Clock
) -> None:
    await hammer(door)
    held = await door.try_right(address="198.51.100.1")
    assert isinstance(held, Withheld)
    assert held.wait == rules.OF_NAME.every
    clock.now += held.wait

    assert isinstance(await door.try_right(address="198.51.100.1"), Half)


@pytest.mark.timeout(400)  # a thousand sign-ins, on a machine that may be busy
async def test_a_thousand_addresses_get_the_documented_number_of_answers_a_day(door: Doorstep, clock: Clock) -> None:
    """Each tries once in every quarter of an hour; all together in turns, for a day."""
    answers: Counter[type] = Counter()
    rounds, at_a_time = 96, 11
    for round in range(rounds):
        for number in range(at_a_time):
            bot = (round * at_a_time + number) % BOTS
            answers[type(await door.fail(address=elsewhere(bot)))] += 1
        clock.now += DAY / rounds

    assert sum(answers.values()) > BOTS
    assert rules.OF_NAME.most_in(DAY) - 1 <= answers[Refused] <= rules.OF_NAME.most_in(DAY) == 58


async def test_many_at_the_same_time_get_no_more_than_one_after_another(door: Doorstep) -> None:
    answers = await hammer(door, tries=60)

    assert answers == {Refused: rules.OF_NAME.at_once, Withheld: 50}


async def test_one_address_gets_so_many_answers_whatever_names_it_tries(door: Doorstep) -> None:
    answers = [type(await door.fail(f"a{n}@example.org", address=elsewhere(1))) for n in range(40)]

    assert Counter(answers) == {Refused: rules.OF_ADDRESS.at_once, Withheld: 10}


async def test_a_known_address_gets_so_many_answers_too_and_its_neighbours_in_ipv6_count_with_it(
    door: Doorstep,
) -> None:
    await door.sign_in(address="2001:db8:1:2::1")
    answers = [type(await door.fail(address=f"2001:db8:1:2::{n}")) for n in range(2, 16)]

    assert Counter(answers) == {Refused: rules.OF_PAIR.at_once, Withheld: 4}


async def test_whoever_shares_the_owners_address_keeps_them_out_no_more_than_others(
    door: Doorstep, ada: Person
) -> None:
    """A hotel, an office, or a proxy that does not tell from where requests come."""
    await door.sign_in(address=HERE)
    for _ in range(20):
        await door.fail(address=HERE)
    code = new_code()
    door.keeper._code = lambda: code
    await door.outbox.database.run(code_from_the_host(ada, code, key=await door.keeper.key(), by="root"))

    assert isinstance(await door.try_right(address=HERE), Withheld)
    assert isinstance(await door.try_right(address=HERE, code=code), Entered)


async def test_while_verdicts_are_withheld_right_and_wrong_get_the_same_answer(door: Doorstep) -> None:
    await hammer(door)
    there = "198.51.100.1"
    answers = [
        await door.fail(address=there),
        await door.knock(password="wrong", address=there),
        await door.knock(address=there),
        await door.knock(address=there, code="000000"),
        await door.knock(password="wrong", address=there, code="000000"),
    ]

    assert all(isinstance(answer, Withheld) for answer in answers)
    assert len({answer.wait for answer in answers if isinstance(answer, Withheld)}) == 1


async def test_while_verdicts_are_withheld_right_and_wrong_cost_the_same_work(
    door: Doorstep, monkeypatch: pytest.MonkeyPatch
) -> None:
    await hammer(door)
    await hammer(door, name="nobody@example.org")
    done: list[list[str]] = []
    run = door.outbox.database.run

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

    monkeypatch.setattr(door.outbox.database, "run", watched)
    for code in ("", "123456", "abcdefghjk"):
        for name, password in ((NAME, None), (NAME, "wrong"), ("nobody@example.org", "wrong")):
            done.append([])
            await door.knock(name, password, code=code, address="198.51.100.1") if password else await door.knock(
                name, code=code, address="198.51.100.1"
            )

    assert done[0] == done[1] == done[2]
    assert done[3] == done[4] == done[5]
    assert done[6] == done[7] == done[8]


async def test_who_knows_the_password_gets_the_documented_number_of_tries_at_codes_a_day(
    door: Doorstep, ada: Person, clock: Clock
) -> None:
    """Whatever codes are mailed meanwhile, from however many addresses, in both ways of typing them."""
    alarms = 0
    for round in range(48):
        address = elsewhere(round)
        half = await door.begin(address=address)
        for guess in range(4):
            if round % 2:
                answer = await door.try_right(address=address, code=f"{guess:06d}")
            else:
                answer = await door.enter(half, f"{guess:06d}", address=address)
            assert not isinstance(answer, tuple | Entered)
            alarms += answer.alarm is not None
        clock.now += DAY / 48
    lines = [line for line in await door.audited() if line == "code_wrong"]

    assert rules.OF_CODES.most_in(DAY) - 1 <= len(lines) <= rules.OF_CODES.most_in(DAY) == 22
    assert alarms == 1


async def test_both_ways_of_typing_a_code_count_together(door: Doorstep, clock: Clock) -> None:
    await hammer(door)
    for number in range(rules.OF_CODES.at_once):
        await door.try_right(address=elsewhere(500 + number), code=f"{number:06d}")
    clock.now += rules.OF_NAME.every * 2
    half = await door.begin(address=elsewhere(600))
    answer = await door.enter(half, await door.newest_code(), address=elsewhere(600))

    assert isinstance(answer, WrongCode)
    assert answer.wait > timedelta(hours=0)


async def test_tries_at_codes_elsewhere_do_not_keep_the_owner_out_where_they_are_known(
    door: Doorstep, clock: Clock
) -> None:
    await door.sign_in(address=HERE)
    clock.advance(minutes=1)
    half = await door.begin(address=elsewhere(1))
    for number in range(rules.OF_CODES.at_once):
        await door.enter(half, f"{number:06d}", address=elsewhere(1))
    clock.advance(minutes=1)
    own = await door.begin(address=HERE)

    assert isinstance(await door.enter(own, await door.newest_code()), tuple)


async def test_a_code_that_is_typed_with_the_password_is_good_from_where_it_was_asked_for(door: Doorstep) -> None:
    await hammer(door)
    await door.try_right(address=elsewhere(900))
    code = await door.newest_code()

    assert isinstance(await door.try_right(address=elsewhere(901), code=code), Withheld)
    assert isinstance(await door.try_right(address=elsewhere(900), code=code), Entered)


async def test_a_code_is_not_looked_at_behind_a_wrong_password(door: Doorstep) -> None:
    """Otherwise anybody could use up the tries of a code, or a code itself."""
    await hammer(door)
    await door.try_right(address=elsewhere(900))
    code = await door.newest_code()
    for _ in range(6):
        await door.knock(password="wrong", address=elsewhere(900), code=code)

    assert isinstance(await door.try_right(address=elsewhere(900), code=code), Entered)


async def test_a_code_from_the_host_ends_what_guesses_have_done(door: Doorstep, ada: Person) -> None:
    await hammer(door)
    code = new_code()
    await door.outbox.database.run(code_from_the_host(ada, code, key=await door.keeper.key(), by="root"))
    half = await door.begin(address=elsewhere(700))

    assert isinstance(await door.enter(half, code, address=elsewhere(700)), tuple)


async def test_a_code_from_the_host_lets_in_where_all_tries_are_used_up_and_has_five_of_its_own(
    door: Doorstep, ada: Person, clock: Clock
) -> None:
    await door.sign_in()
    clock.advance(minutes=1)
    half = await door.begin()
    for number in range(rules.OF_CODES.at_once + 1):
        held = await door.enter(half, f"{number:06d}")
    assert isinstance(held, WrongCode)
    assert held.wait
    for tries in (rules.CODE_TRIES - 1, rules.CODE_TRIES):
        code = new_code()
        await door.outbox.database.run(code_from_the_host(ada, code, key=await door.keeper.key(), by="root"))
        for _ in range(tries):
            await door.enter(half, wrong(code))
        assert isinstance(await door.enter(half, code), tuple) == (tries < rules.CODE_TRIES)
        clock.advance(minutes=1)
        half = await door.begin()


async def test_the_owner_is_told_of_guesses_once_a_day_and_nobody_of_names_that_nobody_has(
    door: Doorstep, outbox: AsyncOutbox, clock: Clock
) -> None:
    for day in range(2):
        for number in range(30):
            for name in (NAME, "nobody@example.org"):
                answer = await door.fail(name, address=elsewhere(number))
                await door.keeper.follow_up(name, answer, address=elsewhere(number))
        assert len((await outbox.list(kind=GUESSING_KIND)).emails) == day + 1
        clock.advance(days=1)
    [notice, *_] = (await outbox.list(kind=GUESSING_KIND)).emails

    assert [recipient.address for recipient in notice.recipients] == [NAME]
    assert elsewhere(9) in ((await outbox.letter(notice.id)).text or "")


async def test_who_knows_the_password_is_told_of_by_email(door: Doorstep, outbox: AsyncOutbox) -> None:
    half = await door.begin()
    for number in range(rules.OF_CODES.at_once + 2):
        answer = await door.enter(half, f"{number:06d}")
        assert isinstance(answer, WrongCode)
        await door.keeper.follow_up(NAME, answer, address=HERE)
    [notice] = (await outbox.list(kind=GUESSING_KIND)).emails

    assert "know your password" in notice.subject


async def test_addresses_are_remembered_as_hashes_for_so_long_and_so_many(
    door: Doorstep, outbox: AsyncOutbox, ada: Person, clock: Clock
) -> None:
    for number in range(rules.KNOWN_ADDRESSES + 5):
        await door.sign_in(address=elsewhere(number))
        clock.advance(hours=1)
    tables = outbox.database.dialect.tables
    async with outbox.transaction() as connection:
        found = await connection.execute(f"SELECT digest FROM {tables}known_addresses")
        kept = list(found) if isinstance(found, list) else list(await found.fetchall())
    await hammer(door, first=5_000)

    assert len(kept) == rules.KNOWN_ADDRESSES
    assert "203." not in str(kept)
    assert isinstance(await door.fail(address=elsewhere(4)), Withheld), "the first ones were forgotten"
    assert isinstance(await door.fail(address=elsewhere(5)), Refused)
    clock.now += rules.KNOWN_LIFE
    await hammer(door, first=5_000)
    assert isinstance(await door.fail(address=elsewhere(20)), Withheld), "its time is up"


async def test_what_is_known_of_one_person_is_worth_nothing_for_another(
    door: Doorstep, outbox: AsyncOutbox, hashed: str
) -> None:
    await outbox.database.run(add_person("bob@example.org", role=Role.VIEWER, password=hashed))
    await door.sign_in(address=HERE)
    await hammer(door, name="bob@example.org")

    assert isinstance(await door.fail("bob@example.org", address=HERE), Withheld)


async def test_budgets_that_are_whole_again_are_swept_away(door: Doorstep, outbox: AsyncOutbox, clock: Clock) -> None:
    for number in range(30):
        await door.fail(f"{new_token()}@example.org", address=elsewhere(number))
    clock.advance(days=3)
    for number in range(3):
        await door.fail(address=elsewhere(number))
    tables = outbox.database.dialect.tables
    async with outbox.transaction() as connection:
        found = await connection.execute(f"SELECT name FROM {tables}budgets")
        kept = list(found) if isinstance(found, list) else list(await found.fetchall())

    assert len(kept) == 1 + 3 + 3
