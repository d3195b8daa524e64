"""Emails are found by the template that their words are from, also sensitive ones: «who got the old wording?»"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroom import Edition, Outbox
from postroom.compose import DEFAULT_LIMITS
from postroom.outbox.submission import Submission
from postroom.store import acts
from postroom.store.contract import Claimed, StoredEmail
from postroom.store.wording import Worded, put_words
from tests.store.journey import Clock, claim, dead, email, sent, settle, take_over

OLD = Edition(portal="hub", template="welcome", version="9f2c1a83b0de", language="de")
NEW = replace(OLD, version="000000000001")
ENGLISH = replace(NEW, language="en")
INVITE = Edition(portal="org", template="invite", version="abcdef012345", language="de")
CONTEXT = '{"name":"Ada"}'


def found(outbox: Outbox, **filters: Any) -> list[str]:
    return [each.key or "" for each in outbox.list(**filters).emails]


@pytest.fixture
def populated(outbox: Outbox) -> Outbox:
    """Emails of four editions and one of none, each under a key that tells which."""
    outbox.enqueue(email(edition=OLD), key="old")
    outbox.enqueue(email(edition=NEW), key="new", kind="welcome.vip")
    outbox.enqueue(email(edition=ENGLISH), key="secret", sensitive=True)
    outbox.enqueue(email(edition=INVITE, cc="bob@example.org"), key="invite")
    outbox.enqueue(email(), key="none", kind="hub.welcome")
    return outbox


@pytest.mark.parametrize(
    ("filters", "keys"),
    [
        ({"portal": "hub"}, ["secret", "new", "old"]),
        ({"template": "hub.welcome"}, ["secret", "new", "old"]),
        ({"template": "welcome"}, []),
        ({"version": "9f2c1a83b0de"}, ["old"]),
        ({"version": "9f2c"}, []),
        ({"language": "de"}, ["invite", "new", "old"]),
        ({"template": "hub.welcome", "language": "de"}, ["new", "old"]),
        ({"template": "hub.welcome", "version": "abcdef012345"}, []),
        ({"portal": "org", "recipient": "bob@example.org"}, ["invite"]),
        ({"status": "pending", "version": "000000000001"}, ["secret", "new"]),
        ({"status": "sent", "version": "000000000001"}, []),
        ({"kind": "hub.welcome"}, ["none", "secret", "old"]),
        ({"kind": "welcome.vip", "template": "hub.welcome"}, ["new"]),
        ({"key": "old", "version": "9f2c1a83b0de"}, ["old"]),
        ({"key": "old", "portal": "org"}, []),
        ({"key": "none", "template": "hub.welcome"}, []),
    ],
)
def test_a_filter_finds_the_emails_of_a_template(populated: Outbox, filters: dict[str, Any], keys: list[str]) -> None:
    """(C3)"""
    assert found(populated, **filters) == keys


def test_an_email_tells_its_edition(populated: Outbox) -> None:
    """(C3)"""
    emails = {each.key: each for each in populated.list().emails}

    assert {key: each.edition for key, each in emails.items()} == {
        "old": OLD, "new": NEW, "secret": ENGLISH, "invite": INVITE, "none": None
    }  # fmt: skip
    assert {key: each.kind for key, each in emails.items()} == {
        "old": "hub.welcome", "new": "welcome.vip", "secret": "hub.welcome", "invite": "org.invite",
        "none": "hub.welcome",
    }  # fmt: skip


def test_an_email_without_an_edition_has_no_terms_of_one(outbox: Outbox) -> None:
    order = outbox.rules.order(Submission(email()))

    assert order.terms() == ["to:ada@example.org"]
    assert "edition" not in order.letter.envelope


def test_a_sensitive_email_still_tells_its_edition_when_it_was_sent_and_erased(populated: Outbox) -> None:
    settle(populated, [sent(each, sensitive=each.sensitive) for each in claim(populated)])

    [erased] = populated.list(key="secret").emails
    assert erased.erased
    assert erased.edition == ENGLISH
    assert found(populated, version="000000000001", status="sent") == ["secret", "new"]


def test_a_corrected_email_is_found_by_the_version_it_was_made_from_and_says_that_it_was_changed(
    outbox: Outbox,
) -> None:
    id = outbox.enqueue(email(edition=OLD)).id
    settle(outbox, [dead(each) for each in claim(outbox)])
    outbox.database.run(acts.replay(id, {"subject": "Sorry"}, actor="me", limits=DEFAULT_LIMITS))

    stored = outbox.get(id)

    assert stored.edition == replace(OLD, version="9f2c1a83b0de*")
    assert [each.id for each in outbox.list(version="9f2c1a83b0de").emails] == [id]
    assert [each.id for each in outbox.list(version="9f2c1a83b0de*").emails] == [id]


# Not rendered yet


def late(outbox: Outbox, **wishes: Any) -> StoredEmail:
    not_yet = email("", text=None, edition=OLD, late=CONTEXT)
    return outbox.get(outbox.enqueue(not_yet, **wishes).id)


def test_a_late_email_says_so_in_the_place_of_a_subject(outbox: Outbox) -> None:
    stored = late(outbox)

    assert (stored.late, stored.subject, stored.edition) == (True, "(rendered when sent)", OLD)
    assert [each.address for each in stored.recipients] == ["ada@example.org"]
    assert stored.unreadable is None


def test_a_sensitive_late_email_tells_its_edition_and_not_its_context(outbox: Outbox) -> None:
    stored = late(outbox, sensitive=True)
    [claimed] = claim(outbox)

    assert (stored.late, stored.subject, stored.edition) == (True, "(sensitive)", OLD)
    assert "Ada" not in claimed.envelope
    assert claimed.attachments.keys() == {f"box.{stored.id}.1.late"}


def test_a_late_email_is_replayed_to_somebody_else_as_a_late_one(outbox: Outbox) -> None:
    id = late(outbox).id
    settle(outbox, [dead(each) for each in claim(outbox)])
    outbox.database.run(acts.replay(id, {"to": "bob@example.org"}, actor="me", limits=DEFAULT_LIMITS))

    stored = outbox.get(id)

    assert (stored.late, stored.version, stored.recipients[0].address) == (True, 2, "bob@example.org")


# Words put in their place


def worded(outbox: Outbox, claimed: Claimed, *, edition: Edition = OLD, subject: str = "Hallo Ada") -> Worded:
    words = outbox.rules.order(Submission(email(subject, edition=edition))).letter
    return Worded(claimed=claimed, letter=words, was=OLD, edition=edition)


def test_words_are_put_in_the_place_of_a_context(outbox: Outbox) -> None:
    id = late(outbox).id
    [claimed] = claim(outbox)

    placed = outbox.database.run(put_words([worded(outbox, claimed)]))

    assert placed == {id}
    assert (outbox.get(id).late, outbox.get(id).subject, outbox.letter(id).text) == (
        False,
        "Hallo Ada",
        "Good morning.",
    )


def test_only_the_holder_of_the_newest_claim_puts_words(outbox: Outbox, clock: Clock) -> None:
    id = late(outbox).id
    [lost] = claim(outbox)
    clock.advance(minutes=5)
    [held] = take_over(outbox)

    assert outbox.database.run(put_words([worded(outbox, lost, subject="Too late")])) == set()
    assert outbox.get(id).late
    assert outbox.database.run(put_words([worded(outbox, held)])) == {id}
    assert outbox.get(id).subject == "Hallo Ada"


def test_a_store_that_was_asked_twice_has_the_same_words(outbox: Outbox) -> None:
    """Nobody knows what became of a commit whose answer was lost; asking again is right."""
    late(outbox)
    [claimed] = claim(outbox)
    words = worded(outbox, claimed)

    assert outbox.database.run(put_words([words])) == outbox.database.run(put_words([words])) != set()


def test_an_email_is_found_by_the_version_that_it_was_rendered_from(outbox: Outbox) -> None:
    """And nothing of it stays behind when it is forgotten."""
    id = outbox.enqueue(email("", text=None, edition=OLD, late=CONTEXT, tags=["tag"])).id
    [claimed] = claim(outbox)
    outbox.database.run(put_words([worded(outbox, claimed, edition=ENGLISH)]))

    assert (outbox.get(id).edition, outbox.get(id).tags) == (ENGLISH, ("tag",))
    assert outbox.list(version=OLD.version).emails == outbox.list(language="de").emails == ()
    assert [each.id for each in outbox.list(version=NEW.version, language="en").emails] == [id]
    settle(outbox, [sent(claimed)], keep_sent=False)
    with outbox.transaction() as connection:
        tables = "postroom_" if outbox.database_url.startswith("sqlite") else "postroom."
        assert connection.execute(f"SELECT count(*) FROM {tables}terms").fetchone()[0] == 0
