"""What a server is given of a stored letter does not depend on the way it was written."""

from __future__ import annotations

from base64 import encodebytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.compose import Address, Email, Frozen, Letter, transfer
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


LARGE = {
    "short lines": "Good morning.\n.\n..dots\r\nand\rmore" * 20_000,
    "one long line": "Good morning " * 20_000,
    "a few letters beyond ASCII": "Grüße aus der Poststelle \t\n.\n" * 20_000,
    "one long line with letters beyond ASCII": "Grüße " * 40_000,
    "another script": "ご無沙汰しております\n" * 20_000,
    "control characters": "\x0c page\n" * 40_000,
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_a_large_text_is_encoded_in_blocks_as_it_would_be_in_one_go(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message has the same octets at every attempt, also where an older version made the first."""
    in_blocks = transfer.encode_text(text)
    octets = transfer.encode_text(text.encode())
    monkeypatch.setattr(transfer, "BLOCK", 1 << 30)
    encoding, whole = transfer.encode_text(text)

    assert len(whole) == 1
    assert (in_blocks[0], b"".join(in_blocks[1])) == (encoding, whole[0])
    assert octets == in_blocks


@pytest.mark.parametrize("size", [0, 1, 56, 57, transfer.BLOCK - 1, transfer.BLOCK, transfer.BLOCK + 1, 200_000])
def test_a_large_file_is_encoded_in_blocks_as_it_would_be_in_one_go(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    encoded = b"".join(transfer.encode_base64(data[:size]))

    assert encoded == encodebytes(data[:size]).replace(b"\n", b"\r\n") or (size == 0 and encoded == b"\r\n")
    assert len(encoded) == transfer.base64_size(size)


def test_a_letter_of_octets_is_the_letter_of_their_text() -> None:
    frozen = stored(Email(to="ada@example.org", cc="bob@example.org", text="Grüße", html="<p>Grüße"))
    sent = outgoing(
        subject=frozen.subject,
        message_id=frozen.message_id,
        envelope=frozen.envelope,
        text="Grüße".encode(),
        html="<p>Grüße".encode(),
        attachments={},
    )

    assert sent == the_long_way(frozen)
