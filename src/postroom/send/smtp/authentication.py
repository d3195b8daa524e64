"""AUTH: PLAIN, LOGIN and XOAUTH2."""

from __future__ import annotations

from base64 import b64encode

from postroom.send.contract import FaultKind
from postroom.send.smtp.capabilities import Capabilities
from postroom.send.smtp.replies import Lines, code_of
from postroom.send.smtp.server import AuthMechanism, Server
from postroom.send.smtp.wire import Ended, Wire


def choose_mechanism(server: Server, capabilities: Capabilities, *, secure: bool) -> AuthMechanism:
    """The mechanism to use; `Ended` when the settings and the server leave none, or only one in the clear."""
    if not secure and not server.insecure_auth:
        raise Ended(
            FaultKind.CONFIGURATION,
            "the connection is not encrypted, so the password was not sent; use smtps:// or starttls=required, "
            "or say insecure_auth=yes",
        )
    wanted = (server.auth,) if server.auth else (AuthMechanism.PLAIN, AuthMechanism.LOGIN)
    for mechanism in wanted:
        if mechanism.value.upper() in capabilities.auth:
            return mechanism
    offered = ", ".join(sorted(capabilities.auth))[:200] or "no AUTH at all"
    asked = " or ".join(mechanism.value.upper() for mechanism in wanted)
    raise Ended(FaultKind.CONFIGURATION, f"the settings ask for AUTH {asked} and the server offers {offered}")


async def authenticate(wire: Wire, server: Server, mechanism: AuthMechanism) -> Lines:
    """Say who we are; returns the reply that decided."""
    user, password, limit = server.user or "", server.password, server.limits.command
    if mechanism is AuthMechanism.LOGIN:
        steps = [b"AUTH LOGIN", _encoded(user), _encoded(password)]
    elif mechanism is AuthMechanism.PLAIN:
        steps = [b"AUTH PLAIN " + _encoded(f"\0{user}\0{password}")]
    else:
        # A refusal comes as a challenge that wants an empty answer before the real reply is given.
        steps = [b"AUTH XOAUTH2 " + _encoded(f"user={user}\1auth=Bearer {password}\1\1"), b""]
    lines: Lines = ()
    for step in steps:
        wire.write(step + b"\r\n", replies=1, limit=limit)
        lines = await wire.reply()
        if code_of(lines) != 334:
            break
    return lines


def _encoded(text: str) -> bytes:
    return b64encode(text.encode())
