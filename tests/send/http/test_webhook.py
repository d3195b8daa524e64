"""Webhooks as receivers get them: signed, once resolved, never inside."""

from __future__ import annotations

import ssl
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from standardwebhooks import Webhook as Judge
from standardwebhooks import WebhookVerificationError

from postroom.errors import ConfigurationError
from postroom.send.contract import FaultKind, Phase
from postroom.send.http.limits import Limits
from postroom.send.webhook.delivery import Delivery
from postroom.send.webhook.transport import WebhookTransport
from postroom.testing import ScriptedHttp
from postroom.testing.fixtures import http_server
from tests.send.conftest import tls_for

__all__ = ["http_server"]

LIMITS = Limits(connect=20, tls=20, write=20, answer=20, total=60)
HERE = ["127.0.0.0/8"]
OLD, NEW = (f"whsec_{b64encode(bytes([number]) * 32).decode()}" for number in (1, 2))
KEY = Ed25519PrivateKey.generate()
PRIVATE = f"whsk_{b64encode(KEY.private_bytes_raw()).decode()}"


def leading_to(*addresses: str) -> Callable[[str, int], Any]:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


def webhook(url: str, body: bytes = '{"type":"a","data":"é"}'.encode()) -> Delivery:
    return Delivery(url=url, id="msg_0192", body=body, headers=(("X-Thing", "7"),))


async def test_a_judge_accepts_the_signature_of_every_secret(http_server: ScriptedHttp) -> None:
    """While a secret is changed, receivers with the old and the new one both find theirs."""
    await WebhookTransport(secrets=[OLD, NEW], allow=HERE, limits=LIMITS).send(webhook(http_server.url))
    [request] = http_server.requests

    for secret in (OLD, NEW):
        assert Judge(secret).verify(request.body, dict(request.headers)) == {"type": "a", "data": "é"}
    with pytest.raises(WebhookVerificationError):
        Judge(f"whsec_{b64encode(bytes(32)).decode()}").verify(request.body, dict(request.headers))


async def test_a_receiver_with_the_public_key_can_verify(http_server: ScriptedHttp) -> None:
    await WebhookTransport(secrets=[OLD, PRIVATE], allow=HERE, limits=LIMITS).send(webhook(http_server.url))
    [request] = http_server.requests
    version, _, signature = request.headers["webhook-signature"].split(" ")[1].partition(",")
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body

    assert version == "v1a"
    KEY.public_key().verify(b64decode(signature), signed)  # raises where it does not fit


async def test_every_attempt_has_the_same_id_and_body_and_a_time_of_its_own(http_server: ScriptedHttp) -> None:
    times = iter([1_700_000_000.9, 1_700_000_300.1])
    transport = WebhookTransport(secrets=[OLD], allow=HERE, limits=LIMITS, clock=lambda: next(times))
    await transport.send(webhook(http_server.url))
    await transport.send(webhook(http_server.url))
    first, second = http_server.requests

    assert first.headers["webhook-id"] == second.headers["webhook-id"] == "msg_0192"
    assert first.body == second.body
    assert [each.headers["webhook-timestamp"] for each in http_server.requests] == ["1700000000", "1700000300"]
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]


async def test_without_a_secret_nothing_is_signed(http_server: ScriptedHttp) -> None:
    await WebhookTransport(allow=HERE, limits=LIMITS).send(webhook(f"{http_server.url}/hook?a=b%20c"))
    [request] = http_server.requests

    assert "webhook-signature" not in request.headers
    assert (request.method, request.target) == ("POST", "/hook?a=b%20c")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-thing"] == "7"


@pytest.mark.parametrize(
    ("secret", "problem"),
    [
        ("c2VjcmV0", "neither with whsec_ nor with whsk_"),
        ("whsec_!!!!", "not base64"),
        ("whsec_c2VjcmV0", "shorter than 16"),
        (f"whsk_{b64encode(bytes(33)).decode()}", "no ed25519 key"),
    ],
)
def test_a_secret_that_cannot_sign_is_refused_and_not_shown(secret: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem) as caught:
        WebhookTransport(secrets=[OLD, secret])

    assert "secret 2" in str(caught.value)
    assert secret not in str(caught.value)


