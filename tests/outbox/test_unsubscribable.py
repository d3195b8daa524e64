"""Emails whose reader can stop them: each bears its link, goes to one person, or is refused before it is written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from postroom import UNSUBSCRIBE_URL, Edition, Email, Outbox, Sms, Webhook
from postroom.compose.unsubscribing import LIST_UNSUBSCRIBE, LIST_UNSUBSCRIBE_POST, link_in
from postroom.errors import InvalidEmail
from postroom.outbox.base import house_rules
from postroom.outbox.submission import Submission
from postroom.sealing import Keyring, Ticket, unsealed
from postroom.store.order import Order
from tests.sealing.mailbox import letter_in_box

SECRET = "forty characters that are by no means a secret"
HOST = "https://mail.example.org"
SETTINGS = {"POSTROOM_SECRET": SECRET, "POSTROOM_PUBLIC_URL": HOST}
DUTCH = Edition(portal="hub", template="news", version="9f2c1a83b0de", language="nl")


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def outbox(store_url: str, configured: None) -> Iterator[Outbox]:
    with Outbox(store_url) as outbox:
        yield outbox


def news(**fields: Any) -> Email:
    return Email(**({"to": "Ada <Ada@Example.org>", "subject": "News", "text": f"Stop: {UNSUBSCRIBE_URL}"} | fields))


def ordered(email: Any, **wishes: Any) -> Order:
    from postroom import config

    return house_rules(config.load()).order(Submission(email, None, {"unsubscribable": True} | wishes))  # type: ignore[typeddict-item]


def link_of(outbox: Outbox, id: Any) -> str:
    link = link_in(outbox.letter(id).headers)
    assert link is not None
    return link


def ticket_of(link: str) -> Ticket | None:
    return unsealed(link.rpartition("/")[2], Keyring(SECRET))


def test_an_email_that_can_be_stopped_bears_the_pair_of_headers_and_its_link(outbox: Outbox) -> None:
    receipt = outbox.enqueue(news(edition=DUTCH), unsubscribable=True, workspace="hotel")
    letter, link = outbox.letter(receipt.id), link_of(outbox, receipt.id)

    assert letter.headers == (
        ("List-Unsubscribe", f"<{link}>"),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
    )
    assert link.startswith(f"{HOST}/u/")
    assert outbox.get(receipt.id).unsubscribable
    assert ticket_of(link) == Ticket(
        email_id=receipt.id, address="Ada@example.org", workspace="hotel", kind="hub.news", language="nl"
    )


def test_the_link_stands_wherever_the_words_ask_for_it(outbox: Outbox) -> None:
    html = f'<p>Hello</p><p><a href="{UNSUBSCRIBE_URL}">Stop</a> or open {UNSUBSCRIBE_URL}</p>'
    id = outbox.enqueue(news(text=None, html=html), unsubscribable=True).id
    letter, link = outbox.letter(id), link_of(outbox, id)

    assert letter.html == html.replace(UNSUBSCRIBE_URL, link)
    assert letter.text is not None
    assert f"Stop ({link}) or open {link}" in letter.text


def test_headers_of_the_callers_own_stay_in_front(outbox: Outbox) -> None:
    id = outbox.enqueue(news(headers={"X-Campaign": "spring"}), unsubscribable=True).id

    names = [name for name, _ in outbox.letter(id).headers]
    assert names == ["X-Campaign", LIST_UNSUBSCRIBE, LIST_UNSUBSCRIBE_POST]


def test_other_mail_is_as_it_was(outbox: Outbox) -> None:
    id = outbox.enqueue(news()).id

    assert outbox.letter(id).headers == ()
    assert outbox.letter(id).text == f"Stop: {UNSUBSCRIBE_URL}"
    assert not outbox.get(id).unsubscribable


def test_every_email_of_many_has_a_link_of_its_own(outbox: Outbox) -> None:
    outbox.enqueue_many([news(to=f"person{n}@example.org") for n in range(20)], unsubscribable=True)
    emails = outbox.list().emails
    tickets = [ticket_of(link_of(outbox, email.id)) for email in emails]

    assert len(emails) == 20
    assert [ticket and (ticket.email_id, ticket.address) for ticket in tickets] == [
        (email.id, outbox.letter(email.id).recipients[0]) for email in emails
    ]


def test_the_same_email_under_a_key_is_the_same_although_its_link_is_not(outbox: Outbox) -> None:
    html = f'<a href="{UNSUBSCRIBE_URL}">Stop</a>'
    first = outbox.enqueue(news(html=html), key="spring", unsubscribable=True)
    again = outbox.enqueue(news(html=html), key="spring", unsubscribable=True)
    other = outbox.enqueue(news(html=html + "!"), key="spring", unsubscribable=True)

    assert (again.id, again.duplicate, again.content_differs) == (first.id, True, False)
    assert other.content_differs


def test_a_sensitive_one_keeps_its_link_to_itself(outbox: Outbox) -> None:
    id = outbox.enqueue(news(), unsubscribable=True, sensitive=True).id

    boxed = outbox.database.run(letter_in_box(id, outbox.rules.keyring), writes=False)
    link = link_in(boxed.headers)

    assert outbox.get(id).unsubscribable
    assert link is not None
    assert ticket_of(link) is not None
    assert boxed.text == f"Stop: {link}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("to", ["ada@example.org", "bob@example.org"]),
        ("to", ["ada@example.org", "ada@example.org"]),
        ("cc", "bob@example.org"),
        ("bcc", "bob@example.org"),
    ],
)
def test_one_that_goes_to_several_is_refused(configured: None, field: str, value: Any) -> None:
    """Whoever pressed the link would stop somebody else's mail."""
    with pytest.raises(InvalidEmail, match=r"^to: .*; send one to each$"):
        ordered(news(**{field: value}))


