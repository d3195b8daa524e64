"""What a server says and does on the wire, through a whole worker: passwords, parameters, sessions, recipients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom import Email, Status
from postroom.errors import InvalidEmail
from postroom.store.contract import Recipient
from postroom.testing import ScriptedSmtp
from postroom.work.breakers import known_routes, resume
from tests.work.nursery import Nursery
from tests.work.office import AT_ONCE, LIMITS, Office, until, wait_until

ADA, BOB, EVE = "ada@example.org", "bob@example.org", "eve@example.org"


def route_state(office: Office) -> str:
    known = office.outbox.database.run(known_routes(), writes=False)
    return known[0].breaker.state.value if known else "ok"


def tries(office: Office) -> int:
    """How often the password was tried by emails; a pause that lasts is looked at once in a while."""
    [known] = office.outbox.database.run(known_routes(), writes=False)
    return sum(command.startswith("AUTH") for command in office.server.commands) - known.breaker.step


def standing(recipients: tuple[Recipient, ...]) -> list[tuple[str, int | None, str | None]]:
    return [(each.status, each.code, each.text) for each in recipients]


def enqueue(office: Office, *recipients: str, **wishes: Any) -> Any:
    email = Email(to=list(recipients), subject="Hi", text="Hello.")
    return office.outbox.enqueue(email, **{"policy": AT_ONCE} | wishes).id


# ---------------------------------------------------------------- passwords


@pytest.fixture
def guarded(store_url: str, tmp_path: Path, nursery: Nursery) -> Iterator[Office]:
    """An office whose server wants a password, and whose workers have another one."""
    with ScriptedSmtp(users={"app": "right"}) as server, Office(store_url, server, tmp_path, nursery) as office:
        yield office


def address(office: Office, password: str) -> str:
    return f"smtp://app:{password}@127.0.0.1:{office.server.port}?insecure_auth=yes&{LIMITS}"


@pytest.mark.parametrize("delay", [0.0, 2.5], ids=["at once", "slowly"])
async def test_a_hundred_emails_try_a_wrong_password_once(guarded: Office, delay: float) -> None:
    """Slowly enough that every line has begun by then."""
    guarded.server.script(at="auth", delay=delay)
    ids = guarded.enqueue(100)
    async with guarded.working(smtp=address(guarded, "wrong")):
        await until(lambda: route_state(guarded) == "paused")
        await until(lambda: guarded.outbox.counts()["sending"] == 0)

    assert tries(guarded) == 1
    assert sum(guarded.get(id).attempts for id in ids) <= 1


def test_two_processes_try_a_wrong_password_twice(guarded: Office) -> None:
    """Each finds out by itself where both begin in the same moment; they share the pause."""
    guarded.enqueue(100)
    workers = [guarded.start_worker(POSTROOM_SMTP=address(guarded, "wrong")) for _ in range(2)]
    wait_until(lambda: route_state(guarded) == "paused")
    wait_until(lambda: guarded.outbox.counts()["sending"] == 0)
    guarded.dismiss(workers)

    assert 1 <= tries(guarded) <= 2
    assert guarded.outbox.counts()["dead"] == 0


async def test_a_password_that_is_right_again_is_tried_when_a_person_resumes_the_route(guarded: Office) -> None:
    guarded.server.script(at="auth", reply="535 5.7.8 locked", times=1)
    ids = guarded.enqueue(20)
    async with guarded.working(smtp=address(guarded, "right")):
        await until(lambda: route_state(guarded) == "paused")
        await until(lambda: guarded.outbox.counts()["sending"] == 0)
        guarded.outbox.database.run(resume("default"))
        await until(lambda: guarded.statuses(ids) == {Status.SENT})


# ---------------------------------------------------------------- sessions and parameters


async def test_a_refused_parameter_and_a_nested_mail_cost_no_attempt(office: Office) -> None:
    office.server.script(at="mail", reply="555 5.5.4 unsupported option", when=lambda moment: bool(moment.parameters))
    office.server.script(at="mail", reply="503 5.5.1 nested MAIL command", times=1)
    ids = office.enqueue(20)
    await office.work_until_idle()

    assert office.statuses(ids) == {Status.SENT}
    assert {office.get(id).attempts for id in ids} == {1}
    assert route_state(office) == "ok"
    assert {office.copies(id) for id in ids} == {1}


async def test_too_many_recipients_by_an_old_code_means_the_rest_later(office: Office) -> None:
    office.server.script(at="rcpt", argument=EVE, reply="552 5.5.3 too many recipients", times=1)
    id = enqueue(office, ADA, BOB, EVE)
    await office.work_until_idle()

    assert office.get(id).status is Status.SENT
    assert office.get(id).attempts == 1
    assert [message.recipients for message in office.server.messages] == [(ADA, BOB), (EVE,)]


async def test_an_address_that_the_server_cannot_carry_is_recorded_with_its_code(
    store_url: str, tmp_path: Path, nursery: Nursery
) -> None:
    with (
        ScriptedSmtp(extensions=("PIPELINING", "8BITMIME")) as server,
        Office(store_url, server, tmp_path, nursery) as office,
    ):
        id = enqueue(office, "jürgen@example.org")
        await office.work_until_idle()
        stored = office.get(id)

        assert stored.status is Status.DEAD
        assert stored.last_error is not None
        assert "5.6.7" in stored.last_error
        assert stored.reply is not None
        assert stored.reply["enhanced"] == "5.6.7"
        assert (stored.recipients[0].text or "").startswith("5.6.7 ")
        assert server.messages == []


# ---------------------------------------------------------------- recipients


async def test_what_was_said_to_the_only_recipient_is_kept(office: Office) -> None:
    office.server.script(at="rcpt", argument=BOB, reply="550 5.1.1 no such user bob@example.org here")
    office.server.script(at="rcpt", argument=EVE, reply="450 4.2.1 busy")
    sent, refused, put_off = enqueue(office, ADA), enqueue(office, BOB), enqueue(office, EVE, policy="patient")
    await office.work_until_idle()

    assert standing(office.get(sent).recipients) == [("sent", 250, "2.0.0 Ok: queued")]
    assert standing(office.get(refused).recipients) == [("dead", 550, "5.1.1 no such user (address) here")]
    assert standing(office.get(put_off).recipients) == [("open", 450, "4.2.1 busy")]
    assert standing(office.outbox.list(status="sent").emails[0].recipients) == [("sent", 250, "2.0.0 Ok: queued")]


async def test_two_who_were_refused_by_one_code_in_different_words_keep_their_own(office: Office) -> None:
    office.server.script(at="rcpt", argument=ADA, reply="550 5.1.1 no such user")
    office.server.script(at="rcpt", argument=BOB, reply="550 5.7.1 not from you")
    id = enqueue(office, ADA, BOB)
    await office.work_until_idle()

    assert [text for *_, text in standing(office.get(id).recipients)] == ["5.1.1 no such user", "5.7.1 not from you"]


async def test_an_email_that_some_refused_says_so(office: Office) -> None:
    office.server.script(at="rcpt", argument=BOB, reply="550 5.1.1 no such user")
    some, all_of_them = enqueue(office, ADA, BOB, EVE), enqueue(office, ADA, EVE)
    await office.work_until_idle()

    assert office.get(some).status is Status.SENT
    assert office.get(some).partly
    assert office.get(some).refused_recipients == 1
    assert not office.get(all_of_them).partly
    assert office.get(all_of_them).refused_recipients == 0


async def test_a_recipient_whose_email_is_in_doubt_is_in_doubt(office: Office) -> None:
    office.server.script(at="rcpt", argument=BOB, reply="450 4.2.1 busy")
    office.server.script(at="dot", cut=True)
    id = enqueue(office, ADA, BOB, on_doubt="hold")
    alone = enqueue(office, EVE, on_doubt="hold")
    await office.work_until_idle()

    assert office.get(id).status is Status.IN_DOUBT
    assert standing(office.get(id).recipients) == [("in_doubt", None, None), ("open", 450, "4.2.1 busy")]
    assert standing(office.get(alone).recipients) == [("in_doubt", None, None)]


async def test_a_recipient_stays_in_doubt_whatever_is_said_later(office: Office) -> None:
    """The first copy may have arrived, even where the second attempt was put off."""
    office.server.script(at="dot", cut=True, times=1)
    office.server.script(at="rcpt", reply="450 4.2.1 busy", when=lambda _: bool(office.server.messages))
    id = enqueue(office, ADA, policy="patient")
    await office.work_until_idle()
    office.sql("UPDATE {emails} SET due_at = created_at")
    await office.work_until_idle()

    assert office.get(id).attempts == 2
    assert standing(office.get(id).recipients) == [("in_doubt", 450, "4.2.1 busy")]


async def test_a_thousand_long_refusals_are_stored_in_short(office: Office) -> None:
    office.server.script(at="rcpt", reply="\r\n".join(["550-5.1.1 " + "x" * 400] * 20) + "\r\n550 5.1.1 no")
    office.server.script(at="rcpt", argument=ADA, reply="250 Ok")
    id = enqueue(office, ADA, *(f"person{n}@example.org" for n in range(999)))
    await office.work_until_idle()
    [(outcomes, reply)] = office.sql("SELECT outcomes, reply FROM {emails}")

    assert office.get(id).refused_recipients == 999
    assert all(each.text for each in office.get(id).recipients)
    assert len(outcomes) < 200_000
    assert len(reply) < 100_000


def test_addresses_nearby_are_refused_before_anything_is_stored(office: Office) -> None:
    with pytest.raises(InvalidEmail, match="POSTROOM_DOTLESS_DOMAINS"):
        enqueue(office, "root@localhost")

    assert sum(office.outbox.counts().values()) == 0
