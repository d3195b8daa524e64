"""The way out for webhooks. It has no address of its own: each webhook names the URL it goes to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from postroom.send.contract import Reply, Report
from postroom.send.http.call import LONGEST_TEXT, Answer, Call
from postroom.send.http.exchange import Forbidden
from postroom.send.http.guard import Guard
from postroom.send.http.limits import Limits
from postroom.send.http.resolving import Resolve, resolve
from postroom.send.http.transport import HttpTransport, plain_reply
from postroom.send.webhook.delivery import Delivery
from postroom.send.webhook.signing import read_secrets, signed_headers

CONNECTIONS = 16

_NOT_FOLLOWED = "Redirects are not followed; enqueue the URL that it leads to."


class WebhookTransport(HttpTransport[Delivery]):
    """Signs and sends webhooks. Redirects are not followed: where they lead was not what was enqueued."""

    def __init__(
        self,
        *,
        secrets: Sequence[str] = (),
        secrets_for: Mapping[str, Sequence[str]] | None = None,
        allow: Sequence[str] = (),
        connections: int = CONNECTIONS,
        rate: str | None = None,
        limits: Limits | None = None,
        ca: str | None = None,
        resolve: Resolve = resolve,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`secrets` sign, all of them; `secrets_for` a URL sign in their place what goes there.

        `allow` names networks of one's own that may be reached.
        """
        super().__init__(name="webhooks", connections=connections, rate=rate, limits=limits or Limits(), ca=ca)
        self._signers = read_secrets(secrets)
        self._signers_for = {url: read_secrets(own) for url, own in (secrets_for or {}).items()}
        self._guard = Guard(allow)
        self._resolve = resolve
        self._clock = clock

    async def probe(self) -> Report:
        """There is nobody to ask: every webhook goes somewhere else."""
        return Report(recipients=(), capabilities_known=True)

    def _call(self, payload: Delivery) -> Call:
        """Signed anew at each attempt, for receivers refuse what was signed long ago."""
        signers = self._signers_for.get(payload.url, self._signers)
        signed = signed_headers(signers, id=payload.id, timestamp=int(self._clock()), body=payload.body)
        headers = (("Content-Type", "application/json"), *signed, *payload.headers)
        return Call.to(payload.url, method="POST", headers=headers, body=payload.body)

    def _reply(self, answer: Answer, retry_after: float | None) -> Reply:
        reply = plain_reply(answer, retry_after)
        if 300 <= reply.code < 400:
            return replace(reply, text=f"{_NOT_FOLLOWED} {reply.text}"[:LONGEST_TEXT])
        return reply

    async def _find(self, host: str, port: int) -> list[str]:
        addresses = await self._resolve(host, port)
        for address in addresses:
            if (what := self._guard.objection(address)) is not None:
                raise Forbidden(
                    f"{host} leads to {address}, which is {what}; if webhooks may go there, "
                    "add its network to allow under [webhooks] and retry"
                )
        return addresses
