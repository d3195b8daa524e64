"""Emails whose words are rendered when they are first attempted: between the claim and the buffer.

What holds at every moment: words are in the store before anything of them leaves. So whoever dies over an email leaves
it either as it was, to be rendered anew, or with its words, which every later attempt sends octet by octet.

A template that fails is its own email's death and nobody else's. A portal that this process does not know is nobody's:
the email waits for somebody who does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from postroom.claim.failpoint import reach
from postroom.compose import Edition, Letter, Limits
from postroom.compose.late import Render, Words, is_late
from postroom.errors import ConfigurationError, InvalidEmail, StoreUnavailable, UnreadableEmail
from postroom.logs import logger
from postroom.sealing import Opened, is_apart, opened, put_apart
from postroom.store.contents import Content
from postroom.store.contract import Claim, Claimed, Settlement
from postroom.store.open import AsyncDatabase
from postroom.store.unreadable import GONE
from postroom.store.wording import Worded, put_words
from postroom.vocabulary import EmailId
from postroom.work.loading import AWAY, Loading
from postroom.work.lost_commits import came_back
from postroom.work.parcel import invalid
from postroom.work.records import Records

if TYPE_CHECKING:
    from postroom.templates.portal import Portal

AT_ONCE = 50
"""Emails that are rendered and stored together: enough to make the transaction cheap, few enough to be soon on the
wire."""
NOT_HERE = 60.0
"""Seconds for which an email is left alone that cannot be rendered here."""


def renderer(portals: tuple[str, ...]) -> Render:
    """Fills in templates of the portals at these places. They, and what renders, are imported when first needed.

    What this process lacks, a package or a file, is a `ConfigurationError` and no email's fault.
    """

    def render(edition: Edition, context: str) -> Words:
        try:
            from postroom.templates.late import words_of

            return words_of(edition, context, _loaded(portals))
        except (ImportError, OSError) as error:
            raise ConfigurationError(f"templates cannot be rendered here ({type(error).__name__})") from error

    return render


def _loaded(portals: tuple[str, ...]) -> Mapping[str, Portal]:
    from postroom.templates.found import find_portals

    try:
        return find_portals(portals)
    except (ConfigurationError, ImportError, OSError):
        raise
    except Exception as error:
        raise ConfigurationError(f"setting portals: they cannot be loaded ({type(error).__name__})") from error


KNOWS_NO_PORTAL = renderer(())


class Rendering:
    """Gives emails their words on the way into a buffer."""

    def __init__(
        self, database: AsyncDatabase, *, records: Records, loading: Loading, render: Render, limits: Limits
    ) -> None:
        self.closing = False
        """No more is begun."""
        self._database = database
        self._records = records
        self._held = records.held
        self._loading = loading
        self._keyring = loading.keyring
        self._render = render
        # Whom it is for was checked when it was enqueued, and is named in no error here.
        self._limits = replace(limits, dotless_domains=True)
        self._told: dict[str, float] = {}
        """When it was said last, on the monotonic clock, why emails wait."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="postroom-rendering")

    async def hand_over(self, emails: Sequence[Claimed], ready: Callable[[Sequence[Claimed]], None]) -> None:
        """Call `ready` with these emails: at once with those that have their words, with the others bit by bit.

        What cannot be rendered is settled, or put off, and is not handed over.
        """
        late = [email for email in emails if is_late(email.envelope) and not self._was_accepted(email)]
        if not late:
            ready(emails)
            return
        waiting = {email.id for email in late}
        if others := [email for email in emails if email.id not in waiting]:
            ready(others)
        for some in _batches(late):
            if self.closing:
                await self._held.give_back(email.claim for email in some)
            elif rendered := await self._rendered(some):
                ready(rendered)

    def close(self) -> None:
        self._thread.shutdown(wait=False)

    def _was_accepted(self, email: Claimed) -> bool:
        """Whether it was sent, and the database has forgotten that: packing finds out, and needs no words for it."""
        known = self._records.journal.accepted(email.id)
        return known is not None and came_back(email, known) is not None

    async def _rendered(self, emails: Sequence[Claimed]) -> list[Claimed]:
        """Those of these that have their words now."""
        content = None
        if emails[0].unloaded:
            try:
                content = await self._loading.read(emails[0])
            except Exception as error:  # noqa: BLE001  it is about this email alone
                await self._settle_failed([(emails[0], error)])
                return []
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._thread, lambda: [self._worded(each, content) for each in emails])
        await self._settle_failed(zip(emails, found, strict=True))
        worded = [each for each in found if isinstance(each, Worded)]
        reach("rendered")
        placed = await self._placed(worded) if worded else set()
        reach("words_placed")
        return [_with_words(each) for each in worded if each.claimed.id in placed]

    def _worded(self, email: Claimed, content: Content | None) -> Worded | Exception:
        try:
            letter = self._opened(email, content or email)
            if letter.edition is None or letter.late is None:
                raise UnreadableEmail(email.id, GONE)
            after = letter.rendered(self._render(letter.edition, letter.late))
            frozen = after.freeze_within(self._limits)
            if is_apart(email.envelope):
                frozen = put_apart(frozen, id=email.id, keyring=self._keyring, version=email.version)
            return Worded(claimed=email, letter=frozen, was=letter.edition, edition=after.edition or letter.edition)
        except Exception as error:  # noqa: BLE001  whatever it is, it is about this email alone
            return error

    def _opened(self, email: Claimed, content: Claimed | Content) -> Letter:
        """The letter as it was enqueued, with its context."""
        outside: Claimed | Opened = email
        source: Claimed | Content | Opened = content
        if is_apart(email.envelope):
            outside = source = opened(
                content.attachments, id=email.id, version=email.version, keyring=self._keyring, envelope=email.envelope
            )
        context = source.text.decode() if isinstance(source.text, bytes) else source.text
        return Letter.thaw(
            subject="",
            message_id=email.message_id,
            envelope=outside.envelope,
            text=context,
            html=None,
            attachments=source.attachments,
        )

    async def _settle_failed(self, found: Iterable[tuple[Claimed, Worded | Exception]]) -> None:
        """What comes of emails that could not be rendered: dead of their template, or left to somebody else."""
        waiting: dict[str, list[Claim]] = {}
        for email, error in found:
            if isinstance(error, ConfigurationError | StoreUnavailable):
                waiting.setdefault(str(error), []).append(email.claim)
            elif isinstance(error, Exception):
                logger.error("email cannot be rendered", email_id=email.id, kind=email.kind, error=type(error).__name__)
                self._records.hand_on(_unrendered(email, error))
        for reason, claims in waiting.items():
            self._tell_of_wait(reason)
            await self._held.put_off(claims, seconds=NOT_HERE, reason=reason)

    def _tell_of_wait(self, reason: str) -> None:
        """Once in a while: it may be about a hundred thousand of them."""
        now = time.monotonic()
        if now - self._told.get(reason, -NOT_HERE) >= NOT_HERE:
            self._told[reason] = now
            logger.warning("emails wait for somebody who can render them", reason=reason)

    async def _placed(self, worded: list[Worded]) -> set[EmailId]:
        """Store words; the emails that have theirs. While the database is away, it is tried as long as leases last."""
        while not self.closing and self._held.has_time_left(worded[0].claimed.claim):
            try:
                placed = await self._database.run(put_words(worded))
            except StoreUnavailable as error:
                logger.warning("rendered words wait for the database", emails=len(worded), error=str(error))
                await self._database.refresh()
                await asyncio.sleep(AWAY)
            except Exception as error:  # noqa: BLE001  one of them may be the cause, and the others are not to blame
                return await self._one_by_one(worded, error)
            else:
                self._let_go(each.claimed for each in worded if each.claimed.id not in placed)
                return placed
        await self._held.give_back(each.claimed.claim for each in worded)
        return set()

    def _let_go(self, lost: Iterable[Claimed]) -> None:
        """Somebody else has these."""
        for email in lost:
            self._held.let_go(email.claim)

    async def _one_by_one(self, worded: list[Worded], error: Exception) -> set[EmailId]:
        if len(worded) > 1:
            return {id for each in worded for id in await self._placed([each])}
        reason = f"its words could not be stored ({type(error).__name__})"
        logger.error("rendered words cannot be stored", email_id=worded[0].claimed.id, error=type(error).__name__)
        await self._held.put_off([worded[0].claimed.claim], seconds=NOT_HERE, reason=reason)
        return set()


def _batches(emails: Sequence[Claimed]) -> Iterator[Sequence[Claimed]]:
    """A few at a time; a large one, whose content is still in the store, alone."""
    small = [email for email in emails if not email.unloaded]
    for start in range(0, len(small), AT_ONCE):
        yield small[start : start + AT_ONCE]
    yield from ([email] for email in emails if email.unloaded)


def _with_words(worded: Worded) -> Claimed:
    """The email as a claim would bring it from now on."""
    letter, large = worded.letter, worded.claimed.unloaded
    return replace(
        worded.claimed,
        subject=letter.subject,
        envelope=letter.envelope,
        text=None if large else letter.text,
        html=None if large else letter.html,
        attachments={} if large else dict(letter.attachments),
        unloaded=letter.size if large else 0,
    )


def _unrendered(email: Claimed, error: Exception) -> Settlement:
    """Dead at once. A template's own sentence names template and variable, and no value."""
    settled = invalid(email, error)
    if isinstance(error, InvalidEmail):
        return replace(settled, last_error=f"the email could not be rendered: {error}")
    return settled
