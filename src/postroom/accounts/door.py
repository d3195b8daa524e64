"""The door of the web app: carries the steps of a sign-in out on an `AsyncOutbox`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from postroom.accounts import rules
from postroom.accounts.accounts import find_person, typed_name
from postroom.accounts.audit import read_audit, write_audit
from postroom.accounts.chance import new_code, new_token, typed_code
from postroom.accounts.code_email import CODE_KIND, LOCKED_KIND, CodeEmail, LockedLetter
from postroom.accounts.passwords import Checker
from postroom.accounts.secret import secret_key
from postroom.accounts.sessions import end_session, find_session
from postroom.accounts.steps import Entered, Half, Post, Refused, WrongCode, another_code, first_step, second_step
from postroom.accounts.tokens import find_token
from postroom.accounts.values import AuditPage, Session, Stage, Token
from postroom.outbox import AsyncOutbox
from postroom.outbox.submission import Submission
from postroom.store.plan import Plan

T = TypeVar("T")


class DoorKeeper:
    """Lets people in, and tells who is in. One for each app."""

    def __init__(self, outbox: AsyncOutbox, *, code: Callable[[], str] = new_code) -> None:
        self._outbox = outbox
        self._code = code
        self._passwords = Checker()
        self._key: bytes | None = None

    async def key(self) -> bytes:
        """The key of keyed hashes; asked for once."""
        if self._key is None:
            self._key = await self._outbox.database.run(secret_key(self._outbox.settings))
            await self._passwords.warm_up()
        return self._key

    async def knock(self, name: str, password: str, *, address: str) -> tuple[str, Half] | Refused:
        """The first step: a name and a password. A token for the second step, and a code on its way; or nothing.

        The answer, and the time it takes, is the same for a name nobody has, a wrong password and a locked door.
        """
        name, token, key = typed_name(name), new_token(), await self.key()
        account = await self._ask(find_person(name))
        kept = account.password if account else None
        right = await self._passwords.is_right(kept, password)
        # Only for a right password: composing an email takes time, and an address that exists.
        post = self._post(account.person.name, address) if account and right else None
        step = first_step(name, kept=kept, right=right, token=token, post=post, key=key, address=address)
        answer = await self._do(step)
        return answer if isinstance(answer, Refused) else (token, answer)

    async def resend(self, token: str, *, address: str) -> timedelta | None:
        """Another code for a sign-in that was begun; how long to wait for it, or None when there is no such sign-in."""
        session = await self.session(token)
        if session is None or session.stage is not Stage.HALF:
            return None
        post = self._post(session.person.name, address)
        return await self._do(another_code(session, token, post, key=await self.key(), address=address))

    async def enter(self, token: str, code: str, *, address: str) -> tuple[str, Entered] | WrongCode | Refused:
        """The second step: the code. The token of a session, another one than that of the first step."""
        session = await self.session(token)
        if session is None or session.stage is not Stage.HALF:
            return Refused()
        fresh = new_token()
        step = second_step(session, token, fresh, typed_code(code), key=await self.key(), address=address)
        answer = await self._do(step)
        return (fresh, answer) if isinstance(answer, Entered) else answer

    async def tell_locked_out(self, refused: Refused, *, address: str) -> None:
        """The notice by email. After the answer, so that the answer does not take longer for names that exist."""
        if refused.locked_out is None or refused.until is None:
            return
        letter = LockedLetter(to=refused.locked_out.name, until=refused.until, address=address)
        await self._outbox.enqueue(letter.email(), priority="urgent", kind=LOCKED_KIND)

    async def leave(self, token: str, *, address: str) -> None:
        """Sign out."""
        session = await self.session(token)
        await self._do(end_session(token))
        if session is not None and session.stage is Stage.FULL:
            await self.note(session.person.name, "sign_out", address=address)

    async def session(self, token: str) -> Session | None:
        return await self._ask(find_session(token))

    async def token(self, token: str) -> Token | None:
        return await self._ask(find_token(token))

    async def note(self, actor: str, what: str, *, address: str, **detail: object) -> None:
        """A line in the audit log."""
        await self._do(write_audit(actor, what, address=address, **detail))

    async def audit(
        self, *, actor: str | None = None, what: str | None = None, before: int | None = None, limit: int = 100
    ) -> AuditPage:
        """A page of the audit log, newest first."""
        return await self._ask(read_audit(actor=actor, what=what, before=before, limit=limit))

    def _post(self, name: str, address: str) -> Post:
        code = self._code()
        letter = CodeEmail(to=name, code=code, minutes=rules.CODE_LIFE.seconds // 60, address=address)
        now = self._now()
        return Post(
            code=code,
            order=self._outbox.rules.order(
                Submission.of(
                    letter.email(),
                    priority="urgent",
                    sensitive=True,
                    expires_at=now + rules.CODE_LIFE,
                    kind=CODE_KIND,
                ),
                now=now,
            ),
        )

    def _now(self) -> datetime:
        clock = self._outbox.clock
        return (clock() if clock else None) or datetime.now(UTC)

    async def _do(self, plan: Plan[T]) -> T:
        return await self._outbox.database.run(plan)

    async def _ask(self, plan: Plan[T]) -> T:
        return await self._outbox.database.run(plan, writes=False)
