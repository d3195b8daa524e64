"""What a server is given of a stored letter does not depend on the way it was written."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from postroom.compose import Address, Email, Frozen, Letter
from postroom.compose.outgoing import Outgoing, outgoing
from tests.compose.strategies import DATE, ID, SENDER, addresses, bodies, emails, header_texts, international


def stored(email: Email) -> Frozen:
    return Letter.compose(email, id=ID, date=DATE, default_sender=SENDER).freeze()


def the_short_way(frozen: Frozen) -> Outgoing:
    return outgoing(
        subject=frozen.subject,
        message_id=frozen.message_id,
        envelope=frozen.envelope,
        text=frozen.text,
        html=frozen.html,
        attachments=dict(frozen.attachments),
    )


def the_long_way(frozen: Frozen) -> Outgoing:
    letter = Letter.thaw(
        subject=frozen.subject,
        message_id=frozen.message_id,
        envelope=frozen.envelope,
        text=frozen.text,
        html=frozen.html,
        attachments=dict(frozen.attachments),
    )
    return Outgoing(letter.sender_address, letter.recipients, letter.as_bytes(), letter.needs_smtputf8)


@given(emails)
def test_every_letter_leaves_as_it_would_have_if_thawed(email: Email) -> None:
    frozen = stored(email)

    assert the_short_way(frozen) == the_long_way(frozen)


@given(addresses | international, addresses | international, header_texts, bodies, bodies)
@example(Address("The shop", "shop@example.com"), Address("", "a@example.net"), "Hello", "x" * 901, "y" * 903)
def test_so_does_one_from_one_to_another_in_text_and_html(
    sender: Address, recipient: Address, subject: str, text: str, html: str
) -> None:
    frozen = stored(Email(sender=sender, to=recipient, subject=subject, text=text or "t", html=html or "<p>"))

    assert the_short_way(frozen) == the_long_way(frozen)


@given(st.integers(890, 910), st.integers(0, 3))
def test_a_line_stays_bare_up_to_the_limit_and_no_longer(length: int, lines_before: int) -> None:
    text = "short\n" * 100 * lines_before + "z" * length + "\nand the end\n"

    message = the_short_way(stored(Email(to="a@example.net", text=text))).message

    assert (b"7bit" in message) == (length <= 900)
