"""Words of emails that were rendered when somebody had them in hand, put where every later attempt finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from postroom.compose.edition import Edition
from postroom.compose.frozen import Frozen
from postroom.store.contents import digests_in
from postroom.store.contract import Claimed
from postroom.store.enqueue import store_attachments
from postroom.store.fields import GIVEN_CONTENT, columns
from postroom.store.plan import Plan, ask
from postroom.vocabulary import EmailId


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """An email in hand, and what it says now."""

    claimed: Claimed
    """As it was claimed."""
    letter: Frozen
    was: Edition
    """What it was to be rendered from when it was composed."""
    edition: Edition
    """What it was rendered from."""


def put_words(rendered: Sequence[Worded]) -> Plan[set[EmailId]]:
    """Put words in the place of contexts; the emails that have theirs. From then on every attempt sends the same.

    Applies only to claims that are still the newest; whoever is missing was lost to another owner. What the words were
    really rendered from is what the emails are found by.
    """
    in_order = sorted(rendered, key=lambda each: each.claimed.id)  # see `claims.names`
    yield from store_attachments(attachment for each in in_order for attachment in each.letter.attachments)
    rows = yield ask("put_words", contents=[_row(each) for each in in_order])
    placed = {EmailId(row[0]) for row in rows}
    ours = [each for each in in_order if each.claimed.id in placed]
    if boxes := [digest for each in ours for digest in _gone(each)]:
        yield ask("sweep_attachments", digests=boxes)
    for part in zip(*map(_swaps, ours), strict=True):
        if swaps := [swap for swap in part if swap]:
            yield ask("swap_terms", swaps=swaps)
    return placed


def _row(each: Worded) -> dict[str, Any]:
    return {
        "email_id": each.claimed.id,
        "token": each.claimed.claim.token,
        "version": each.claimed.version,
        **{name: getattr(each.letter, name) for name in columns(GIVEN_CONTENT)},
        "attachments": [digest for digest, _ in each.letter.attachments],
        "gone": _gone(each),
    }


def _gone(each: Worded) -> list[str]:
    """What the email carried and carries no more: the box with its context, if it is sensitive."""
    carried = {digest for digest, _ in each.letter.attachments}
    return [digest for digest in digests_in(each.claimed.envelope) if digest not in carried]


def _swaps(each: Worded) -> list[dict[str, Any] | None]:
    """Of each part of the edition whether it turned out differently: the files may have changed meanwhile."""
    named = {"email_id": each.claimed.id, "version": each.claimed.version}
    return [
        None if was == becomes else {**named, "was": was, "becomes": becomes}
        for was, becomes in zip(each.was.terms(), each.edition.terms(), strict=True)
    ]
