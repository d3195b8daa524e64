"""The email of a sign-in: the code, as the template `tfa` of the portal `admin` has it.

Ours is beside this module. An application that names a portal called `admin` in its settings, with a template `tfa` of
its own, has its own words and dress; where those cannot be rendered, ours are sent, for somebody waits at the door.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from postroom.compose import Email
from postroom.errors import PostroomError
from postroom.logs import logger
from postroom.templates import Brand, Portal
from postroom.templates.found import find_portals
from postroom.vocabulary import SIGN_IN_CODE

CODE_KIND = SIGN_IN_CODE

ADMIN = Portal("admin", templates=Path(__file__).parent / "templates", brand=Brand(name="Postroom"))


@ADMIN.template
@dataclass(frozen=True, slots=True, kw_only=True)
class Tfa:
    """What the email of a sign-in says."""

    code: str
    """Six digits."""
    minutes: int
    """How long the code is good."""
    address: str
    """From where the password came; empty for the machine itself."""


def code_email(code: Tfa, *, to: str, portals: Iterable[str] = ()) -> Email:
    """The email with a code, in the application's own words where it has some: `portals` as the settings name them."""
    try:
        own = find_portals(portals).get(ADMIN.name)
        if own is not None and "tfa" in own.names:
            known = own.contract("tfa").names
            values = {name: value for name, value in asdict(code).items() if name in known}
            return own.email(own.context("tfa", values), to=to)
    except PostroomError as error:
        logger.error("the application's own sign-in email cannot be rendered; ours is sent", error=str(error))
    return ADMIN.email(code, to=to)
