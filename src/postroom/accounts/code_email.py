"""The two emails of a sign-in: the code, and the notice of a lock-out. No pictures, no links to follow, no tracking."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from html import escape

from postroom.compose import Email
from postroom.vocabulary import SIGN_IN_CODE

CODE_KIND = SIGN_IN_CODE
LOCKED_KIND = "admin.locked"

_PAGE = (
    '<!doctype html><html lang="en"><body style="font-family:system-ui,sans-serif;font-size:16px;line-height:1.5;'
    'color:#1c1f24;max-width:32em;margin:2em auto;padding:0 1em">{}</body></html>'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeEmail:
    """`admin.tfa`: the second step of a sign-in."""

    to: str
    code: str
    minutes: int
    """How long the code is good."""
    address: str
    """From where the password came."""

    def email(self) -> Email:
        shown = f"{self.code[:3]} {self.code[3:]}"
        text = (
            f"Your code to sign in to Postroom is {self.code}\n\n"
            f"It is good for {self.minutes} minutes, once. "
            f"The password was typed at {self.address or 'this machine'}.\n"
            "If that was not you, somebody knows your password: change it, and tell nobody this code.\n"
        )
        html = _PAGE.format(
            "<p>Your code to sign in to Postroom is</p>"
            f'<p style="font-size:32px;font-weight:600;letter-spacing:.08em;margin:.5em 0">{escape(shown)}</p>'
            f"<p>It is good for {self.minutes} minutes, once. "
            f"The password was typed at {escape(self.address or 'this machine')}.</p>"
            "<p>If that was not you, somebody knows your password: change it, and tell nobody this code.</p>"
        )
        # The code stays out of the subject: subjects are shown in lists, logs and on locked telephones.
        return Email(to=self.to, subject="Your Postroom sign-in code", text=text, html=html)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedLetter:
    """`admin.locked`: somebody failed too often under this name."""

    to: str
    until: datetime
    address: str

    def email(self) -> Email:
        until = f"{self.until:%d %B %Y, %H:%M} UTC"
        told = (
            f"After repeated failures nobody can sign in to Postroom as {self.to} until {until}.",
            f"The last try came from {self.address or 'this machine'}.",
            "If that was you, wait until then; or have `postroom user code` run on the host, which also ends this.",
            "If it was not, nothing is lost: choose a new password if yours might be known to others.",
        )
        html = _PAGE.format("".join(f"<p>{escape(line)}</p>" for line in told))
        return Email(to=self.to, subject="Postroom sign-in is locked", text="\n\n".join(told) + "\n", html=html)
