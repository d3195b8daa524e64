"""An email knows which wording of which template it has, and nobody who receives it can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroom import Edition, Email
from postroom.compose import Frozen, Letter
from postroom.compose.frozen import edition_in
from postroom.compose.outgoing import outgoing
from postroom.errors import InvalidEmail
from tests.compose.strategies import DATE, ID, SENDER

WELCOME = Edition(portal="hub", template="welcome", version="9f2c1a83b0de", language="de")
CONTEXT = '{"name":"Ada"}'


def composed(**fields: Any) -> Letter:
    given = {"to": "ada@example.org", "subject": "Hi", "text": "Hello", "html": "<p>Hello"} | fields
    return Letter.compose(Email(**given), id=ID, date=DATE, default_sender=SENDER)


def late(**fields: Any) -> Letter:
    return composed(**{"subject": "", "text": None, "html": None, "edition": WELCOME, "late": CONTEXT} | fields)


def thawed(frozen: Frozen) -> Letter:
    return Letter.thaw(
        subject=frozen.subject,
        message_id=frozen.message_id,
        envelope=frozen.envelope,
        text=frozen.text,
        html=frozen.html,
        attachments=dict(frozen.attachments),
    )


def on_the_wire(frozen: Frozen) -> bytes:
    return outgoing(
        subject=frozen.subject,
        message_id=frozen.message_id,
        envelope=frozen.envelope,
        text=frozen.text,
        html=frozen.html,
        attachments=dict(frozen.attachments),
    ).message


def test_emails_of_a_template_are_of_its_kind() -> None:
    assert WELCOME.kind == "hub.welcome"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("portal", ""),
        ("portal", "hub.org"),
        ("template", 'wel"come'),
        ("template", "x" * 50),
        ("version", ""),
        ("version", "9f2c}"),
        ("language", "de CH"),
        ("language", None),
    ],
)
def test_what_cannot_be_a_name_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidEmail, match=f"edition.{field}"):
        replace(WELCOME, **{field: value})


def test_an_edition_is_kept_with_the_letter() -> None:
    """(C3)"""
    frozen = composed(edition=WELCOME).freeze()

    assert frozen.edition == WELCOME
    assert edition_in(frozen.envelope) == WELCOME
    assert thawed(frozen).edition == WELCOME
    assert edition_in(composed().freeze().envelope) is None


@pytest.mark.parametrize(
    "more", [{}, {"cc": "bob@example.org"}, {"html": None}], ids=["short way", "long", "text only"]
)
def test_an_edition_is_never_sent(more: dict[str, Any]) -> None:
    with_it, without = composed(edition=WELCOME, **more).freeze(), composed(**more).freeze()

    assert on_the_wire(with_it) == on_the_wire(without)


def test_an_email_with_an_edition_goes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = composed(edition=WELCOME).freeze()
    monkeypatch.setattr(Letter, "thaw", None)

    assert on_the_wire(frozen)


def test_the_same_words_are_the_same_content_whatever_the_edition() -> None:
    newer = replace(WELCOME, version="000000000000")
    letters = [composed(), composed(edition=WELCOME), composed(edition=newer), composed(edition=WELCOME, text="Other")]

    first, second, third, other = [each.freeze().fingerprint for each in letters]

    assert first == second == third != other


def test_an_edition_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidEmail, match="edition: expected Edition, got str"):
        composed(edition="hub.welcome")


@pytest.mark.parametrize("correction", [{"subject": "Ho"}, {"text": "Ho"}, {"html": "<p>Ho"}])
def test_words_of_a_person_s_own_are_marked_and_found_by_the_version_they_were_made_from(
    correction: dict[str, str],
) -> None:
    edition = composed(edition=WELCOME).corrected(**correction).edition  # type: ignore[arg-type]

    assert edition == replace(WELCOME, version="9f2c1a83b0de*")
    assert edition.terms() == WELCOME.terms()
    assert composed(edition=edition).corrected(subject="Again").edition == edition


def test_other_recipients_get_the_same_words() -> None:
    assert composed(edition=WELCOME).corrected(to="bob@example.org").edition == WELCOME


# Rendered later


def test_a_late_email_keeps_the_context_in_the_place_of_words() -> None:
    frozen = late().freeze()

    assert (frozen.subject, frozen.text, frozen.html) == ("", CONTEXT, None)
    assert "Ada" not in frozen.envelope
    assert thawed(frozen).late == CONTEXT
    assert thawed(frozen).freeze() == frozen


def test_a_late_email_cannot_be_sent_as_it_is() -> None:
    """Nobody gets an empty email, also not from a release that knows nothing of late ones."""
    with pytest.raises(ValueError, match="Expecting value"):
        on_the_wire(late().freeze())


def test_contexts_that_mean_the_same_are_the_same() -> None:
    one, other = late(late='{"b": 1, "a": "ä"}').freeze(), late(late='{"a":"\\u00e4","b":1}').freeze()

    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != late().freeze().fingerprint


@pytest.mark.parametrize("context", ["", "[]", "{", '{"a":NaN}', '{"a":"\\ud800"}', "null"])
def test_a_context_that_is_no_json_object_is_refused(context: str) -> None:
    with pytest.raises(InvalidEmail, match="late: is not a JSON object"):
        late(late=context)


@pytest.mark.parametrize("field", ["subject", "text", "html"])
def test_a_late_email_has_no_words_of_its_own(field: str) -> None:
    with pytest.raises(InvalidEmail, match=f"{field}: is rendered later"):
        late(**{field: "<p>Hello"})


def test_only_a_template_can_be_rendered_later() -> None:
    with pytest.raises(InvalidEmail, match="late: needs a template"):
        late(edition=None)


def test_the_context_counts_for_the_size() -> None:
    assert late(late=f'{{"name":"{"x" * 1000}"}}').freeze().size > late().freeze().size + 900


def test_a_late_email_stays_late_for_other_recipients_and_not_with_words_of_its_own() -> None:
    elsewhere = late().corrected(to="bob@example.org")
    reworded = late().corrected(subject="Hi", text="Hello")

    assert (elsewhere.late, elsewhere.text, elsewhere.edition) == (CONTEXT, None, WELCOME)
    assert (reworded.late, reworded.text, reworded.edition) == (None, "Hello", WELCOME.changed())


@pytest.mark.parametrize("correction", [{"subject": "Hi"}, {"text": "Hello"}])
def test_a_late_email_is_not_given_half_its_words(correction: dict[str, str]) -> None:
    with pytest.raises(InvalidEmail, match="not rendered yet"):
        late().corrected(**correction)  # type: ignore[arg-type]
