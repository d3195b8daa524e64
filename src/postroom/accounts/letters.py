"""What people are told by email about their way in: guesses, and changes to their second step. It holds no secret."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from postroom.compose import Email

PAGE = (
    '<!doctype html><html lang="en"><body style="font-family:system-ui,sans-serif;font-size:16px;line-height:1.5;'
    'color:#1c1f24;max-width:32em;margin:2em auto;padding:0 1em">{}</body></html>'
)

GUESSING_KIND = "admin.guessing"
ACCOUNT_KIND = "admin.account"

GUESSES = {
    "passwords": (
        "Somebody tries passwords for your name",
        (
            "Too many wrong passwords came for your name. The last one came from {address}.",
            "Where you have signed in before, everything is as ever. From elsewhere, type your password and a code "
            "together, as the page says: nobody is told there whether a password alone is right.",
            "Nothing is lost. If your password might be known to others, choose a new one.",
        ),
    ),
    "codes": (
        "Somebody may know your password",
        (
            "Your password was right, and then too many codes were wrong. The last one came from {address}.",
            "If that was not you, somebody knows your password: choose a new one now, with `postroom user password` "
            "on the host, and tell nobody a code.",
            "If it was you, wait, or use a recovery code, or have `postroom user code` run on the host.",
        ),
    ),
}

CHANGES = {
    "authenticator_on": "An authenticator was added to your sign-in.",
    "authenticator_off": "The authenticator and the recovery codes of your sign-in were taken away.",
    "recovery_codes_made": "New recovery codes were made for your sign-in; the old ones are good no more.",
    "recovery_code_used": "One of your recovery codes was used to sign in, and is good no more.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessesLetter:
    """`admin.guessing`: somebody failed too often under this name."""

    to: str
    about: str
    """`passwords` or `codes`."""
    address: str

    def email(self) -> Email:
        subject, lines = GUESSES[self.about]
        return _plain(self.to, f"Postroom: {subject}", [line.format(address=_place(self.address)) for line in lines])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLetter:
    """`admin.account`: how somebody signs in has changed."""

    to: str
    change: str
    """One of `CHANGES`."""
    address: str

    def email(self) -> Email:
        lines = [
            f"{CHANGES[self.change]} It was done from {_place(self.address)}.",
            "If that was not you, change your password and have somebody on the host run "
            "`postroom user second-factor --reset`.",
        ]
        return _plain(self.to, "Postroom: your sign-in has changed", lines)


def _place(address: str) -> str:
    return address or "the machine that Postroom runs on"


def _plain(to: str, subject: str, lines: list[str]) -> Email:
    html = PAGE.format("".join(f"<p>{escape(line)}</p>" for line in lines))
    return Email(to=to, subject=subject, text="\n\n".join(lines) + "\n", html=html)
