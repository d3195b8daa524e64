"""Both stores, and servers to send to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.testing import ScriptedHttp
from tests.channels.house import House


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def receiver() -> Iterator[ScriptedHttp]:
    """Whom webhooks go to."""
    with ScriptedHttp() as server:
        yield server


@pytest.fixture
def gateway() -> Iterator[ScriptedHttp]:
    """Whom text messages go to."""
    with ScriptedHttp() as server:
        server.script(status=201, body=b'{"sid": "SM0123"}')
        yield server


@pytest.fixture
def house(database_url: str, tmp_path: Path, gateway: ScriptedHttp) -> Iterator[House]:
    house = House(
        database_url,
        tmp_path,
        routes={
            "webhooks": {"transport": "webhook:"},
            "sms": {"transport": f"twilio+http://AC1:secret@127.0.0.1:{gateway.port}?from=%2B15005550006"},
        },
        webhooks={"secrets": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], "allow": ["127.0.0.0/8"]},
        events=[{"url": "http://127.0.0.1:9/own", "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"}],
    )
    yield house
    house.outbox.close()
