"""Somebody at the door: knocks, reads mail, types codes."""

from __future__ import annotations

import re
from datetime import timedelta

from postroom import AsyncOutbox
from postroom.accounts.audit import read_audit
from postroom.accounts.chance import new_token
from postroom.accounts.code_email import CODE_KIND
from postroom.accounts.door import DoorKeeper
from postroom.accounts.steps import Entered, Half, Refused, WrongCode, first_step
from tests.sealing.mailbox import letter_in_box

PASSWORD = "correct horse battery staple"
NAME = "ada@example.org"
HERE = "192.0.2.7"


class Doorstep:
    """Everything Ada, or somebody who pretends to be her, can do."""

    def __init__(self, outbox: AsyncOutbox, keeper: DoorKeeper, *, kept: str) -> None:
        self.outbox = outbox
        self.keeper = keeper
        self._kept = kept

    async def knock(self, name: str = NAME, password: str = PASSWORD) -> tuple[str, Half] | Refused:
        """With the password really checked."""
        return await self.keeper.knock(name, password, address=HERE)

    async def begin(self) -> str:
        """The first step, done right; the token of the half session. The password is taken as checked."""
        token = new_token()
        answer = await self._step(NAME, kept=self._kept, right=True, token=token)
        assert isinstance(answer, Half)
        return token

    async def fail(self, name: str = NAME) -> Refused:
        """A wrong password, taken as checked."""
        answer = await self._step(name, kept=self._kept, right=False, token=new_token())
        assert isinstance(answer, Refused)
        return answer

    async def try_right(self) -> Half | Refused:
        """A right password, taken as checked, whatever comes of it."""
        return await self._step(NAME, kept=self._kept, right=True, token=new_token())

    async def enter(self, token: str, code: str) -> tuple[str, Entered] | WrongCode | Refused:
        return await self.keeper.enter(token, code, address=HERE)

    async def resend(self, token: str) -> timedelta | None:
        return await self.keeper.resend(token, address=HERE)

    async def sign_in(self) -> str:
        """Both steps; the token of the session."""
        return await self.sign_in_with(await self.begin(), await self.newest_code())

    async def sign_in_with(self, half: str, code: str) -> str:
        """The second step; the token of the session."""
        answer = await self.enter(half, code)
        assert isinstance(answer, tuple)
        return answer[0]

    async def newest_code(self) -> str:
        """From the mailbox."""
        return (await self.codes())[0]

    async def codes(self) -> list[str]:
        """All that were mailed, newest first."""
        page = await self.outbox.list(kind=CODE_KIND)
        reading = [letter_in_box(email.id, self.outbox.rules.keyring) for email in page.emails]
        texts = [(await self.outbox.database.run(each, writes=False)).text or "" for each in reading]
        return [re.findall(r"\b\d{6}\b", text)[0] for text in texts]

    async def audited(self) -> list[str]:
        """What was written to the audit log, oldest first."""
        page = await self.outbox.database.run(read_audit(), writes=False)
        return [entry.what for entry in reversed(page.entries)]

    async def _step(self, name: str, *, kept: str, right: bool, token: str) -> Half | Refused:
        post = self.keeper._post(name, HERE) if right else None
        key = await self.keeper.key()
        plan = first_step(name, kept=kept, right=right, token=token, post=post, key=key, address=HERE)
        return await self.outbox.database.run(plan)


def wrong(code: str) -> str:
    """Another code."""
    return f"{(int(code) + 1) % 1_000_000:06d}"
