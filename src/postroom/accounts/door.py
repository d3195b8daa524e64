"""The door of the web app: carries the steps of a sign-in out on an `AsyncOutbox`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from postroom.accounts import rules
from postroom.accounts.accounts import find_person
from postroom.accounts.answers import Entered, Half, Knock, Post, Posting, Refused, Withheld, WrongCode
from postroom.accounts.audit import read_audit, write_audit
from postroom.accounts.chance import new_code, new_token, typed_code
from postroom.accounts.code_email import CODE_KIND, Tfa, code_email
from postroom.accounts.factors import Factors, factors_of
from postroom.accounts.guessing import Caller
from postroom.accounts.letters import ACCOUNT_KIND, GUESSING_KIND, ChangeLetter, GuessesLetter
from postroom.accounts.names import typed_name
from postroom.accounts.passwords import Checker
from postroom.accounts.secret import secret_key
from postroom.accounts.sessions import end_session, find_session
from postroom.accounts.steps import after_withheld, another_code, first_step, second_step
from postroom.accounts.tokens import find_token
from postroom.accounts.values import AuditPage, Person, Session, Stage, Token
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

    async def knock(
        self, name: str, password: str, *, address: str, code: str = "", mail: bool = False
    ) -> tuple[str, Half | Entered] | Refused | Withheld:
        """The first step: a name and a password, perhaps with a code at once. A token for what follows; or nothing.

        The answer, and the time it takes, is the same for a name nobody has and for a wrong password, and where the
        verdict is withheld for a right one, too.
        """
        caller, token = await self._caller(typed_name(name), address), new_token()
        account = await self.ask(find_person(caller.name))
        kept = account.password if account else None
        right = await self._passwords.is_right(kept, password)
        knock = Knock(caller=caller, kept=kept, right=right, token=token, code=typed_code(code), mail=mail)
        answer = await self.do(first_step(knock, self._posting(address)))
        return (token, answer) if isinstance(answer, Half | Entered) else answer

    async def resend(self, token: str, *, address: str) -> timedelta | None:
        """Another code for a sign-in that was begun; how long to wait for it, or None when there is no such sign-in."""
        session = await self.session(token)
        if session is None or session.stage is not Stage.HALF:
            return None
        caller = await self._caller(session.person.name, address)
        return await self.do(another_code(session, token, self._posting(address), caller=caller))

    async def enter(self, token: str, code: str, *, address: str) -> tuple[str, Entered] | WrongCode | Refused:
        """The second step: the code. The token of a session, another one than that of the first step."""
        session = await self.session(token)
        if session is None or session.stage is not Stage.HALF:
            return Refused()
        fresh, caller = new_token(), await self._caller(session.person.name, address)
        answer = await self.do(second_step(session, token, fresh, typed_code(code), caller=caller))
        return (fresh, answer) if isinstance(answer, Entered) else answer

    async def follow_up(
        self, name: str, answer: Half | Refused | Withheld | WrongCode | Entered, *, address: str
    ) -> None:
        """What an answer leads to, done after it has left: it must not take longer for names that exist."""
        if isinstance(answer, Entered):
            if answer.by == "recovery code":
                await self.tell_of_change(answer.person, "recovery_code_used", address=address)
            return
        if isinstance(answer, Withheld):
            caller = await self._caller(typed_name(name), address)
            alarm = await self.do(after_withheld(answer, self._posting(address), caller=caller))
        else:
            alarm = answer.alarm
        if alarm is not None:
            letter = GuessesLetter(to=alarm.person.name, about=alarm.about, address=address)
            await self._outbox.enqueue(letter.email(), priority="urgent", kind=GUESSING_KIND)

    async def tell_of_change(self, person: Person, change: str, *, address: str) -> None:
        """By email: how somebody signs in has changed."""
        letter = ChangeLetter(to=person.name, change=change, address=address)
        await self._outbox.enqueue(letter.email(), priority="urgent", kind=ACCOUNT_KIND)

    async def check_password(self, kept: str | None, password: str) -> bool:
        """Whether it is the password that was kept; takes as long when none was."""
        return await self._passwords.is_right(kept, password)

    async def factors(self, person: Person) -> Factors:
        """What somebody has beside the mail."""
        return await self.ask(factors_of(person.id))

    def code_route(self, person: Person) -> str:
        """By which route a code would leave."""
        return self._posting("")(person).order.route

    async def leave(self, token: str, *, address: str) -> None:
        """Sign out."""
        session = await self.session(token)
        await self.do(end_session(token))
        if session is not None and session.stage is Stage.FULL:
            await self.note(session.person.name, "sign_out", address=address)

    async def session(self, token: str) -> Session | None:
        return await self.ask(find_session(token))

    async def token(self, token: str) -> Token | None:
        return await self.ask(find_token(token))

    async def note(self, actor: str, what: str, *, address: str, **detail: object) -> None:
        """A line in the audit log."""
        await self.do(write_audit(actor, what, address=address, **detail))

    async def audit(
        self, *, actor: str | None = None, what: str | None = None, before: int | None = None, limit: int = 100
    ) -> AuditPage:
        """A page of the audit log, newest first."""
        return await self.ask(read_audit(actor=actor, what=what, before=before, limit=limit))

    async def _caller(self, name: str, address: str) -> Caller:
        return Caller(name=name, address=address, key=await self.key())

    def _posting(self, address: str) -> Posting:
        def compose(person: Person) -> Post:
            code, now = self._code(), self._now()
            said = Tfa(code=code, minutes=rules.CODE_LIFE.seconds // 60, address=address)
            submission = Submission.of(
                code_email(said, to=person.name, portals=self._outbox.settings.portals),
                priority="urgent",
                sensitive=True,
                expires_at=now + rules.CODE_LIFE,
                kind=CODE_KIND,
            )
            return Post(code=code, order=self._outbox.rules.order(submission, now=now))

        return compose

    def _now(self) -> datetime:
        clock = self._outbox.clock
        return (clock() if clock else None) or datetime.now(UTC)

    async def do(self, plan: Plan[T]) -> T:
        """Carry a plan out in a transaction of its own."""
        return await self._outbox.database.run(plan)

    async def ask(self, plan: Plan[T]) -> T:
        """The same for one that only looks."""
        return await self._outbox.database.run(plan, writes=False)
