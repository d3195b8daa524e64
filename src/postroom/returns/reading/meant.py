"""Who is meant by what was said: the recipient, unless nobody but the sender is named.

«No such user» is said of senders too, by servers that look them up before they take their mail, and then to everybody
whom they write to.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from postroom.returns.reading.addresses import addresses_in, without_addresses
from postroom.settle.bounces.saying import JUDGED

_PAGE = re.compile(r"https?://\S{1,500}", re.IGNORECASE)
_HOST = re.compile(r"(?:[\w-]{1,63}\.){1,10}[\w-]{2,63}")


def names_the_sender(said: str, *, senders: Collection[str], recipients: Iterable[str]) -> bool:
    """Whether the words name the sender or their domain, and neither the recipient nor theirs.

    Where an address is named, it is of no account which hosts are named beside it: one of them may be who speaks.
    `senders` are addresses and domains; `recipients` all addresses of one recipient.
    """
    told = _PAGE.sub(" ", said[:JUDGED].lower())
    theirs = with_domains(recipients)
    for names in (addresses_in(told), _HOST.findall(without_addresses(told))):
        spoken_of = {_is_senders(name, senders, theirs) for name in names} - {None}
        if spoken_of:
            return spoken_of == {True}
    return False


def with_domains(addresses: Iterable[str]) -> frozenset[str]:
    """Addresses, and their domains."""
    return frozenset(each for address in addresses for each in (address, address.rpartition("@")[2]))


def _is_senders(name: str, senders: Collection[str], recipients: Collection[str]) -> bool | None:
    """Whether a name is the sender's rather than the recipient's; None where it is neither's, or may be either's."""
    domain = name.rpartition("@")[2]
    for known in (name, domain):
        if known in recipients:
            return False
        if known in senders:
            return None if known == domain and _has_relations(domain, recipients) else True
    return None


def _has_relations(domain: str, names: Iterable[str]) -> bool:
    """Whether a domain lies within another or around it: then both are one organisation's."""
    return any(each.endswith(f".{domain}") or domain.endswith(f".{each}") for each in names)