@pytest.mark.parametrize(
    "addresses",
    [("93.184.215.14", "10.0.0.5"), ("10.0.0.5", "93.184.215.14"), ("::ffff:169.254.169.254",), ("127.0.0.1",)],
)
async def test_a_name_with_any_address_inside_is_not_connected_to(
    http_server: ScriptedHttp, addresses: tuple[str, ...]
) -> None:
    transport = WebhookTransport(limits=LIMITS, resolve=leading_to(*addresses))
    report = await transport.send(webhook(f"http://sly.example:{http_server.port}/"))

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind, report.dot_left) == (Phase.CONNECT, FaultKind.FORBIDDEN, False)
    assert "sly.example leads to" in report.fault.text
    assert "add its network to allow under [webhooks]" in report.fault.text
    assert http_server.connections == 0


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:7f00:1]", "[::1]"]
)
async def test_no_spelling_of_this_machine_is_connected_to(http_server: ScriptedHttp, host: str) -> None:
    report = await WebhookTransport(limits=LIMITS).send(webhook(f"http://{host}:{http_server.port}/"))

    assert report.fault is not None
    assert report.fault.kind in (FaultKind.FORBIDDEN, FaultKind.REFUSED)
    assert http_server.connections == 0


async def test_a_name_that_changes_its_address_is_asked_once(http_server: ScriptedHttp) -> None:
    """What was checked is what is connected to: a second answer of the resolver is never heard."""
    answers = [["127.0.0.1"], ["169.254.169.254"]]

    async def rebinding(host: str, port: int) -> list[str]:
        return answers.pop(0)

    transport = WebhookTransport(allow=HERE, limits=LIMITS, resolve=rebinding)
    report = await transport.send(webhook(f"http://rebinding.example:{http_server.port}/"))

    assert report.reply is not None
    assert answers == [["169.254.169.254"]]
    assert http_server.requests[0].headers["host"] == f"rebinding.example:{http_server.port}"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(http_server: ScriptedHttp, status: int) -> None:
    http_server.script(status=status, headers={"Location": f"{http_server.url}/elsewhere"}, path="/")
    report = await WebhookTransport(allow=HERE, limits=LIMITS).send(webhook(f"{http_server.url}/"))

    assert report.reply is not None
    assert report.reply.code == status
    assert report.reply.text.startswith("Redirects are not followed; enqueue the URL that it leads to.")
    assert [request.target for request in http_server.requests] == ["/"]


async def test_tls_asks_for_the_name_at_the_pinned_address(authority: trustme.CA, ca_file: Path) -> None:
    with ScriptedHttp(tls=tls_for(authority, "hooks.example")) as server:
        transport = WebhookTransport(allow=HERE, limits=LIMITS, ca=str(ca_file), resolve=leading_to("127.0.0.1"))
        right = await transport.send(webhook(f"https://hooks.example:{server.port}/"))
        wrong = await transport.send(webhook(f"https://other.example:{server.port}/"))

    assert right.reply is not None
    assert wrong.fault is not None
    assert (wrong.fault.phase, wrong.fault.kind, wrong.dot_left) == (Phase.TLS, FaultKind.TLS, False)
    assert "other.example" in wrong.fault.text
    assert len(server.requests) == 1


async def test_a_certificate_that_nobody_stands_for_is_refused(server_tls: ssl.SSLContext) -> None:
    with ScriptedHttp(tls=server_tls) as server:
        report = await WebhookTransport(allow=HERE, limits=LIMITS).send(webhook(server.url))

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.TLS, FaultKind.TLS)
    assert server.requests == []


async def test_a_handshake_that_does_not_end_ends_by_its_limit(http_server: ScriptedHttp) -> None:
    http_server.script(at="connect", stall=True)
    limits = Limits(connect=20, tls=0.2, write=20, answer=20, total=60)
    url = f"https://127.0.0.1:{http_server.port}/"
    report = await WebhookTransport(allow=HERE, limits=limits).send(webhook(url))

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind, report.dot_left) == (Phase.TLS, FaultKind.TIMEOUT, False)


async def test_retry_after_is_read_in_both_of_its_forms(http_server: ScriptedHttp) -> None:
    transport = WebhookTransport(allow=HERE, limits=LIMITS)
    waits = []
    for said in ("120", "Wed, 21 Oct 2015 07:28:00 GMT", "soon", "99999999999999"):
        http_server.script(status=429, headers={"Retry-After": said}, times=1)
        report = await transport.send(webhook(http_server.url))
        assert report.reply is not None
        waits.append(report.reply.retry_after)

    assert waits == [120.0, 0.0, None, 999999999.0]
