"""The story of one prospect, in order of time: what left, what came back, and what was done to them and by whom.

It is put together from the mails of campaigns, which stay when their emails go, from what came back, from where each
enrolment stands, and from the audit log. What nobody has written down is not in it: when something that changes by
itself, such as an absence, was lifted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from postroom.accounts.audit import acts_on_prospect
from postroom.accounts.values import AuditEntry
from postroom.campaigns.books.mails import PREVIOUS
from postroom.campaigns.looking.one_prospect import DatedMail, Standing, mails_of_prospect, standings_of
from postroom.campaigns.values import Prospect
from postroom.operate.values import Workspaces
from postroom.store.kept_returns import emails_returned, returns_at_address, returns_of_emails
from postroom.store.notes import RETURNS, StoredReturn
from postroom.store.plan import Plan
from postroom.vocabulary import EmailId, EnrolmentStatus, MailState, Status

MOST_MAILS = 200
MOST_RETURNS = 50
"""Of each mail, and of the address."""
MOST_ACTS = 100
LONGEST = 200
"""Happenings that are told, the latest; a flood of answers is no story."""


class Happened(StrEnum):
    """What is told beside what came back, which has words of its own."""

    SENT = "sent"
    LEAVING = "leaving"
    """Handed to the outbox, and not sent yet."""
    DEAD = "dead"
    WITHHELD = "withheld"
    """Mails that will never leave, where the enrolment does not say so itself."""
    PAUSED = "paused"
    RESUMED = "resumed"
    ENDED = "ended"
    """The enrolment; `status` is how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that happened to a prospect."""

    at: datetime
    what: str
    """A `Happened`, or a `Return`."""
    campaign_id: str = ""
    """Empty where it is about no mail of a campaign."""
    steps: tuple[int, ...] = ()
    """Which steps it is about, or which it has kept from leaving."""
    email_id: EmailId | None = None
    kept: bool = False
    """The email is still there to be looked at."""
    subject: str = ""
    status: EnrolmentStatus | None = None
    """Of an end: how the enrolment stands."""
    returned: StoredReturn | None = None
    """What came back."""
    reason: str = ""
    actor: str = ""
    """Who did it, where a person did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProspectStory:
    """What happened to one prospect, the earliest first."""

    happenings: tuple[Happening, ...]
    campaigns: Mapping[str, str]
    """The names of those that it speaks of, by id."""
    kept: frozenset[EmailId] = frozenset()
    """Emails to them that are still there to be looked at."""
    more: bool = False
    """There was more before."""


def story_of(workspace: str, prospect: Prospect, *, workspaces: Workspaces) -> Plan[ProspectStory]:
    """All that is known to have happened to somebody in a workspace."""
    mails = yield from mails_of_prospect(workspace, prospect.id, limit=MOST_MAILS)
    standings = yield from standings_of(workspace, prospect.id, limit=MOST_MAILS)
    returned = yield from _came_back(workspace, prospect, mails, everything=workspaces is None)
    acts = yield from acts_on_prospect(workspace, prospect.id, limit=MOST_ACTS)
    ids = {each.mail.id for each in mails} | {each.email_id for each in returned if each.email_id}
    kept = yield from emails_returned(ids)
    told = tell(mails, standings, returned, [each for each in acts if "refused" not in each.detail])
    found = tuple(replace(each, kept=each.email_id in kept) for each in told)
    return ProspectStory(
        happenings=found[-LONGEST:],
        campaigns={each.campaign_id: each.campaign_name for each in standings},
        kept=frozenset(kept),
        more=len(found) > LONGEST,
    )


def _came_back(
    workspace: str, prospect: Prospect, mails: Sequence[DatedMail], *, everything: bool
) -> Plan[list[StoredReturn]]:
    """About a mail of theirs, from whatever address; and about any other email of the workspace to their address.

    What names no email of ours is in no workspace, and is told to those who may see all of them.
    """
    about = yield from returns_of_emails([each.mail.id for each in mails], limit=MOST_RETURNS)
    at = yield from returns_at_address(prospect.address, limit=MOST_RETURNS, workspaces=(workspace,))
    if everything:
        unknown = yield from returns_at_address(prospect.address, limit=MOST_RETURNS)
        at += [each for each in unknown if each.email_id is None]
    return [each for each in {each.id: each for each in (*about, *at)}.values() if each.what in RETURNS]


# ---------------------------------------------------------------- put together


def tell(
    mails: Sequence[DatedMail],
    standings: Sequence[Standing],
    returned: Iterable[StoredReturn],
    acts: Sequence[AuditEntry],
) -> list[Happening]:
    """The happenings in order of time; at one and the same instant, what came back before what followed. Pure."""
    by_id = {each.mail.id: each for each in mails}
    told = [
        *(happening for each in mails for happening in _left(each)),
        *(_returned(each, by_id) for each in returned),
        *_done(standings, acts, mails),
    ]
    return sorted(told, key=lambda each: (each.at, _RANKS.get(each.what, 1)))


