"""What follows for campaigns from what came back (P12), in the transaction that takes it down.

    replied               ends what is left of the campaign whose mail was answered; where it was none, of all campaigns
                          in which whoever answered is a prospect: of the workspace, or where none is known, of each
    bounced for good,     ends what is left in the whole workspace, and counts towards the limits; a bounce also where a
    complained            server has told it in the session
    unsubscribed          by a message in the thread: ends what is left in the whole workspace, and puts whom the mail
                          was for on the list; by any other, where whoever wrote it is a prospect: ends what is left
                          there, and keeps campaigns alone from them, for anybody can write in their name
    autoresponded         ends nothing; where it says from when somebody is back, they are left alone until that day

One order of locks: the campaigns of a workspace are held before its emails, as launches, acts and looks do, and of
several workspaces in the order of their names. So `hold_campaigns` is what such a transaction begins with; what it did
not hold, it does not touch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, time

from postroom.campaigns.books.mails import PAUSED, ring, store_clock
from postroom.campaigns.drafts.composing import KIND
from postroom.campaigns.drafts.prospects import find_prospect
from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.stopping.limits import count_mail_of
from postroom.campaigns.stopping.mentioned import MentionedMail, mail_about, mails_mentioned, prospects_called
from postroom.campaigns.stopping.stops import forget_covered, stop_enrolments
from postroom.errors import InvalidEmail
from postroom.store.consequences import Matched, stop_after
from postroom.store.contract import moment
from postroom.store.notes import SESSION
from postroom.store.plan import Plan, ask
from postroom.store.returns import Noted
from postroom.store.suppressions import Stop, normal_address, suppress
from postroom.vocabulary import EmailId, EnrolmentStatus, Return, SuppressionReason, SuppressionScope, WaitReason

_BY_ADDRESS = {
    Return.REPLIED: EnrolmentStatus.REPLIED,
    Return.UNSUBSCRIBED: EnrolmentStatus.UNSUBSCRIBED,
}
"""What is heard from whoever has a prospect's address, although it names no mail that they got."""


def hold_campaigns(*, emails: Iterable[EmailId] = (), workspaces: Iterable[str] = ()) -> Plan[frozenset[str]]:
    """Hold the workspaces that are named, and those of these emails, as far as they have campaigns; which do."""
    rows = yield ask("hold_paces", emails=sorted(set(emails)), workspaces=sorted(set(workspaces)))
    return frozenset(workspace for (workspace,) in rows)


def follow(noted: Sequence[Noted], held: Collection[str]) -> Plan[None]:
    """Draw the conclusions from what was taken down just now; the caller has held these workspaces before."""
    news = [each for each in noted if not each.duplicate]
    if not held or not news:
        return
    mails = yield from mails_mentioned({mention.id for each in news for mention in each.note.mentions})
    for each in news:
        mail = mail_about(each, mails)
        workspace = mail.workspace if mail else each.workspace
        if workspace is None and each.note.what in _BY_ADDRESS:
            yield from _answered(each, held)
        elif workspace is not None and workspace in held:
            yield from _follow(each, workspace, mail)


# ---------------------------------------------------------------- one return


def _answered(noted: Noted, held: Collection[str]) -> Plan[None]:
    """An answer that names no email of ours is known by who wrote it: programs lose the headers of threads.

    Anybody can write in a prospect's name. What comes of it is that campaigns leave the prospect alone, and no more.
    """
    address, ends = noted.note.address, _BY_ADDRESS[Return(noted.note.what)]
    for workspace, prospect in sorted((yield from prospects_called([address]))):
        if workspace in held:
            if ends is EnrolmentStatus.UNSUBSCRIBED:
                yield from suppress(_wish_of_author(workspace, address, noted.email_id))
            yield from _end(workspace, prospect, ends, str(ends))
            if ends is EnrolmentStatus.UNSUBSCRIBED:
                yield from forget_covered(workspace, prospect)


def _follow(noted: Noted, workspace: str, mail: MentionedMail | None) -> Plan[None]:
    note = noted.note
    match note.what:
        case Return.REPLIED if mail is not None:
            ended = EnrolmentStatus.REPLIED
            yield from _end(workspace, mail.prospect_id, ended, str(ended), campaign=mail.campaign_id)
        case Return.UNSUBSCRIBED if mail is not None:
            yield from suppress(_wish(mail))
            yield from _end(workspace, mail.prospect_id, EnrolmentStatus.UNSUBSCRIBED, str(Return.UNSUBSCRIBED))
            yield from forget_covered(workspace, mail.prospect_id)
        case Return.REPLIED | Return.UNSUBSCRIBED:
            yield from _answered(noted, (workspace,))
        case Return.AUTORESPONDED if note.until is not None:
            prospect = yield from _prospect(workspace, noted, mail)
            yield from _leave_alone(workspace, prospect, note.until)
        case Return.BOUNCED if noted.suppressed or (yield from _suppressed_late(noted, mail)):
            said = " ".join(str(part) for part in (note.code, note.status) if part)
            reason = f"{Return.BOUNCED}: {said}" if said else str(Return.BOUNCED)
            yield from _ended_for_good(noted, workspace, mail, EnrolmentStatus.BOUNCED, reason)
        case Return.COMPLAINED if noted.suppressed or (yield from _suppressed_late(noted, mail)):
            yield from _ended_for_good(noted, workspace, mail, EnrolmentStatus.COMPLAINED, str(Return.COMPLAINED))
        case _:
            pass


