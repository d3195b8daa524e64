"""From what a message says to what is noted."""

from __future__ import annotations

from datetime import date

from postroom.compose.return_path import ReturnPath
from postroom.returns.intake.noting import MOST_MENTIONS, MOST_NOTES, notes_of
from postroom.returns.reading import Reading, Returned, Unclear
from postroom.store.ids import new_id
from postroom.store.returns import Mention, Note
from postroom.vocabulary import BounceClass, EmailId, Return
from tests.returns.intake.post import RETURN_ADDRESS

PATH = ReturnPath(RETURN_ADDRESS, [b"key"])


def noted(reading: Reading, *delivered_to: str) -> list[Note]:
    return notes_of(reading, source="mail", source_id="1", delivered_to=delivered_to, paths=[PATH])


def message_id(id: EmailId) -> str:
    return f"<{id.replace('-', '')}@example.org>"


def test_the_token_comes_first_then_the_message_ids_in_their_order() -> None:
    token, header, original, thread = (new_id() for _ in range(4))
    reading = Reading(
        kind=Return.BOUNCED,
        envelope_to=("desk@example.org", PATH.sender(header)),
        about=(message_id(original), "<somebody@else.example>", message_id(thread), message_id(original)),
    )
    [note] = noted(reading, PATH.sender(token))

    assert note.mentions == (
        Mention(id=token, signed=True),
        Mention(id=header, signed=True),
        Mention(id=original, message_id=message_id(original)),
        Mention(id=thread, message_id=message_id(thread)),
    )


def test_without_a_return_path_no_token_is_believed() -> None:
    reading = Reading(kind=Return.BOUNCED, envelope_to=(PATH.sender(new_id()),))

    assert notes_of(reading, source="mail", source_id="1")[0].mentions == ()


def test_a_thread_however_long_is_looked_up_to_an_end() -> None:
    reading = Reading(kind=Return.REPLIED, about=tuple(message_id(new_id()) for _ in range(500)))

    assert len(noted(reading)[0].mentions) == MOST_MENTIONS


def test_what_is_noted_of_each_recipient_is_what_became_of_them() -> None:
    ada, bob = Returned(address="ada@example.org"), Returned(address="bob@example.org", kind=Return.DELIVERED)

    found = noted(Reading(kind=Return.BOUNCED, recipients=(ada, bob)))

    assert [each.what for each in found] == ["bounced", "delivered"]


def test_a_message_about_however_many_is_noted_to_an_end() -> None:
    many = tuple(Returned(address=f"p{number}@example.org") for number in range(5_000))

    assert len(noted(Reading(kind=Return.BOUNCED, recipients=many))) == MOST_NOTES


def test_each_recipient_is_a_part_and_a_message_about_nobody_is_one() -> None:
    ada = Returned(
        address="ada@example.org",
        aliases=("a@b.example",),
        bounce_class=BounceClass.PERMANENT,
        status="5.1.1",
        code=550,
    )
    several = noted(Reading(kind=Return.BOUNCED, recipients=(ada, Returned(address="bob@example.org"))))
    [nobody] = noted(Reading(kind=Unclear.UNREADABLE, problem="who knows"))

    assert [(each.part, each.address) for each in several] == [(0, "ada@example.org"), (1, "bob@example.org")]
    assert (several[0].aliases, several[0].bounce_class, several[0].code) == (ada.aliases, ada.bounce_class, 550)
    assert (nobody.part, nobody.what, nobody.address, nobody.problem) == (0, "unreadable", "", "who knows")


def test_the_day_of_return_and_a_reader_s_own_complaint_are_noted() -> None:
    [away] = noted(Reading(kind=Return.AUTORESPONDED, until=date(2026, 4, 1)))
    [abuse] = noted(Reading(kind=Return.COMPLAINED, feedback="abuse"))
    [machine] = noted(Reading(kind=Return.COMPLAINED, feedback="auth-failure"))

    assert (away.until, abuse.objected, machine.objected) == (date(2026, 4, 1), True, False)
