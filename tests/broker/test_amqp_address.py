"""What a broker's URL says."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from postroom.broker.amqp.address import HEARTBEAT, address, broker_name


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("amqp://", {"host": "localhost", "port": 5672, "virtual_host": "/", "user": "guest", "password": "guest"}),
        ("amqp://", {"heartbeat": HEARTBEAT, "by_certificate": False, "tls": None}),
        ("amqp://broker.example.org", {"host": "broker.example.org", "port": 5672, "virtual_host": "/"}),
        ("amqp://ada:secret@10.0.0.7:5673/", {"host": "10.0.0.7", "port": 5673, "user": "ada", "password": "secret"}),
        ("amqp://[::1]:5673/post", {"host": "::1", "port": 5673, "virtual_host": "post"}),
        ("amqp://a%40b:p%3A%2F%3F%23%25@h/", {"user": "a@b", "password": "p:/?#%", "host": "h"}),
        ("amqp://ada:a+b@h/", {"password": "a+b"}),
        ("amqp://h/%2F", {"virtual_host": "/"}),
        ("amqp://h//", {"virtual_host": "/"}),
        ("amqp://h/post%2Froom", {"virtual_host": "post/room"}),
        ("amqp://h/post%20r%C3%B6%C3%B6m", {"virtual_host": "post rööm"}),
        ("amqp://h/post?heartbeat=1", {"virtual_host": "post", "heartbeat": 1}),
        ("amqp://h/?heartbeat=0", {"heartbeat": 0}),
        ("amqp://h/?heartbeat=65535", {"heartbeat": 65_535}),
        ("amqp://h/?heartbeat=5&heartbeat=6&unknown=7", {"heartbeat": 6}),
        ("amqp://h/?auth=EXTERNAL", {"by_certificate": True}),
        ("amqp://h/?auth=plain", {"by_certificate": False}),
        ("amqps://h", {"port": 5671, "host": "h"}),
        ("AMQPS://h:1234", {"port": 1234}),
    ],
)
def test_a_url_says_where_to_go_and_as_whom(url: str, said: dict[str, Any]) -> None:
    found = address(url)

    assert {name: getattr(found, name) for name in said} == said


@pytest.mark.parametrize("seconds", ["-1", "1.5", "ten", "65536", "1e3", "%20"])
def test_a_heartbeat_that_is_no_number_of_seconds_is_refused(seconds: str) -> None:
    with pytest.raises(ValueError, match="heartbeat"):
        address(f"amqp://h/?heartbeat={seconds}")


def test_a_port_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError):
        address("amqp://h:many/")


def test_the_password_is_in_nothing_that_is_shown() -> None:
    url = "amqp://ada:secret@broker.example.org/post"

    assert "secret" not in repr(address(url))
    assert broker_name(url) == "broker.example.org:5672/post"


def test_over_tls_the_brokers_certificate_is_verified(tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    trustme.CA().cert_pem.write_to_path(str(authority))
    context = address(f"amqps://h/?cafile={authority}").tls

    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert len(context.get_ca_certs()) == 1


def test_whoever_says_so_does_without_verification() -> None:
    context = address("amqps://h/?no_verify_ssl=1").tls

    assert context is not None
    assert context.verify_mode is ssl.CERT_NONE


def test_an_authority_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        address(f"amqps://h/?cafile={tmp_path / 'absent.pem'}")
