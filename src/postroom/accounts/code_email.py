"""The email of a sign-in: the code. No pictures, no links to follow, no tracking."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from postroom.compose import Email
from postroom.vocabulary import SIGN_IN_CODE

CODE_KIND = SIGN_IN_CODE

PAGE = (
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
        html = PAGE.format(
            "<p>Your code to sign in to Postroom is</p>"
            f'<p style="font-size:32px;font-weight:600;letter-spacing:.08em;margin:.5em 0">{escape(shown)}</p>'
            f"<p>It is good for {self.minutes} minutes, once. "
            f"The password was typed at {escape(self.address or 'this machine')}.</p>"
            "<p>If that was not you, somebody knows your password: change it, and tell nobody this code.</p>"
        )
        # The code stays out of the subject: subjects are shown in lists, logs and on locked telephones.
        return Email(to=self.to, subject="Your Postroom sign-in code", text=text, html=html)
