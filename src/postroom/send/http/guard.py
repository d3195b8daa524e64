"""Which addresses a webhook may be sent to: the public ones, and those that the settings allow. Pure.

Whoever can have a webhook sent chooses a URL that we then open from inside our own network. So what a name leads to is
looked at before anything is connected: every address it has, also where an IPv4 address hides in an IPv6 one. If any of
them is inside, none is used, because a name that leads to both is either broken or meant to deceive.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from postroom.errors import ConfigurationError

_Address = IPv4Address | IPv6Address

_INSIDE_4 = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a provider (CGNAT)"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),  # Azure's; those of others are link-local, private or CGNAT
        ("169.254.0.0/16", "link-local, where clouds keep their metadata"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "reserved"),
        ("198.51.100.0/24", "reserved"),
        ("203.0.113.0/24", "reserved"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_INSIDE_6 = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "reserved"),
        ("3fff::/20", "reserved"),
    )
)
_PUBLIC_6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


class Guard:
    """Says no to what is inside, unless it is allowed."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        """`allow`: one's own networks that webhooks may reach, such as `10.0.0.0/8`."""
        self._allowed = tuple(_network(each) for each in allow)

    def objection(self, address: str) -> str | None:
        """Why this address is not connected to: what it is; None where it may be."""
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return "no address at all"
        return self._objection(found)

    def _objection(self, address: _Address) -> str | None:
        if any(address.version == network.version and address in network for network in self._allowed):
            return None
        if isinstance(address, IPv4Address):
            return next((what for network, what in _INSIDE_4 if address in network), None)
        carried = _carried(address)
        if carried:  # a form that leads to IPv4 in the end: what counts is where
            return next(filter(None, map(self._objection, carried)), None)
        what = next((what for network, what in _INSIDE_6 if address in network), None)
        return what or (None if address in _PUBLIC_6 else "reserved")


def _carried(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address stands for: mapped, 6to4, NAT64, and both ends of Teredo."""
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"webhooks: allow: {text!r} is no network ({error}); write 10.0.0.0/8") from None
