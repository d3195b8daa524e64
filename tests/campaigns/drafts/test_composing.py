"""The email that a mail of a campaign becomes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from postroom.campaigns.books.mails import Mail
from postroom.campaigns.drafts.composing import order_of
from postroom.campaigns.drafts.rendering import Wording
from postroom.campaigns.values import Prospect, Sender, Step
from postroom.compose.frozen import Frozen
from postroom.compose.letter import Letter
from postroom.compose.unsubscribing import link_in
from postroom.outbox.submission import HouseRules
from postroom.outbox.unsubscribing import Links
from postroom.returns.unsubscribing.words import chosen_language
from postroom.sealing import Keyring, unsealed
from postroom.store.ids import new_id
from postroom.store.order import Lease
from postroom.vocabulary import MailState

KEYS = Keyring("a secret of the tests, long enough to seal")
RULES = HouseRules(links=Links(public_url="https://mail.shop.example", keyring=KEYS), keyring=KEYS)
STEP = Step(number=1, subject="Hi", text="Stop: {{ unsubscribe_url }}", html='<a href="{{ unsubscribe_url }}">Stop</a>')
ADA = Prospect(id="p1", address="ada@example.org")


def composed(prospect: Prospect) -> Letter:
    mail = Mail(
        id=new_id(), key="p1:words:1", campaign_id="spring", prospect_id=prospect.id, sequence_id="words",
        sequence_version=1, step=1, number=1, sender_id="grace", state=MailState.READY, due_day=date(2026, 3, 9),
    )  # fmt: skip
    order = order_of(
        mail,
        workspace="shop",
        prospect=prospect,
        sender=Sender(id="grace", address="grace@shop.example"),
        wording=Wording((STEP,), {}),
        steps=(STEP,),
        mails=(),
        rules=RULES,
        lease=Lease(worker="worker", seconds=60.0),
        now=datetime(2026, 3, 9, 9, tzinfo=UTC),
    )
    assert isinstance(order.letter, Frozen)
    return Letter.thaw(
        subject=order.letter.subject,
        message_id=order.letter.message_id,
        envelope=order.letter.envelope,
        text=order.letter.text,
        html=order.letter.html,
        attachments=dict(order.letter.attachments),
    )


def test_the_words_bear_the_link_of_the_headers() -> None:
    letter = composed(ADA)
    link = link_in(letter.headers)

    assert link is not None
    assert (letter.text, letter.html) == (f"Stop: {link}", f'<a href="{link}">Stop</a>')


@pytest.mark.parametrize(("language", "page"), [("de_ch", "de"), ("zh-Hant", "fr"), (None, "fr")])
def test_whoever_unsubscribes_is_spoken_to_in_the_language_of_the_prospect_else_in_the_browser_s(
    language: str | None, page: str
) -> None:
    link = link_in(composed(replace(ADA, language=language).checked()).headers)
    assert link is not None
    ticket = unsealed(link.rpartition("/")[2], KEYS)

    assert ticket is not None
    assert chosen_language(ticket.language, "fr") == page
