"""What goes into a box comes out of it, and what stands in its place says whom the email is for and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import Attachment, Email
from postroom.compose import Frozen, Letter
from postroom.compose.address import Address
from postroom.compose.frozen import decode, recipients_in
from postroom.errors import UnreadableEmail
from postroom.sealing import NO_KEYS, Keyring, is_apart, opened, put_apart
from postroom.store.contents import digests_in
from postroom.store.ids import new_id
from postroom.vocabulary import EmailId

ID = EmailId("01970000-0000-7000-8000-000000000000")
KEYRING = Keyring("s" * 32)

words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=30)


def letter(**given: object) -> Letter:
    email = Email(**{"to": ["Ada <ada@example.org>"], "bcc": "bob@example.org", "text": "x"} | given)  # type: ignore[arg-type]
    return Letter.compose(
        email, id=ID, date=datetime(2030, 1, 1, tzinfo=UTC), default_sender=Address("", "d@x.example")
    )


@given(subject=words, text=words, name=words, content=st.lists(st.binary(max_size=50), max_size=3))
def test_a_letter_is_the_same_octet_by_octet_after_its_box(
    subject: str, text: str, name: str, content: list[bytes]
) -> None:
    before = letter(
        subject=subject,
        text=text or "x",
        html=f"<p>{text}",
        headers={"X-Thing": "thing"},
        attachments=[Attachment(f"{number}.bin", each) for number, each in enumerate(content)],
    )
    for keyring in (KEYRING, NO_KEYS):
        apart = put_apart(before.freeze(), id=ID, keyring=keyring)
        inside = opened(dict(apart.attachments), id=ID, version=1, keyring=keyring)
        after = Letter.thaw(
            subject=inside.subject,
            message_id=apart.message_id,
            envelope=inside.envelope,
            text=inside.text,
            html=inside.html,
            attachments=inside.attachments,
        )

        assert after.as_bytes() == before.as_bytes()


def test_outside_the_box_stands_whom_it_is_for_and_nothing_else() -> None:
    frozen = letter(subject="Your code", text="123456", headers={"X-Code": "123456"}).freeze()
    apart = put_apart(frozen, id=ID, keyring=KEYRING)
    outside = json.dumps([apart.subject, apart.envelope, apart.text, apart.html])

    assert (apart.subject, apart.text, apart.html) == ("(sensitive)", None, None)
    assert apart.recipients == recipients_in(apart.envelope) == ("ada@example.org", "bob@example.org")
    assert digests_in(apart.envelope) == [digest for digest, _ in apart.attachments]
    for told in ("Your code", "123456", "X-Code", "Ada", "d@x.example"):
        assert told not in outside
    assert is_apart(apart.envelope)


def test_a_release_that_knows_no_boxes_cannot_read_the_envelope() -> None:
    """Of any channel: an email, a webhook and a text message all begin by reading it as JSON."""
    apart = put_apart(letter().freeze(), id=ID, keyring=NO_KEYS)

    with pytest.raises(ValueError, match="Expecting value"):
        decode(apart.envelope)


def test_a_fingerprint_tells_recipients_apart_and_nothing_that_could_be_tried_out() -> None:
    """Under one key: whoever guesses all codes learns nothing from being told whether the content differs."""

    def print_of(**given: object) -> str:
        return put_apart(letter(**given).freeze(), id=new_id(), keyring=KEYRING).fingerprint

    assert print_of(text="123456") == print_of(text="654321", subject="Other")
    assert print_of() != print_of(to="eve@example.org")


def test_what_was_erased_says_so() -> None:
    with pytest.raises(UnreadableEmail, match="erased"):
        opened({}, id=ID, version=1, keyring=KEYRING)


def test_a_box_says_how_large_the_email_was() -> None:
    frozen: Frozen = letter(text="x" * 10_000).freeze()

    assert put_apart(frozen, id=ID, keyring=KEYRING).size == frozen.size
