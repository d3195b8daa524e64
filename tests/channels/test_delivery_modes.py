"""Webhooks and text messages under a delivery mode: captured, for neither has a domain of recipients to tell by."""

from __future__ import annotations

import pytest

from postroom import Sms, Status, Webhook
from postroom.testing import ScriptedHttp
from tests.channels.house import House


@pytest.mark.parametrize("mode", ["capture", "redirect:dev@example.org", "only:example.org"])
async def test_webhooks_and_text_messages_are_captured_under_every_mode(
    house: House, receiver: ScriptedHttp, gateway: ScriptedHttp, mode: str
) -> None:
    house.settings = house.settings.model_copy(update={"delivery": mode})
    ids = [
        house.outbox.enqueue(Webhook(url=f"{receiver.url}/orders", event="order.paid", data={"id": 7})).id,
        house.outbox.enqueue(Sms(to="+4915112345678", text="Your code is 123456")).id,
    ]
    await house.work()

    for id in ids:
        stored = house.outbox.get(id)
        assert stored.status is Status.SENT
        assert stored.reply is not None
        assert "captured: not delivered" in stored.reply["text"]
    assert (receiver.requests, gateway.requests) == ([], [])
