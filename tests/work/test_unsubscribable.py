"""Emails whose reader can stop them, as they arrive: both headers once, on one line each, and fit to be signed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from pathlib import Path

import dkim
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from postroom import UNSUBSCRIBE_URL, Email
from postroom.sealing import Keyring, unsealed
from postroom.testing import ScriptedSmtp
from tests.work.late import Press, late
from tests.work.nursery import Nursery
from tests.work.office import AT_ONCE, Office

SECRET = "forty characters that are by no means a secret"
PAIR = (b"List-Unsubscribe", b"List-Unsubscribe-Post")
LINK = re.compile(rb"^List-Unsubscribe: <(https://mail\.example\.org/u/([A-Za-z0-9_-]+))>\r$", re.MULTILINE)


@pytest.fixture
def house(
    store_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Office]:
    monkeypatch.setenv("POSTROOM_SECRET", SECRET)
    monkeypatch.setenv("POSTROOM_PUBLIC_URL", "https://mail.example.org")
    monkeypatch.setenv("POSTROOM_SENDER", "Hill House <desk@hillhouse.example>")
    with Office(store_url, server, tmp_path, nursery) as office:
        yield office


def link_in(message: bytes) -> str:
    """Where the header leads; it stands there once, and unfolded."""
    [(link, token)] = LINK.findall(message)
    ticket = unsealed(token.decode(), Keyring(SECRET))

    assert ticket is not None
    assert ticket.address == "ada@example.org"
    return str(link.decode())


def words_in(message: bytes, kind: str) -> list[str]:
    """The lines of a body."""
    body = message_from_bytes(message, policy=policy.default).get_body((kind,))
    assert body is not None
    return list(body.get_content().splitlines())


def check_pair(message: bytes) -> None:
    head = message.partition(b"\r\n\r\n")[0]
    for name in PAIR:
        assert len(re.findall(rb"(?im)^" + name + rb":", head)) == 1
    assert b"\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in head


async def test_both_headers_arrive_once_each_and_the_link_unfolded(house: Office) -> None:
    html = f'<p>Hello</p><a href="{UNSUBSCRIBE_URL}">Unsubscribe</a>'
    house.outbox.enqueue(Email(to="ada@example.org", subject="News", html=html), unsubscribable=True, kind="news")
    await house.work_until_idle()
    [message] = house.server.messages
    link = link_in(message.data)

    check_pair(message.data)
    assert message_from_bytes(message.data, policy=policy.default)["List-Unsubscribe"] == f"<{link}>"
    assert words_in(message.data, "plain") == ["Hello", "", f"Unsubscribe ({link})"]
    assert words_in(message.data, "html") == [f'<p>Hello</p><a href="{link}">Unsubscribe</a>']


async def test_every_attempt_has_the_same_link(house: Office) -> None:
    house.server.script(at="dot", reply="451 4.3.0 later", times=2)
    email = Email(to="ada@example.org", subject="News", text=f"Stop: {UNSUBSCRIBE_URL}")
    house.outbox.enqueue(email, unsubscribable=True, policy=AT_ONCE)
    await house.work_until_idle()
    attempts = [*house.server.messages, *house.server.refused]

    assert len(attempts) == 3
    assert len({message.data for message in attempts}) == 1


@dataclass(slots=True, kw_only=True)
class Linking(Press):
    """A press whose template shows the link."""

    more: str = field(default=f" Stop: {UNSUBSCRIBE_URL}")


@pytest.mark.parametrize("sensitive", [False, True])
async def test_what_is_rendered_late_has_the_link_that_it_was_enqueued_with(house: Office, sensitive: bool) -> None:
    house.server.script(at="dot", reply="451 4.3.0 later", times=1)
    house.outbox.enqueue(late("Ada"), unsubscribable=True, policy=AT_ONCE, sensitive=sensitive)
    await house.work_until_idle(render=Linking(), keyring=house.outbox.rules.keyring)
    [message], [refused] = house.server.messages, house.server.refused

    check_pair(message.data)
    assert words_in(message.data, "plain") == [f"Printed as number 1. Stop: {link_in(message.data)}"]
    assert refused.data == message.data


async def test_a_signature_over_both_headers_holds_for_what_arrives(house: Office) -> None:
    """What a mail server signs on the way out is what was sent, whichever canonicalisation it signs in."""
    key = generate_private_key(65_537, 2_048)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    record = b"v=DKIM1; k=rsa; p=" + b"".join(public.splitlines()[1:-1])
    long_names = {"workspace": "w" * 100, "kind": "k" * 100}
    house.outbox.enqueue(
        Email(to="ada@example.org", subject="Nachrichten für Ada", text="Grüße"), unsubscribable=True, **long_names
    )
    await house.work_until_idle()
    [message] = house.server.messages
    covered = [b"from", b"to", b"subject", b"date", b"message-id", *(name.lower() for name in PAIR)]
    assert len(link_in(message.data)) > 300

    for way in ((b"relaxed", b"relaxed"), (b"simple", b"simple")):
        signature = dkim.sign(
            message.data, b"post", b"hillhouse.example", private, canonicalize=way, include_headers=covered
        )
        signed = signature + message.data
        [names] = re.findall(rb"\bh=([^;]+);", re.sub(rb"\s", b"", signature))

        assert {*names.lower().split(b":")} >= {*covered}
        assert dkim.verify(signed, dnsfunc=lambda name, timeout=5: record)
        for tampered in (
            signed.replace(b"/u/", b"/v/", 1),
            signed.replace(b"=One-Click", b"=Two-Click", 1),
        ):
            assert not dkim.verify(tampered, dnsfunc=lambda name, timeout=5: record)
