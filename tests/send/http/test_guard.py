"""Which addresses webhooks may reach."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.errors import ConfigurationError
from postroom.send.http.guard import Guard

INSIDE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",  # metadata of a cloud
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",  # metadata of another
    "169.254.169.254",  # and of most
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "2001:10::1",
    "3fff::1",
    "100::1",
    "64:ff9b:1::1",
    "5f00::1",
    "not an address",
]
OUTSIDE = ["8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::1"]


@pytest.mark.parametrize("address", INSIDE)
def test_what_is_inside_is_objected_to(address: str) -> None:
    assert Guard().objection(address)


@pytest.mark.parametrize("address", OUTSIDE)
def test_what_is_public_is_not(address: str) -> None:
    assert Guard().objection(address) is None


def forms_of(address: IPv4Address) -> dict[str, str]:
    """The IPv6 addresses that lead to an IPv4 one."""
    number, public = int(address), int(IPv4Address("8.8.8.8"))
    return {
        "mapped": str(IPv6Address((0xFFFF << 32) | number)),
        "6to4": str(IPv6Address((0x2002 << 112) | (number << 80))),
        "NAT64": str(IPv6Address((0x64FF9B << 96) | number)),
        "Teredo client": str(IPv6Address((0x20010000 << 96) | (public << 64) | (number ^ 0xFFFFFFFF))),
        "Teredo server": str(IPv6Address((0x20010000 << 96) | (number << 64) | (public ^ 0xFFFFFFFF))),
    }


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_in_every_form_it_can_hide_in(address: IPv4Address) -> None:
    guard = Guard()
    alone = guard.objection(str(address))

    assert {form: guard.objection(text) for form, text in forms_of(address).items()} == dict.fromkeys(
        forms_of(address), alone
    )


@given(st.ip_addresses(v=4, network="10.0.0.0/8"))
def test_an_allowed_network_may_be_reached_and_nothing_beside_it(address: IPv4Address) -> None:
    guard = Guard(["10.0.0.0/8", "fd00::/8"])

    assert guard.objection(str(address)) is None
    assert guard.objection(forms_of(address)["mapped"]) is None
    assert guard.objection("fd12::1") is None
    assert guard.objection("127.0.0.1") == "loopback"
    assert guard.objection("169.254.169.254")


@given(st.ip_addresses())
def test_an_address_of_the_registries_special_purpose_is_never_let_through(address: IPv4Address | IPv6Address) -> None:
    """The standard library's list as a second opinion; ours may be stricter."""
    if Guard().objection(str(address)) is None and not (isinstance(address, IPv6Address) and _transitional(address)):
        marks = ("is_private", "is_loopback", "is_link_local", "is_multicast", "is_reserved", "is_unspecified")

        assert [mark for mark in marks if getattr(address, mark)] == []


def _transitional(address: IPv6Address) -> bool:
    return bool(address.ipv4_mapped or address.sixtofour or address.teredo) or address in IPv6Network("64:ff9b::/96")


@pytest.mark.parametrize("network", ["10.0.0.1/8", "inside", "10.0.0.0/33", ""])
def test_what_is_no_network_cannot_be_allowed(network: str) -> None:
    with pytest.raises(ConfigurationError, match="is no network"):
        Guard([network])
