"""The way out for text messages: one message is one request that creates it at the gateway.

The gateway knows no key by which it would recognise a second copy of a request. So when the answer is lost, nobody
knows whether the message was taken: it is in doubt, and `on_doubt` says what is done about that.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any
from urllib.parse import urlencode

from postroom.send.contract import Phase, Reply, Report
from postroom.send.http.call import LONGEST_TEXT, Answer, Call
from postroom.send.http.resolving import Resolve, resolve
from postroom.send.http.transport import HttpTransport
from postroom.send.twilio.account import Account
from postroom.send.twilio.message import Message

_NUMBER = re.compile(r"\+?[0-9]{7,15}\b")
_CODE = re.compile(r"[0-9]{1,6}")


class TwilioTransport(HttpTransport[Message]):
    """Creates messages in one account."""

    def __init__(self, account: Account, *, resolve: Resolve = resolve) -> None:
        super().__init__(
            name=account.name,
            connections=account.connections,
            rate=account.rate,
            limits=account.limits,
            ca=account.ca,
        )
        self._account = account
        self._resolve = resolve
        self._place = f"{account.base}/2010-04-01/Accounts/{account.account}"
        credentials = b64encode(f"{account.user}:{account.secret}".encode()).decode()
        self._headers = (("Authorization", f"Basic {credentials}"), ("Accept", "application/json"))

    async def probe(self) -> Report:
        """Ask for the account itself, which sends nothing and tells whether we are welcome."""
        return await self._ask(Call.to(f"{self._place}.json", method="GET", headers=self._headers))

    def _call(self, payload: Message) -> Call:
        name, sender = self._account.sender
        form = urlencode({"To": payload.to, name: sender, "Body": payload.text}).encode()
        headers = (*self._headers, ("Content-Type", "application/x-www-form-urlencoded"))
        return Call.to(f"{self._place}/Messages.json", method="POST", headers=headers, body=form)

    def _reply(self, answer: Answer, retry_after: float | None) -> Reply:
        """The message's id, or the gateway's own code and words; a number in them is somebody's, and is left out."""
        said = _json(answer.body)
        if 200 <= answer.status < 300:
            return Reply(phase=Phase.ANSWER, code=answer.status, text=str(said.get("sid") or answer.reason)[:100])
        code = str(said.get("code") or "")
        words = str(said.get("message") or answer.text)
        return Reply(
            phase=Phase.ANSWER,
            code=answer.status,
            enhanced=code if _CODE.fullmatch(code) else None,
            text=_printable(_NUMBER.sub("(number)", words))[:LONGEST_TEXT],
            retry_after=retry_after,
        )

    async def _find(self, host: str, port: int) -> list[str]:
        return await self._resolve(host, port)


def _json(body: bytes) -> dict[str, Any]:
    """An object, or nothing at all."""
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