@pytest.mark.parametrize("group", ["to", "cc", "bcc"])
def test_the_one_recipient_may_stand_in_any_field(configured: None, group: str) -> None:
    everybody = {"to": None} | {group: "ada@example.org"}

    assert "List-Unsubscribe-Post" in ordered(news(**everybody)).letter.envelope


@pytest.mark.parametrize("name", ["List-Unsubscribe", "list-unsubscribe", "List-Unsubscribe-Post"])
def test_a_link_of_the_callers_own_beside_ours_is_refused(configured: None, name: str) -> None:
    with pytest.raises(InvalidEmail, match="leave one of the two out"):
        ordered(news(headers={name: "<https://shop.example/stop>"}))


@pytest.mark.parametrize(
    "payload", [Sms(to="+15005550006", text="Hi"), Webhook(url="https://a.example/", event="a.b", data={})]
)
def test_what_is_no_email_is_refused(configured: None, payload: Any) -> None:
    with pytest.raises(InvalidEmail, match=f"unsubscribable: is for emails, and this is a {type(payload).__name__}"):
        ordered(payload)


@pytest.mark.parametrize("missing", SETTINGS)
def test_where_a_setting_is_missing_it_is_named_and_nothing_is_written(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.delenv(missing)
    with Outbox(outbox.database_url) as lacking, pytest.raises(InvalidEmail, match=f"set {missing}"):
        lacking.enqueue(news(), unsubscribable=True)

    assert sum(outbox.counts().values()) == 0


def test_where_the_package_is_missing_it_is_named(configured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ["cryptography", *(each for each in sys.modules if each.startswith("cryptography."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InvalidEmail, match=r"pip install 'postroom\[encryption\]'"):
        ordered(news())


def test_a_link_that_would_not_fit_on_a_line_is_refused(configured: None) -> None:
    assert ordered(news(), workspace="w" * 100, kind="k" * 100)
    with pytest.raises(InvalidEmail, match="too many for one line; give them shorter names"):
        ordered(news(), workspace="大" * 100, kind="小" * 100)


def test_a_replay_may_correct_the_words_and_not_the_recipient(outbox: Outbox) -> None:
    """Whoever else got it would stop the mail of the first."""
    id = outbox.enqueue(news(), unsubscribable=True).id
    link = link_of(outbox, id)
    outbox.cancel(id)
    with pytest.raises(InvalidEmail, match="its link unsubscribes the one recipient whom it was enqueued for"):
        outbox.replay(id, to="bob@example.org")
    with pytest.raises(InvalidEmail, match="its link unsubscribes the one recipient"):
        outbox.replay(id, bcc="bob@example.org")
    outbox.replay(id, to="Ada <Ada@Example.org>", text="Corrected.")

    assert outbox.letter(id).text == "Corrected."
    assert link_of(outbox, id) == link


def test_a_replay_of_mail_with_a_link_of_the_callers_own_goes_to_whom_one_likes(outbox: Outbox) -> None:
    own = {"List-Unsubscribe": "<https://shop.example/stop>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    id = outbox.enqueue(news(headers=own)).id
    outbox.cancel(id)
    outbox.replay(id, to="bob@example.org")

    assert outbox.letter(id).recipients == ("bob@example.org",)
