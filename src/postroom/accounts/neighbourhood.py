"""Where somebody comes from, as far as it tells people apart."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from postroom.accounts.chance import keyed


def block_of(address: str) -> str:
    """What one household is given: an IPv4 address, or 64 bits of IPv6, of which it has as many as it likes."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or (int(parsed) >> 64))
    return str(parsed)


def address_digest(key: bytes, person_id: str, address: str) -> str:
    """What is kept of an address somebody has signed in from: worth nothing without the key, or for somebody else."""
    return keyed(key, "known address", person_id, block_of(address))