def _wish(mail: MentionedMail) -> list[Stop]:
    """That whom a mail was for wants to be left alone; nothing, where no list can hold the address."""
    try:
        return [
            Stop(
                address=mail.address,
                reason=SuppressionReason.UNSUBSCRIBE,
                scope=SuppressionScope.WORKSPACE,
                workspace=mail.workspace,
                evidence="asked for it in an answer",
                email_id=mail.id,
            )
        ]
    except InvalidEmail:
        return []


def _wish_of_author(workspace: str, address: str, email_id: EmailId | None) -> list[Stop]:
    """The same by the word of a message alone: of campaigns, and of no other mail."""
    try:
        return [
            Stop(
                address=address,
                reason=SuppressionReason.UNSUBSCRIBE,
                scope=SuppressionScope.KIND,
                workspace=workspace,
                kind=KIND,
                evidence="asked for it in a message that answers no mail of a campaign",
                email_id=email_id,
            )
        ]
    except InvalidEmail:
        return []


def _ended_for_good(
    noted: Noted, workspace: str, mail: MentionedMail | None, ends: EnrolmentStatus, reason: str
) -> Plan[None]:
    """The person who has this address now is mailed no more; the mail counts whoever that is."""
    address = noted.note.address if noted.suppressed or mail is None else mail.address
    found = yield from find_prospect(workspace, address)
    if found is not None:
        yield from _end(workspace, found.id, ends, reason)
        yield from forget_covered(workspace, found.id)
    if mail is not None:
        yield from _count(mail, Return(noted.note.what), refused=noted.note.source == SESSION)


def _count(mail: MentionedMail, what: Return, *, refused: bool) -> Plan[None]:
    """Towards the limits of its campaign, once for each mail.

    One that was refused in the session is never counted as sent, and so is counted among the sent here: else a campaign
    of which everything is refused would never have sent enough to be judged.
    """
    bounced, complained = what is Return.BOUNCED, what is Return.COMPLAINED
    rows = yield ask("note_returned", id=mail.id, bounced=bounced, complained=complained, refused=refused)
    for (left_at,) in rows:
        yield from count_mail_of(
            mail.workspace,
            mail.campaign_id,
            left_at=moment(left_at),
            sent=int(refused),
            bounced=int(bounced),
            complained=int(complained),
        )


def _suppressed_late(noted: Noted, mail: MentionedMail | None) -> Plan[bool]:
    """Whether a return about an email that is not kept any more has the consequence it would have had with it.

    Who keeps no sent emails learns of bounces all the same: the mail of the campaign stays, and knows whom it was for.
    """
    if mail is None or noted.workspace is not None:
        return False
    note = noted.note
    named = {normal_address(each) for each in (note.address, *note.aliases) if each}
    signed = any(mention.signed and mention.id == mail.id for mention in note.mentions)
    stop = stop_after(
        Matched(
            what=Return(note.what),
            email_id=mail.id,
            workspace=mail.workspace,
            address=mail.address,
            certain=mail.address in named or (signed and not named),
            objected=note.objected,
            bounce_class=note.bounce_class,
            status=note.status,
            code=note.code,
        )
    )
    if stop is not None:
        yield from suppress([stop])
    return stop is not None


def _prospect(workspace: str, noted: Noted, mail: MentionedMail | None) -> Plan[str | None]:
    """Who is away: whom the mail was for, from whatever address they write; or whom another email of ours was for.

    By nobody else's word: whoever has one email of ours could put others off for a year in their name.
    """
    if mail is not None:
        return mail.prospect_id
    found = (yield from find_prospect(workspace, noted.note.address)) if noted.certain else None
    return found.id if found else None


def _end(
    workspace: str, prospect: str, ends: EnrolmentStatus, reason: str, *, campaign: str | None = None
) -> Plan[None]:
    yield from ring(workspace)
    yield from stop_enrolments(workspace, reason, prospect=prospect, campaign=campaign, ends=ends)


def _leave_alone(workspace: str, prospect: str | None, until: date) -> Plan[None]:
    """Until that day begins on the clock of the workspace; what waits for another attempt is not held."""
    settings = (yield from workspace_settings(workspace)).sending
    back = datetime.combine(until, time.min, tzinfo=settings.zone)
    if prospect is None or back <= (yield from store_clock()):
        return
    yield ask(
        "set_aside_until",
        workspace=workspace,
        prospect=prospect,
        until=back,
        reason=f"{WaitReason.AWAY}: back on {until.isoformat()}",
        paused=PAUSED,
    )
