"""Who an email is from and for.

Nearly every address is plain ASCII and is recognised by one regular expression; whatever else people write goes to
email-validator, which knows international domains and local parts. Nothing is looked up in the DNS.

Two rules keep an email from going to somebody whom its sender did not read there. A pair, a tuple of two texts, is
always a name and an address, whatever the name looks like; several addresses are a list. And a text is taken only where
it can be read in one way: a name that could be an address, a comment or a group must be put in quotes, and letters that
only look like others (`ａ`, `ﬁ`) are refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, ValuesView
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, NamedTuple, NoReturn, Protocol, TypeAlias, TypeGuard, TypeVar

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

_Each = TypeVar("_Each", covariant=True)


class Several(Protocol[_Each]):
    """A list, a set, a dict or their like: what can be changed has no hash. So a tuple, which has one, is none of them
    for type checkers either."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __iter__(self) -> Iterator[_Each]: ...


AddressesLike: TypeAlias = (
    "AddressLike | Several[AddressLike] | Iterator[AddressLike] | AbstractSet[AddressLike] | ValuesView[AddressLike]"
    " | tuple[Address, ...]"
)
"""One, or a list of them. A pair is one: a name and an address. No other tuple will do, save those of an `Email`."""

LONGEST_LOCAL, LONGEST_DOMAIN, LONGEST_ADDRESS = 64, 255, 254
LONGEST_NAME = 256

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]++"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_PLAIN = re.compile(rf"({_ATOM}(?:\.{_ATOM})*+)@((?:{_LABEL}\.)*({_LABEL}))")
_NAMED = re.compile(r' *(?:"((?:[^"\\]|\\.)*+)"|([^<>"]*?)) *<([^<>]*)> *')
_ATOMS = re.compile(rf"{_ATOM}(?: {_ATOM})*+")
_REORDERING = re.compile(rf"[{REORDERING}]")
_ESCAPED = re.compile(r"\\(.)")
_COMMENT = re.compile(r"\([^()@\\]*+\)")
"""As in `Ada (Sales) <ada@example.org>`: harmless in a name, as long as it ends, and holds no address."""
_AMBIGUOUS = re.compile(r"[@:()\[\]\\]")
"""What a name without quotes must not hold: parsers take it for an address, a group or a comment."""


def quoted(name: str) -> str:
    """A display name as RFC 5322 wants it written: bare when it is a row of atoms, otherwise in quotes."""
    if _ATOMS.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse_addresses(field: str, value: AddressesLike | None) -> tuple[Address, ...]:
    """One or many, in order. A tuple of two texts is one: name and address. Anything else that is many is a list."""
    if value is None:
        return ()
    if isinstance(value, str) or _is_pair(value):
        return (parse_address(field, value),)
    return tuple([parse_address(field, each) for each in _several(field, value)])


def _several(field: str, value: Any) -> Iterable[Any]:
    """What is to be many, provided that it is; also where nobody asked a type checker."""
    if isinstance(value, tuple) and not all(isinstance(each, Address) for each in value):
        kinds = ", ".join(type(each).__name__ for each in value[:4]) + (", …" if len(value) > 4 else "")
        raise InvalidEmail(
            field,
            f"got a tuple of {len(value)} ({kinds})",
            "a tuple is one address, (name, address); give several as a list",
        )
    if not isinstance(value, Iterable) or isinstance(value, bytes | bytearray):
        _refuse_kind(field, value)
    return value


def _is_pair(value: object) -> TypeGuard[tuple[str, str]]:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], str)


def parse_address(field: str, value: AddressLike) -> Address:
    """Understand one address in any of its forms, or say what is wrong with it."""
    if isinstance(value, str):
        if (plain := _plain(value)) is not None:
            return Address("", plain)
        return _parse_text(field, value)
    if not _is_pair(value):
        _refuse_kind(field, value)
    name, address = value
    if name := name.strip():
        check_name(field, name)
    return Address(name, _plain(address) or _examine(field, address))


def _refuse_kind(field: str, value: object) -> NoReturn:
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
        raise _could_be_several(field, text)
    if match is None:
        return Address("", _plain(text.strip(" ")) or _examine(field, text.strip(" ")))
    in_quotes, bare, address = match.groups()
    if in_quotes is not None:
        return parse_address(field, (_ESCAPED.sub(r"\1", in_quotes), address))
    if "," in bare or ";" in bare or ("@" in bare and " " in bare):
        # «a@x.org, Bob <b@x.org>» must not become a single recipient with a strange name.
        raise _could_be_several(field, text)
    check_value(field, bare)
    if _AMBIGUOUS.search(_COMMENT.sub("", bare)) and bare.lower() != address.lower():
        # «alice@x.org(<bob@x.org>» goes to bob, and whoever reads it thinks of alice.
        raise InvalidEmail(
            field, f"{text!r} can be read in more than one way", "put the name in quotes, or give (name, address)"
        )
    return parse_address(field, (bare, address))


def _could_be_several(field: str, text: str) -> InvalidEmail:
    return InvalidEmail(
        field, f"{text!r} could be several addresses", "give a list of addresses, or put the name in quotes"
    )


def _examine(field: str, address: str) -> str:
    """Accept an address that is not plain ASCII, or explain the refusal."""
    _refuse_unsafe(field, address)
    _refuse_overlong(field, address)
    _refuse_lookalikes(field, address)
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


def _refuse_lookalikes(field: str, address: str) -> None:
    """Letters of another width or shape stand for plain ones in people's eyes, and not in a server's."""
    plain = unicodedata.normalize("NFKC", address)
    if plain != unicodedata.normalize("NFC", address):
        raise InvalidEmail(
            field,
            f"{address!r} is written with letters that only look like others",
            f"write {plain!r} if you mean that",
        )


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
