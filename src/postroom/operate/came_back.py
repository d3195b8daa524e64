"""What came back, as people look for it: lists of it, one of it with the message that it was read from.

Who may see some workspaces sees what is about emails of these; the rest, and what nobody knows an email for, is as if
it were not there. The message itself is somebody else's, and it may quote what an email said: of a sensitive email it
is shown to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postroom.campaigns.looking.one_prospect import ReturnedMail, mails_returned
from postroom.errors import PostroomError
from postroom.operate.recognise import email_id, id_in_message_id
from postroom.operate.suppression_rights import may_be_seen
from postroom.operate.values import Workspaces
from postroom.operate.verb import Shell, asks
from postroom.returns.reading import Unclear
from postroom.store.ids import LAST
from postroom.store.kept_returns import (
    emails_returned,
    parts_of_return,
    read_return,
    returns,
    returns_at_address,
    returns_of_email,
)
from postroom.store.notes import Raw, ReturnedEmail, StoredReturn
from postroom.store.plan import Plan
from postroom.store.suppressions import Suppression, normal_address, suppressions_of
from postroom.vocabulary import BounceClass, Return, SuppressionReason, SuppressionScope

KINDS = (*(each.value for each in Return), *(each.value for each in Unclear))
"""What a message may be."""

LOOKED_AT = 1_000
"""Of one address or one email, how much a page goes through that has to look at each."""
MOST_PARTS = 50
"""Recipients of one message that are listed."""


class ReturnNotFound(PostroomError, LookupError):
    """There is no such thing, or it may not be seen."""

    def __init__(self) -> None:
        super().__init__("nothing that came back has this id: it is past its keep, or was never there")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnSearch:
    """What somebody looks for; several narrow together."""

    kind: str | None = None
    """One of `KINDS`."""
    unclear: bool = False
    """Only what a person should look at: what nobody could read, or knows an email for."""
    about: str = ""
    """An address, or an email by its id or Message-ID."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnView:
    """Something that came back, with what it is about and what followed."""

    kept: StoredReturn
    email: ReturnedEmail | None = None
    """None where it is not known, or gone."""
    mail: ReturnedMail | None = None
    """Of a campaign: it is known when its email is gone."""
    entry: Suppression | None = None
    """What keeps mail from the address for this very reason now."""

    @property
    def whom(self) -> str:
        """The address it names, or whom the mail was for; empty where nobody knows."""
        return self.kept.address or (self.mail.address if self.mail else "")

    @property
    def ended(self) -> bool:
        """Whether the campaign has ended for the prospect by this: by nothing that came later, and by no report about
        somebody else."""
        mail, kept = self.mail, self.kept
        if mail is None or mail.enrolment != kept.what or mail.since is None or mail.since < kept.received_at:
            return False
        if kept.what not in (Return.BOUNCED, Return.COMPLAINED):
            return True
        theirs = not kept.address or normal_address(kept.address) == normal_address(mail.address)
        return theirs and kept.bounce_class in (None, BounceClass.PERMANENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnPage:
    """Some of it, the latest first. A page with few, or none, may still have a next one."""

    returns: tuple[ReturnView, ...]
    next: str | None
    """Give it as `before` to go on; None when everything has been looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeReturn:
    """One return with all there is to know about it."""

    view: ReturnView
    raw: Raw | None
    """The message, as far as it is kept and may be shown."""
    secret: bool
    """It is about a sensitive email, so that the message is shown to nobody."""
    others: tuple[StoredReturn, ...]
    """What else was read out of the same message."""


class CameBack(Shell):
    """Questions about what came back."""

    @asks
    def returns(
        self,
        search: ReturnSearch = ReturnSearch(),  # noqa: B008  frozen
        *,
        limit: int = 50,
        before: str | None = None,
        workspaces: Workspaces = None,
    ) -> Plan[ReturnPage]:
        """A page of what came back, the latest first."""
        last = LAST if before is None else email_id(before) or LAST
        found, next = yield from _found(search, limit=limit, before=last, workspaces=workspaces)
        return ReturnPage(returns=tuple((yield from _views(found, workspaces))), next=next)

    @asks
    def returned(self, id: str, *, workspaces: Workspaces = None) -> Plan[WholeReturn]:
        """One return, with its message; `ReturnNotFound` when it is not there, or not to be seen."""
        known = email_id(id)
        found = (yield from read_return(known)) if known else None
        if found is None or not _may_be_seen(found[0], workspaces):
            raise ReturnNotFound
        kept, raw = found
        [view] = yield from _views([kept], workspaces)
        parts = yield from parts_of_return(kept, limit=MOST_PARTS)
        secret = view.email is not None and view.email.sensitive
        return WholeReturn(
            view=view,
            raw=None if secret else raw,
            secret=secret,
            others=tuple(each for each in parts if each.id != kept.id and _may_be_seen(each, workspaces)),
        )


def _may_be_seen(kept: StoredReturn, workspaces: Workspaces) -> bool:
    return workspaces is None or (kept.workspace is not None and kept.workspace in workspaces)


def _found(
    search: ReturnSearch, *, limit: int, before: str, workspaces: Workspaces
) -> Plan[tuple[Sequence[StoredReturn], str | None]]:
    """The next of it, and behind which id to go on."""
    if not search.about:
        found = yield from returns(
            limit=limit + 1, before=before, what=search.kind, unclear=search.unclear, workspaces=workspaces
        )
        return found[:limit], found[limit - 1].id if len(found) > limit else None
    narrowed = search.kind is not None or search.unclear
    looked = LOOKED_AT if narrowed else limit + 1
    at = yield from _about(search.about, limit=looked, before=before, workspaces=workspaces)
    fit = [each for each in at if _fits(each, search)]
    if len(fit) > limit:
        return fit[:limit], fit[limit - 1].id
    return fit, at[-1].id if len(at) == looked else None


def _about(about: str, *, limit: int, before: str, workspaces: Workspaces) -> Plan[list[StoredReturn]]:
    id = email_id(about) or id_in_message_id(about)
    if id is None:
        return (yield from returns_at_address(about, limit=limit, before=before, workspaces=workspaces))
    found = yield from returns_of_email(id, limit=limit, before=before)
    return [each for each in found if _may_be_seen(each, workspaces)]


def _fits(kept: StoredReturn, search: ReturnSearch) -> bool:
    return search.kind in (None, kept.what) and (kept.unclear or not search.unclear)


# ---------------------------------------------------------------- with what it is about


def _views(found: Sequence[StoredReturn], workspaces: Workspaces) -> Plan[list[ReturnView]]:
    ids = {each.email_id for each in found if each.email_id is not None}
    emails = (yield from emails_returned(ids)) if ids else {}
    mails = (yield from mails_returned(ids)) if ids else {}
    entries = yield from _entries(found, workspaces)
    return [
        ReturnView(
            kept=each,
            email=emails.get(each.email_id) if each.email_id else None,
            mail=mails.get(each.email_id) if each.email_id else None,
            entry=_followed(each, entries.get(each.address, ())),
        )
        for each in found
    ]


def _entries(found: Iterable[StoredReturn], workspaces: Workspaces) -> Plan[dict[str, list[Suppression]]]:
    addresses = {each.address for each in found if each.address and _reason(each) is not None}
    known = (yield from suppressions_of(addresses)) if addresses else {}
    return {
        address: [entry for entry in entries if may_be_seen(entry, workspaces)] for address, entries in known.items()
    }


def _followed(kept: StoredReturn, entries: Iterable[Suppression]) -> Suppression | None:
    """The entry that says of the address what this return says; of several, the one that it has led to."""
    reason = _reason(kept)
    saying = [
        entry
        for entry in entries
        if entry.reason is reason and (entry.scope is SuppressionScope.ALL or entry.workspace == kept.workspace)
    ]
    return max(saying, key=lambda entry: (entry.email_id == kept.email_id, entry.id), default=None)


def _reason(kept: StoredReturn) -> SuppressionReason | None:
    """For which it would keep mail from the address, were it believed."""
    match kept.what:
        case Return.BOUNCED if kept.bounce_class is BounceClass.PERMANENT:
            return SuppressionReason.HARD_BOUNCE
        case Return.COMPLAINED:
            return SuppressionReason.COMPLAINT
        case Return.UNSUBSCRIBED:
            return SuppressionReason.UNSUBSCRIBE
        case _:
            return None
