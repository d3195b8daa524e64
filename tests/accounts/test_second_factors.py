"""A second step that needs no mail: an authenticator (RFC 6238), and recovery codes; on both stores."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import AsyncOutbox
from postroom.accounts import rules, totp
from postroom.accounts.answers import Entered, Half, WrongCode
from postroom.accounts.factors import factors_of
from postroom.accounts.letters import ACCOUNT_KIND
from postroom.accounts.own import OwnAccount, Unproved
from postroom.accounts.recovery import CODES, looks_like_one, new_codes
from postroom.accounts.sealing import seal, unseal
from postroom.accounts.values import Person
from tests.accounts.doorstep import HERE, NAME, PASSWORD, Doorstep, elsewhere
from tests.store.journey import Clock

SEED = b"12345678901234567890"
"""Of the examples in both RFCs."""
KEY = b"k" * 32


@pytest.fixture
def own(door: Doorstep, ada: Person) -> OwnAccount:
    return OwnAccount(keeper=door.keeper, person=ada, address=HERE)


async def enrol(own: OwnAccount, clock: Clock) -> tuple[bytes, tuple[str, ...]]:
    """An authenticator in use, with its recovery codes; the code that confirmed it is long over."""
    secret = await own.offer(PASSWORD)
    assert isinstance(secret, bytes)
    codes = await own.confirm(totp.code_at(secret, totp.step_of(clock.now)))
    assert codes is not None
    clock.advance(minutes=5)
    return secret, codes


def shown(secret: bytes, clock: Clock, *, off: int = 0) -> str:
    """What the authenticator shows, with a clock that is off by so many steps."""
    return totp.code_at(secret, totp.step_of(clock.now) + off)


@pytest.mark.parametrize(
    ("count", "code"),
    [*enumerate(["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"])],
)
def test_the_codes_are_those_of_rfc_4226(count: int, code: str) -> None:
    assert totp.code_at(SEED, count) == code


@pytest.mark.parametrize(
    ("seconds", "hash", "code"),
    [
        (59, "sha1", "94287082"),
        (1111111109, "sha1", "07081804"),
        (1111111111, "sha1", "14050471"),
        (1234567890, "sha1", "89005924"),
        (2000000000, "sha1", "69279037"),
        (20000000000, "sha1", "65353130"),
        (59, "sha256", "46119246"),
        (20000000000, "sha256", "77737706"),
        (59, "sha512", "90693936"),
        (20000000000, "sha512", "47863826"),
    ],
)
def test_the_codes_are_those_of_rfc_6238(seconds: int, hash: str, code: str) -> None:
    seed = (SEED * 4)[: {"sha1": 20, "sha256": 32, "sha512": 64}[hash]]
    step = totp.step_of(datetime.fromtimestamp(seconds, UTC))

    assert totp.code_at(seed, step, digits=8, hash=hash) == code


@given(step=st.integers(1_000, 10**9), off=st.integers(-5, 5), used=st.integers(-3, 3))
def test_a_code_fits_one_step_either_side_and_not_once_it_was_used(step: int, off: int, used: int) -> None:
    now = datetime.fromtimestamp(step * totp.STEP, UTC)
    code = totp.code_at(SEED, step + off)
    fits = totp.fitting_step(SEED, code, now, after=step + used)
    others = {totp.code_at(SEED, step + near) for near in range(-1, 2) if near != off}

    if code not in others:  # two steps may happen to have the same code
        assert fits == (step + off if abs(off) <= totp.WINDOW and off > used else None)


def test_what_the_picture_says_is_what_authenticators_read() -> None:
    uri = totp.enrolment_uri(b"Hello!\xde\xad\xbe\xef", name="ada@example.org")

    assert uri == (
        "otpauth://totp/Postroom:ada%40example.org?secret=JBSWY3DPEHPK3PXP&issuer=Postroom&digits=6&period=30"
    )
    assert totp.as_typed(b"Hello!\xde\xad\xbe\xef") == "JBSW Y3DP EHPK 3PXP"


@given(secret=st.binary(max_size=40), owner=st.text(max_size=8), other=st.text(max_size=8))
def test_what_is_sealed_opens_under_its_key_for_its_owner_alone(secret: bytes, owner: str, other: str) -> None:
    kept = seal(secret, key=KEY, owner=owner)

    assert unseal(kept, key=KEY, owner=owner) == secret
    assert unseal(kept, key=b"o" * 32, owner=owner) is None
    assert owner == other or unseal(kept, key=KEY, owner=other) is None
    assert unseal(kept[:-4], key=KEY, owner=owner) is None
    assert seal(secret, key=KEY, owner=owner) != kept


def test_recovery_codes_differ_and_are_no_other_kind_of_code() -> None:
    codes = new_codes()

    assert len(set(codes)) == CODES == 10
    assert all(looks_like_one(code.replace("-", "")) for code in codes)
    assert not looks_like_one("123456")


async def test_an_authenticator_lets_in_without_any_mail(door: Doorstep, own: OwnAccount, clock: Clock) -> None:
    secret, _ = await enrol(own, clock)
    answer = await door.knock()
    assert isinstance(answer, tuple)
    entered = await door.enter(answer[0], shown(secret, clock))

    assert answer[1] == Half(mailed=False)
    assert isinstance(entered, tuple)
    assert entered[1].by == "authenticator"
    assert await door.codes() == []


@pytest.mark.parametrize(("off", "lets_in"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
async def test_a_clock_may_be_off_by_one_step(
    door: Doorstep, own: OwnAccount, clock: Clock, off: int, lets_in: bool
) -> None:
    secret, _ = await enrol(own, clock)

    assert isinstance(await door.enter(await door.begin(), shown(secret, clock, off=off)), tuple) is lets_in


async def test_a_code_of_an_authenticator_is_used_once_also_at_the_same_time(
    door: Doorstep, own: OwnAccount, clock: Clock
) -> None:
    secret, _ = await enrol(own, clock)
    code = shown(secret, clock)
    halves = [await door.begin() for _ in range(4)]
    answers = await asyncio.gather(*(door.enter(half, code) for half in halves))

    assert sum(isinstance(answer, tuple) for answer in answers) == 1
    assert isinstance(await door.enter(await door.begin(), code), WrongCode)


async def test_an_earlier_code_is_not_good_after_a_later_one(door: Doorstep, own: OwnAccount, clock: Clock) -> None:
    secret, _ = await enrol(own, clock)
    await door.sign_in_with(await door.begin(), shown(secret, clock, off=1))

    assert isinstance(await door.enter(await door.begin(), shown(secret, clock)), WrongCode)


async def test_a_recovery_code_lets_in_once_however_it_is_typed_and_its_owner_is_told(
    door: Doorstep, own: OwnAccount, outbox: AsyncOutbox, clock: Clock
) -> None:
    _, [code, *_] = await enrol(own, clock)
    entered = await door.enter(await door.begin(), f" {code.upper().replace('-', ' ')}")
    assert isinstance(entered, tuple)
    await door.keeper.follow_up(NAME, entered[1], address=HERE)

    assert entered[1].by == "recovery code"
    assert isinstance(await door.enter(await door.begin(), code), WrongCode)
    assert (await outbox.database.run(factors_of(own.person.id))).recovery_codes == CODES - 1
    [letter, *_] = (await outbox.list(kind=ACCOUNT_KIND)).emails
    assert "recovery codes was used" in ((await outbox.letter(letter.id)).text or "")


async def test_a_recovery_code_lets_in_although_others_used_up_all_tries(
    door: Doorstep, own: OwnAccount, clock: Clock
) -> None:
    secret, [code, *_] = await enrol(own, clock)
    half = await door.begin(address=elsewhere(1))
    for number in range(rules.OF_CODES.at_once + 1):
        answer = await door.enter(half, f"{number:06d}", address=elsewhere(1))
    held = await door.enter(half, shown(secret, clock), address=elsewhere(1))

    assert isinstance(answer, WrongCode)
    assert isinstance(held, WrongCode)
    assert held.wait == rules.OF_CODES.every
    assert isinstance(await door.enter(half, code, address=elsewhere(1)), tuple)


async def test_a_code_by_email_still_works_when_it_is_asked_for(door: Doorstep, own: OwnAccount, clock: Clock) -> None:
    await enrol(own, clock)
    half = await door.begin()
    assert await door.codes() == []
    assert await door.resend(half) == timedelta(0)

    assert isinstance(await door.enter(half, await door.newest_code()), tuple)


async def test_password_and_authenticator_together_let_in_while_others_guess(
    door: Doorstep, own: OwnAccount, clock: Clock
) -> None:
    secret, _ = await enrol(own, clock)
    for number in range(20):
        await door.fail(address=elsewhere(number))
    there = elsewhere(99)
    await door.try_right(address=there)

    assert await door.codes() == [], "nobody with an authenticator is mailed what they did not ask for"
    assert isinstance(await door.try_right(address=there, code=shown(secret, clock)), Entered)


async def test_nothing_counts_before_the_authenticator_was_confirmed(
    door: Doorstep, own: OwnAccount, clock: Clock
) -> None:
    secret = await own.offer(PASSWORD)
    assert isinstance(secret, bytes)
    assert await own.confirm("000000") is None

    assert isinstance(await door.enter(await door.begin(), shown(secret, clock)), WrongCode)
    assert len(await door.codes()) == 1, "a code by email is still the default"
    clock.now += rules.OFFER_LIFE
    assert await own.confirm(shown(secret, clock)) is None


async def test_the_code_that_confirmed_an_authenticator_lets_nobody_in(
    door: Doorstep, own: OwnAccount, clock: Clock
) -> None:
    secret = await own.offer(PASSWORD)
    assert isinstance(secret, bytes)
    code = shown(secret, clock)
    assert await own.confirm(code) is not None

    assert isinstance(await door.enter(await door.begin(), code), WrongCode)


async def test_every_change_asks_for_the_password_or_a_code_and_is_told_and_on_record(
    door: Doorstep, own: OwnAccount, outbox: AsyncOutbox, clock: Clock
) -> None:
    assert await own.offer("wrong") == Unproved(wait=timedelta(0))
    secret, old = await enrol(own, clock)
    assert isinstance(await own.renew_codes("wrong"), Unproved)
    new = await own.renew_codes(shown(secret, clock))
    assert isinstance(new, tuple)
    assert isinstance(await own.turn_off(old[0]), Unproved), "the old ones are good no more"
    assert await own.turn_off(new[0]) is True
    changes = [line for line in await door.audited() if line != "password_right"]

    assert changes == ["proof_wrong", "authenticator_on", "proof_wrong", "recovery_codes_made", "proof_wrong",
                       "authenticator_off"]  # fmt: skip
    assert len((await outbox.list(kind=ACCOUNT_KIND)).emails) == 3
    assert (
        await outbox.database.run(factors_of(own.person.id))
        == type(await outbox.database.run(factors_of(own.person.id)))()
    )


async def test_proofs_can_be_guessed_a_few_times_only(own: OwnAccount, clock: Clock) -> None:
    """Whoever found an open browser must not find the password with it."""
    secret, _ = await enrol(own, clock)
    for number in range(rules.OF_PROOFS.at_once):
        await own.turn_off(f"{number:06d}")

    assert await own.turn_off(shown(secret, clock)) == Unproved(wait=rules.OF_PROOFS.every)


async def test_what_is_stored_tells_neither_secret_nor_codes(
    own: OwnAccount, outbox: AsyncOutbox, clock: Clock
) -> None:
    secret, codes = await enrol(own, clock)
    tables = outbox.database.dialect.tables
    async with outbox.transaction() as connection:
        kept = ""
        for table in ("authenticators", "recovery_codes"):
            found = await connection.execute(f"SELECT * FROM {tables}{table}")
            kept += str(list(found) if isinstance(found, list) else list(await found.fetchall()))

    assert totp.as_typed(secret).replace(" ", "") not in kept
    assert not any(code in kept or code.replace("-", "") in kept for code in codes)


async def test_under_another_secret_an_authenticator_is_worth_nothing_and_email_still_is(
    door: Doorstep, own: OwnAccount, clock: Clock
) -> None:
    secret, _ = await enrol(own, clock)
    door.keeper._key = b"o" * 32
    half = await door.begin()
    await door.resend(half)

    assert isinstance(await door.enter(half, shown(secret, clock)), WrongCode)
    assert isinstance(await door.enter(half, await door.newest_code()), tuple)
