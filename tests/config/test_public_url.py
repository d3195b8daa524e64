"""Where links lead: an address that people's mailboxes can press, and that needs no escaping anywhere."""

from __future__ import annotations

import pytest

from postroom import config
from postroom.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("https://mail.example.org", "https://mail.example.org"),
        ("https://mail.example.org/", "https://mail.example.org"),
        ("https://mail.example.org:8443/post/room/", "https://mail.example.org:8443/post/room"),
        ("https://[2001:db8::1]/m", "https://[2001:db8::1]/m"),
        ("http://localhost:8090", "http://localhost:8090"),
        ("http://127.0.0.1:8090", "http://127.0.0.1:8090"),
        ("http://[::1]:8090", "http://[::1]:8090"),
        ("", ""),
    ],
)
def test_an_address_is_taken_without_the_slash_behind_it(given: str, meant: str) -> None:
    assert config.load(public_url=given).public_url == meant


@pytest.mark.parametrize(
    "given",
    [
        "mail.example.org", "ftp://mail.example.org", "https://", "https:///path", "https://mail.example.org?a=1",
        "https://mail.example.org/#top", "https://me@mail.example.org", "https://mail.example.org/a b",
        "https://mail.example.org/a&b", 'https://mail.example.org/"', "https://mail.example.org/<", "https://mäil.example",
        "https://mail.example.org:port", "https://mail.example.org/\r\nBcc: eve@example.org", "javascript:alert(1)",
        "https://[::1", "https://mail.example.org/" + "a" * 200,
    ],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused(given: str) -> None:
    with pytest.raises(ConfigurationError, match="setting public_url: "):
        config.load(public_url=given)


@pytest.mark.parametrize("host", ["mail.example.org", "192.168.0.1", "localhost.example.org", "127.example.org"])
def test_an_address_without_tls_is_refused_and_the_reason_is_told(host: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"public_url: begins with http:, and mailboxes press links .* over https:"
    ):
        config.load(public_url=f"http://{host}")


def test_a_region_may_have_one_of_its_own() -> None:
    regions = {name: {"database": f"sqlite:///{name}.db"} for name in ("deu1", "usa1")}
    regions["deu1"]["public_url"] = "https://mail.example.de/"
    shared = config.load_shared(regions=regions, public_url="https://mail.example.org")

    assert shared.of_region("deu1").public_url == "https://mail.example.de"
    assert shared.of_region("usa1").public_url == "https://mail.example.org"
