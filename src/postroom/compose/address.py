"""Who an email is from and for.

Nearly every address is plain ASCII and is recognised by one regular expression; whatever else people write goes to
email-validator, which knows international domains and local parts. Nothing is looked up in the DNS.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, TypeGuard

from postroom.compose.safety import REORDERING, check_value
from postroom.errors import InvalidEmail


class Address(NamedTuple):
    """A mailbox: the name shown to people and the address used by machines."""

    name: str
    """Empty when there is none."""
    address: str
    """`local@domain`; an international domain is kept in its ASCII form."""

    def __str__(self) -> str:
        """The form people read and `parse_address` understands: `Ada Lovelace <ada@example.org>`."""
        if not self.name:
            return self.address
        return f"{quoted(self.name)} <{self.address}>"

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


Mailbox: TypeAlias = tuple[str, str]
"""An `Address`, or name and address where one is written for every email and making an `Address` would be felt."""

AddressLike: TypeAlias = "str | Address | tuple[str, str]"
"""`"ada@example.org"`, `"Ada <ada@example.org>"`, an `Address`, or `("Ada", "ada@example.org")`."""

AddressesLike: TypeAlias = "AddressLike | Iterable[AddressLike]"
"""One or many."""

LONGEST_LOCAL, LONGEST_DOMAIN, LONGEST_ADDRESS = 64, 255, 254
LONGEST_NAME = 256

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]++"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_PLAIN = re.compile(rf"({_ATOM}(?:\.{_ATOM})*+)@((?:{_LABEL}\.)*({_LABEL}))")
_NAMED = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*+)"|([^<>"]*?))\s*<([^<>]*)>\s*')
_ATOMS = re.compile(rf"{_ATOM}(?: {_ATOM})*+")
_REORDERING = re.compile(rf"[{REORDERING}]")
_ESCAPED = re.compile(r"\\(.)")


def quoted(name: str) -> str:
    """A display name as RFC 5322 wants it written: bare when it is a row of atoms, otherwise in quotes."""
    if _ATOMS.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse_addresses(field: str, value: AddressesLike | None) -> tuple[Address, ...]:
    """One or many, in order. A pair counts as name and address unless its first half is an address itself."""
    if value is None:
        return ()
    if isinstance(value, str) or _is_pair(value):
        return (parse_address(field, value),)
    if not isinstance(value, Iterable):
        _pair(field, value)
    return tuple([parse_address(field, each) for each in value])


def _is_pair(value: object) -> TypeGuard[tuple[str, str]]:
    match value:
        case Address():
            return True
        case (str(name), str()) if isinstance(value, tuple):
            return "@" not in name
    return False


def parse_address(field: str, value: AddressLike) -> Address:
    """Understand one address in any of its forms, or say what is wrong with it."""
    if isinstance(value, str):
        if (plain := _plain(value)) is not None:
            return Address("", plain)
        return _parse_text(field, value)
    name, address = _pair(field, value)
    if name := name.strip():
        check_name(field, name)
    return Address(name, _plain(address) or _examine(field, address))


def _pair(field: str, value: object) -> tuple[str, str]:
    match value:
        case (str(name), str(address)) if isinstance(value, tuple):
            return name, address
    raise InvalidEmail(
        field, f"expected an address, got {type(value).__name__}", "give text, an Address or (name, address)"
    )


def check_name(field: str, name: str) -> None:
    """Refuse a display name that is unsafe in a header or made to be misread."""
    check_value(field, name)
    if len(name) > LONGEST_NAME:
        raise InvalidEmail(field, f"the name has {len(name)} characters", f"shorten it to {LONGEST_NAME}")
    if not name.isprintable() and (match := _REORDERING.search(name)):
        code = f"U+{ord(match[0]):04X}"
        raise InvalidEmail(field, f"the name contains the text-direction character {code}", "remove it")


def _plain(address: str) -> str | None:
    """The address, its domain in lower case, when it is a plain one; None when it needs a closer look."""
    match = _PLAIN.fullmatch(address)
    if match is None or len(address) > LONGEST_ADDRESS:
        return None
    local, domain, last_label = match.groups()
    if len(local) > LONGEST_LOCAL or last_label.isdigit() or "=?" in local:
        return None
    return address if domain.islower() else f"{local}@{domain.lower()}"


def _parse_text(field: str, text: str) -> Address:
    """`Ada <ada@example.org>`, or an address that is not a plain one."""
    match = _NAMED.fullmatch(text)
    if match is None and text.count("@") > 1 and ("," in text or ";" in text):
        raise _several(field, text)
    if match is None:
        return Address("", _plain(text.strip(" ")) or _examine(field, text.strip(" ")))
    in_quotes, bare, address = match.groups()
    name = _ESCAPED.sub(r"\1", in_quotes) if in_quotes is not None else bare
    if in_quotes is None and ("," in bare or ";" in bare or ("@" in bare and " " in bare)):
        # «a@x.org, Bob <b@x.org>» must not become a single recipient with a strange name.
        raise _several(field, text)
    return parse_address(field, (name, address))


def _several(field: str, text: str) -> InvalidEmail:
    return InvalidEmail(
        field, f"{text!r} could be several addresses", "give a list of addresses, or put the name in quotes"
    )


def _examine(field: str, address: str) -> str:
    """Accept an address that is not plain ASCII, or explain the refusal."""
    _refuse_unsafe(field, address)
    _refuse_overlong(field, address)
    if address.isascii():
        raise InvalidEmail(field, f"{address!r} is not an email address", "write it like ada@example.org")
    # Imported when first needed: it costs tens of milliseconds that most programs never have to spend.
    from email_validator import EmailNotValidError, validate_email

    try:
        found = validate_email(
            address, check_deliverability=False, allow_smtputf8=True, globally_deliverable=False, test_environment=True
        )
    except EmailNotValidError as error:
        raise InvalidEmail(field, f"{address!r} is not an email address", str(error).rstrip(".")) from error
    ascii_domain = found.ascii_domain.lower()
    normal = f"{found.local_part}@{ascii_domain}"
    _refuse_overlong(field, normal)
    return normal


def _refuse_unsafe(field: str, address: str) -> None:
    check_value(field, address)
    for character in address:
        category = unicodedata.category(character)
        if category[0] in "CZ" or character in '()<>[]"':
            what = "a space" if category == "Zs" else f"{character!r}"
            raise InvalidEmail(field, f"the address {address!r} contains {what}", "remove it from the address")


def _refuse_overlong(field: str, address: str) -> None:
    local, _, domain = address.rpartition("@")
    sizes = (
        ("part before the @", local, LONGEST_LOCAL),
        ("domain", domain, LONGEST_DOMAIN),
        ("address", address, LONGEST_ADDRESS),
    )
    for what, part, longest in sizes:
        if len(part.encode()) > longest:
            raise InvalidEmail(field, f"the {what} is longer than {longest} octets", "check the address for a mistake")
