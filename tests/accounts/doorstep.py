"""Somebody at the door: knocks, reads mail, types codes."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from postroom import AsyncOutbox
from postroom.accounts.answers import Entered, Half, Knock, Refused, Withheld, WrongCode
from postroom.accounts.audit import read_audit
from postroom.accounts.chance import new_token
from postroom.accounts.code_email import CODE_KIND
from postroom.accounts.door import DoorKeeper
from postroom.accounts.guessing import Caller
from postroom.accounts.steps import first_step
from tests.sealing.mailbox import letter_in_box

PASSWORD = "correct horse battery staple"
NAME = "ada@example.org"
HERE = "192.0.2.7"


class Doorstep:
    """Everything Ada, or somebody who pretends to be her, can do, from anywhere."""

    def __init__(self, outbox: AsyncOutbox, keeper: DoorKeeper, *, kept: str) -> None:
        self.outbox = outbox
        self.keeper = keeper
        self._kept = kept

    async def knock(
        self, name: str = NAME, password: str = PASSWORD, *, address: str = HERE, code: str = ""
    ) -> tuple[str, Half | Entered] | Refused | Withheld:
        """With the password really checked."""
        return await self.keeper.knock(name, password, address=address, code=code)

    async def begin(self, *, address: str = HERE) -> str:
        """The first step, done right; the token of the half session. The password is taken as checked."""
        token = new_token()
        answer = await self._step(NAME, right=True, token=token, address=address)
        assert isinstance(answer, Half), answer
        return token

    async def fail(self, name: str = NAME, *, address: str = HERE) -> Refused | Withheld:
        """A wrong password, taken as checked."""
        answer = await self._step(name, right=False, address=address)
        assert isinstance(answer, Refused | Withheld)
        return answer

    async def try_right(self, *, address: str = HERE, code: str = "", mail: bool = False) -> Any:
        """A right password, taken as checked, whatever comes of it; also what is done after the answer."""
        answer = await self._step(NAME, right=True, address=address, code=code, mail=mail)
        if isinstance(answer, Withheld):
            await self.keeper.follow_up(NAME, answer, address=address)
        return answer

    async def enter(self, token: str, code: str, *, address: str = HERE) -> tuple[str, Entered] | WrongCode | Refused:
        return await self.keeper.enter(token, code, address=address)

    async def resend(self, token: str, *, address: str = HERE) -> timedelta | None:
        return await self.keeper.resend(token, address=address)

    async def sign_in(self, *, address: str = HERE) -> str:
        """Both steps; the token of the session."""
        return await self.sign_in_with(await self.begin(address=address), await self.newest_code(), address=address)

    async def sign_in_with(self, half: str, code: str, *, address: str = HERE) -> str:
        """The second step; the token of the session."""
        answer = await self.enter(half, code, address=address)
        assert isinstance(answer, tuple), answer
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
        page = await self.outbox.database.run(read_audit(limit=10_000), writes=False)
        return [entry.what for entry in reversed(page.entries)]

    async def _step(
        self, name: str, *, right: bool, address: str, token: str | None = None, code: str = "", mail: bool = False
    ) -> Any:
        knock = Knock(
            caller=Caller(name=name, address=address, key=await self.keeper.key()),
            kept=self._kept,
            right=right,
            token=token or new_token(),
            code=code,
            mail=mail,
        )
        return await self.outbox.database.run(first_step(knock, self.keeper._posting(address)))


def wrong(code: str) -> str:
    """Another code."""
    return f"{(int(code) + 1) % 1_000_000:06d}"


def elsewhere(number: int) -> str:
    """An address that nobody has signed in from."""
    return f"203.{number // 65536}.{number // 256 % 256}.{number % 256}"
