"""Text messages through the gateway."""

from __future__ import annotations

import json
from base64 import b64encode
from urllib.parse import parse_qs

import pytest

from postroom.channels import transport_for
from postroom.errors import ConfigurationError
from postroom.send.contract import FaultKind, Phase
from postroom.send.twilio.message import Message
from postroom.send.twilio.transport import TwilioTransport
from postroom.testing import ScriptedHttp
from postroom.testing.fixtures import http_server

__all__ = ["http_server"]

PHONE = "+4915112345678"


def gateway(server: ScriptedHttp, options: str = "from=%2B15005550006") -> TwilioTransport:
    channel, transport = transport_for(f"twilio+http://AC123:t%2Fken@127.0.0.1:{server.port}?{options}")
    assert (channel.name, isinstance(transport, TwilioTransport)) == ("sms", True)
    return transport  # type: ignore[return-value]


def refusal(code: int, message: str) -> bytes:
    return json.dumps({"code": code, "message": message, "more_info": "…", "status": 400}).encode()


async def test_the_gateway_is_asked_as_it_wants_to_be(http_server: ScriptedHttp) -> None:
    http_server.script(status=201, body=b'{"sid": "SM0123", "status": "queued"}')
    report = await gateway(http_server).send(Message(to=PHONE, text="Grüße & 100 % +"))
    [request] = http_server.requests

    assert report.reply is not None
    assert (report.reply.phase, report.reply.code, report.reply.text) == (Phase.ANSWER, 201, "SM0123")
    assert (request.method, request.target) == ("POST", "/2010-04-01/Accounts/AC123/Messages.json")
    assert request.headers["authorization"] == f"Basic {b64encode(b'AC123:t/ken').decode()}"
    assert parse_qs(request.body.decode()) == {"To": [PHONE], "From": ["+15005550006"], "Body": ["Grüße & 100 % +"]}


async def test_a_messaging_service_and_an_api_key_can_be_named(http_server: ScriptedHttp) -> None:
    await gateway(http_server, "account=AC9&messaging_service=MG7").send(Message(to=PHONE, text="Hi"))
    [request] = http_server.requests

    assert request.target == "/2010-04-01/Accounts/AC9/Messages.json"
    assert parse_qs(request.body.decode()) == {"To": [PHONE], "MessagingServiceSid": ["MG7"], "Body": ["Hi"]}


async def test_a_refusal_keeps_the_gateways_own_code_and_no_number(http_server: ScriptedHttp) -> None:
    http_server.script(status=400, body=refusal(21211, f"The 'To' number {PHONE} is not a valid phone number."))
    report = await gateway(http_server).send(Message(to=PHONE, text="Hi"))

    assert report.reply is not None
    assert str(report.reply) == "400 21211 The 'To' number (number) is not a valid phone number."


async def test_a_probe_asks_for_the_account(http_server: ScriptedHttp) -> None:
    transport = gateway(http_server)
    well = await transport.probe()
    http_server.script(status=401, body=refusal(20003, "Authenticate"))
    unwelcome = await transport.probe()

    assert well.reply is not None
    assert well.reply.code == 200
    assert unwelcome.reply is not None
    assert (unwelcome.reply.code, unwelcome.reply.enhanced) == (401, "20003")
    assert [(each.method, each.target) for each in http_server.requests] == [
        ("GET", "/2010-04-01/Accounts/AC123.json"),
        ("GET", "/2010-04-01/Accounts/AC123.json"),
    ]


async def test_a_lost_answer_is_a_doubt(http_server: ScriptedHttp) -> None:
    http_server.script(reset=True)
    report = await gateway(http_server).send(Message(to=PHONE, text="Hi"))

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind, report.dot_left) == (Phase.ANSWER, FaultKind.CUT, True)


async def test_the_secret_never_shows() -> None:
    _, transport = transport_for("twilio://AC1:geheim@api.twilio.com?from=+15005550006")

    assert transport.name == "api.twilio.com"
    assert "geheim" not in repr(transport._account)  # type: ignore[attr-defined]
    assert transport._account.sender == ("From", "+15005550006")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("twilio://api.twilio.com?from=1", "names no account and secret"),
        ("twilio://AC1:geheim@api.twilio.com", "one of from and messaging_service"),
        ("twilio://AC1:geheim@api.twilio.com?from=1&messaging_service=MG", "one of from and messaging_service"),
        ("twilio://AC1:gehe/im@api.twilio.com?from=1", "percent-encode"),
        ("twilio://AC1:geheim@api.twilio.com?from=1&speed=9", "unknown option 'speed'"),
        ("twilio://AC1:geheim@api.twilio.com?from=1&answer=never", "answer"),
        ("twilio://AC1:geheim@api.twilio.com?from=1&connections=0", "connections"),
        ("twilio://A%2FC:geheim@api.twilio.com?from=1", "no id of letters and digits"),
        ("twilio+http://AC1:geheim@api.twilio.com?from=1", "for tests on this machine"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_secret(url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem) as caught:
        transport_for(url)

    assert "geheim" not in str(caught.value)
    assert "gehe" not in str(caught.value)
