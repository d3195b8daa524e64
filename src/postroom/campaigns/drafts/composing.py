"""The email that a mail of a campaign becomes: its step in words for its prospect, from its sender, in its thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from postroom.campaigns.books.mails import Mail
from postroom.campaigns.drafts.rendering import Wording, Words
from postroom.campaigns.values import Prospect, Sender, Step
from postroom.compose import Email
from postroom.errors import InvalidCampaign
from postroom.outbox.submission import HouseRules, Submission
from postroom.store.order import Lease, Order
from postroom.vocabulary import OnDoubt, Priority

KIND = "campaign"
"""The kind of every email of a campaign."""
POLICY = "outreach"
AGAIN = "Re: "


def write(mail: Mail, *, step: Step, words: Words, prospect: Prospect, sender: Sender, before: Sequence[Mail]) -> Email:
    """The email of one step. `before` are the earlier mails of its thread, the first of them first.

    A step without a subject of its own answers the one before, as a person would: the same subject behind `Re:`, and
    the headers that name what was really sent.
    """
    subject, headers = words.subject, {}
    if subject is None:
        if not before or before[0].subject is None:
            raise InvalidCampaign(f"steps[{step.number}].subject", "there is no mail before to answer", "write one")
        subject = AGAIN + before[0].subject
        sent = [each.message_id for each in before if each.message_id]
        headers = {"In-Reply-To": sent[-1], "References": " ".join(sent)}
    return Email(
        to=(prospect.name or "", prospect.address),
        sender=(sender.name, sender.address),
        reply_to=sender.reply_to,
        subject=subject,
        text=words.text,
        html=words.html,
        headers=headers,
    )


def thread_of(mail: Mail, mails: Sequence[Mail], steps: Sequence[Step]) -> list[Mail]:
    """The mails before this one in its thread; none where it begins one."""
    own = [step.number for step in steps if step.subject is not None or step.template is not None]
    if mail.step in own:
        return []
    root = max((number for number in own if number < mail.step), default=mail.step)
    return [each for each in mails if root <= each.step < mail.step]


def order_of(
    mail: Mail,
    *,
    workspace: str,
    prospect: Prospect,
    sender: Sender,
    wording: Wording,
    steps: Sequence[Step],
    mails: Sequence[Mail],
    rules: HouseRules,
    lease: Lease,
    now: datetime,
) -> Order:
    """What to take in: held in doubt rather than sent twice, owned from the first moment by whoever sends it."""
    step = steps[mail.step - 1]
    words = wording.render(step.number, prospect)
    email = write(mail, step=step, words=words, prospect=prospect, sender=sender, before=thread_of(mail, mails, steps))
    submission = Submission.of(
        email,
        key=mail.key,
        policy=POLICY,
        route=sender.route,
        kind=KIND,
        workspace=workspace,
        unsubscribable=True,
        on_doubt=OnDoubt.HOLD,
    )
    order = _in_language(prospect.language, rules).order(submission, now=now, id=mail.id)
    return replace(order, priority=Priority.CAMPAIGN, lease=lease)


def _in_language(language: str | None, rules: HouseRules) -> HouseRules:
    """The same rules for a reader of this language: the words of a step do not say which one they are in."""
    return replace(rules, links=replace(rules.links, language=language or ""))
