"""Which mail of a campaign something that came back is about. It is known when its email has long been deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from postroom.store.matching import same_message_id
from postroom.store.plan import Plan, ask
from postroom.store.returns import Noted
from postroom.store.suppressions import normal_address
from postroom.vocabulary import EmailId


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionedMail:
    """A mail that something may be about."""

    id: EmailId
    workspace: str
    campaign_id: str
    prospect_id: str
    address: str
    """Of the prospect, as it is now and as addresses are compared."""
    message_id: str
    """As it is compared; empty before it has left."""


def mails_mentioned(ids: Iterable[EmailId]) -> Plan[dict[EmailId, MentionedMail]]:
    """Those of these emails that are mail of a campaign."""
    rows = yield ask("mails_that_are", ids=sorted(ids))
    return {
        EmailId(id): MentionedMail(
            id=EmailId(id),
            workspace=workspace,
            campaign_id=campaign,
            prospect_id=prospect,
            address=address,
            message_id=same_message_id(message_id or ""),
        )
        for id, workspace, campaign, prospect, address, message_id in rows
    }


def prospects_called(addresses: Iterable[str]) -> Plan[list[tuple[str, str]]]:
    """Who has these addresses, in every workspace: its name, and the prospect's id."""
    wanted = [{"address": normal_address(each), "workspace": None} for each in sorted(set(addresses)) if each]
    rows = (yield ask("prospects_at", wanted=wanted)) if wanted else []
    return [(workspace, id) for workspace, id, _ in rows]


def mail_about(noted: Noted, mails: Mapping[EmailId, MentionedMail]) -> MentionedMail | None:
    """The mail it is about; a mention is believed as that of an email is, signed or by its Message-ID."""
    if noted.email_id is not None:
        return mails.get(noted.email_id)
    for mention in noted.note.mentions:
        mail, named = mails.get(mention.id), same_message_id(mention.message_id)
        if mail is not None and (mention.signed or (named and named == mail.message_id)):
            return mail
    return None