_RANKS: Mapping[str, int] = {
    Happened.LEAVING: 0,
    Happened.SENT: 0,
    Happened.DEAD: 0,
    Happened.PAUSED: 2,
    Happened.RESUMED: 2,
    Happened.WITHHELD: 3,
    Happened.ENDED: 3,
}


def _left(dated: DatedMail) -> Iterator[Happening]:
    """A mail in the outbox, sent or given up; what has not left is no story yet."""
    mail = dated.mail
    this = Happening(
        at=mail.left_at or dated.changed_at,
        what=Happened.SENT,
        campaign_id=mail.campaign_id,
        steps=(mail.step,),
        email_id=mail.id,
        subject=mail.subject or "",
    )
    match mail.state:
        case MailState.SENT:
            yield this
        case MailState.LEAVING if mail.email_status == Status.SENT:  # and nobody has drawn the conclusions yet
            yield this
        case MailState.LEAVING:
            yield replace(this, what=Happened.LEAVING, reason=str(mail.email_status or ""))
        case MailState.DEAD:
            yield replace(this, what=Happened.DEAD, at=dated.changed_at, reason=mail.reason or "")
        case _:
            pass


def _returned(kept: StoredReturn, mails: Mapping[EmailId, DatedMail]) -> Happening:
    dated = mails.get(kept.email_id) if kept.email_id else None
    return Happening(
        at=kept.received_at,
        what=kept.what,
        campaign_id=dated.mail.campaign_id if dated else "",
        steps=(dated.mail.step,) if dated else (),
        email_id=kept.email_id,
        subject=(dated.mail.subject or "") if dated else "",
        returned=kept,
    )


_BY_HAND = {
    "campaign_pause_prospect": Happened.PAUSED,
    "campaign_resume_prospect": Happened.RESUMED,
    "campaign_stop_prospect": Happened.ENDED,
}
"""Acts of people by their names in the audit log."""


def _done(standings: Sequence[Standing], acts: Sequence[AuditEntry], mails: Sequence[DatedMail]) -> Iterator[Happening]:
    """What was done to the enrolments: the acts of people, and how each stands where no act says so."""
    withheld = _withheld(mails)
    newest = {_campaign(act): act for act in reversed(acts)}
    steps_of: dict[int, tuple[int, ...]] = {}
    for standing in standings:
        steps: tuple[int, ...] = ()
        for reason in (standing.reason, PREVIOUS):
            steps += withheld.pop((standing.campaign_id, reason), ((), standing.updated_at))[0]
        act = newest.get(standing.campaign_id)
        if act is not None and _says(act, standing):
            steps_of[act.id] = steps
        elif (what := _what(standing.status)) is not None:
            yield Happening(
                at=standing.updated_at,
                what=what,
                campaign_id=standing.campaign_id,
                steps=steps,
                status=standing.status,
                reason=standing.reason,
            )
    for act in acts:
        yield _act(act, steps_of.get(act.id, ()))
    for (campaign, reason), (steps, at) in withheld.items():
        yield Happening(at=at, what=Happened.WITHHELD, campaign_id=campaign, steps=steps, reason=reason)


def _act(act: AuditEntry, steps: tuple[int, ...]) -> Happening:
    what = _BY_HAND[act.what]
    return Happening(
        at=act.at,
        what=what,
        campaign_id=_campaign(act),
        steps=steps,
        status=EnrolmentStatus.STOPPED if what is Happened.ENDED else None,
        reason=str(act.detail.get("reason", "")),
        actor=act.actor,
    )


def _campaign(act: AuditEntry) -> str:
    return str(act.detail.get("campaign", ""))


def _says(act: AuditEntry, standing: Standing) -> bool:
    """Whether an act is why an enrolment stands as it does."""
    match _BY_HAND[act.what]:
        case Happened.PAUSED:
            return standing.status is EnrolmentStatus.PAUSED
        case Happened.ENDED:
            return standing.status is EnrolmentStatus.STOPPED and act.detail.get("reason", "") == standing.reason
        case _:
            return False


def _what(status: EnrolmentStatus) -> Happened | None:
    match status:
        case EnrolmentStatus.ENROLLED | EnrolmentStatus.ACTIVE:
            return None
        case EnrolmentStatus.PAUSED:
            return Happened.PAUSED
        case _:
            return Happened.ENDED


def _withheld(mails: Sequence[DatedMail]) -> dict[tuple[str, str], tuple[tuple[int, ...], datetime]]:
    """Steps that will never leave, and since when, by campaign and reason."""
    found: dict[tuple[str, str], tuple[tuple[int, ...], datetime]] = {}
    for each in sorted(mails, key=lambda each: each.mail.step):
        if each.mail.state is MailState.STOPPED:
            name = (each.mail.campaign_id, each.mail.reason or "")
            steps, at = found.get(name, ((), each.changed_at))
            found[name] = (*steps, each.mail.step), max(at, each.changed_at)
    return found
