"""What is wrong at the other end of a mail server's URL, and which URL would be right: mostly it is the port. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.send.contract import Fault, FaultKind, Phase

_USUAL = "usual are smtp://…:587?starttls=required, smtps://…:465 and, within a house, smtp://…:25"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What people are told."""

    detail: str
    remedy: str


def advice(name: str, fault: Fault | None, *, implicit_tls: bool, setting: str) -> Advice | None:
    """What a fault means at a server of this name; no fault stands for silence. None where the fault says it all."""
    match fault:
        case Fault(kind=FaultKind.REFUSED):
            why = fault.text.removeprefix(f"{name}: ")
            return Advice(
                detail=f"nothing answers at {name} ({why})",
                remedy=f"check that the server runs there, and host and port in {setting}; {_USUAL}",
            )
        case Fault(kind=FaultKind.TLS | FaultKind.CUT, phase=Phase.TLS) if implicit_tls and _no_tls(fault):
            return Advice(
                detail=f"{name} answers, but not with TLS",
                remedy=f"in {setting} use smtp:// at this port, with ?starttls=required if it offers that; {_USUAL}",
            )
        case None | Fault(kind=FaultKind.TIMEOUT | FaultKind.CUT, phase=Phase.GREETING) if not implicit_tls:
            return Advice(
                detail=f"{name} takes the connection and does not greet: it may be waiting for TLS",
                remedy=f"in {setting} use smtps:// if this port begins with TLS, as 465 does; {_USUAL}",
            )
        case _:
            return None


def _no_tls(fault: Fault) -> bool:
    """Whether the other end spoke something else than TLS, or nothing that could be read as it."""
    return fault.kind is FaultKind.CUT or "WRONG_VERSION" in fault.text or "UNKNOWN_PROTOCOL" in fault.text
