"""What those read whom a sensitive email is for: no verb of the product tells, so tests open the box themselves."""

from __future__ import annotations

from postroom.compose import Letter
from postroom.sealing import Keyring, opened
from postroom.store.contents import digests_in, read_attachments
from postroom.store.plan import Plan, ask
from postroom.vocabulary import EmailId


def letter_in_box(id: str, keyring: Keyring) -> Plan[Letter]:
    """A sensitive email as its recipients get it."""
    [[_subject, message_id, envelope, *_]] = yield ask("content", id=id, version=1)
    boxes = yield from read_attachments(digests_in(envelope))
    inside = opened(boxes, id=EmailId(id), version=1, keyring=keyring)
    return Letter.thaw(
        subject=inside.subject,
        message_id=message_id,
        envelope=inside.envelope,
        text=inside.text,
        html=inside.html,
        attachments=inside.attachments,
    )
