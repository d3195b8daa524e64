"""The page behind the link: one heading, one sentence, one button; no script, and nothing from anywhere else."""

from __future__ import annotations

from base64 import b64encode
from enum import Enum
from hashlib import sha256
from html import escape

from postroom.returns.unsubscribing.asking import FIELD, Wish
from postroom.returns.unsubscribing.words import RIGHT_TO_LEFT, WORDS, Sentences
from postroom.sealing import Ticket

STYLE = """
:root { color-scheme: light dark; --ground: #f4f5f7; --card: #fff; --ink: #1b1f27; --soft: #4a5160; --line: #8a93a3;
  --button: #1a4fb8; --on-button: #fff; }
@media (prefers-color-scheme: dark) { :root { --ground: #14161b; --card: #1e222a; --ink: #eef0f4; --soft: #b9c0cc;
  --line: #727b8b; --button: #8fb3ff; --on-button: #10182b; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: flex; align-items: center; justify-content: center; padding: 16px;
  background: var(--ground); color: var(--ink);
  font: 17px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { width: 100%; max-width: 30rem; padding: 28px 24px; border-radius: 14px; background: var(--card); }
h1 { margin: 0 0 12px; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0 0 24px; color: var(--soft); overflow-wrap: anywhere; }
p:last-child { margin-bottom: 0; }
bdi { color: var(--ink); font-weight: 600; }
form { display: grid; gap: 12px; margin: 0; }
button { min-height: 52px; padding: 10px 20px; border: 2px solid var(--button); border-radius: 10px; font: inherit;
  font-weight: 600; text-wrap: balance; cursor: pointer; background: var(--button); color: var(--on-button); }
button.second { border-color: var(--line); background: transparent; color: var(--ink); font-weight: 400; }
button:focus-visible { outline: 3px solid var(--ink); outline-offset: 3px; }
"""

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


class Answer(Enum):
    """What the page has to say, and with which status."""

    ASK = 200, "ask_title", "ask"
    DONE = 200, "done_title", "done"
    DONE_KIND = 200, "done_title", "done_kind"
    UNDONE = 200, "undone_title", "undone"
    UNCLEAR = 400, "unclear_title", "unclear"
    INVALID = 404, "invalid_title", "invalid"
    TOO_LARGE = 413, "unclear_title", "unclear"
    AWAY = 503, "away_title", "away"

    @property
    def status(self) -> int:
        return self.value[0]


def shown(answer: Answer, language: str, *, ticket: Ticket | None = None, wish: Wish | None = None) -> str:
    """The page. `wish` is what was asked for, where that is to be asked for again."""
    words = WORDS[language]
    _, title, sentence = answer.value
    heading = escape(getattr(words, title))
    address = f"<bdi>{escape(masked(ticket.address))}</bdi>" if ticket else ""
    said = escape(getattr(words, sentence)).replace("{address}", address)
    direction = "rtl" if language in RIGHT_TO_LEFT else "ltr"
    buttons = "".join(_button(wish, words, first) for wish, first in _offered(answer, ticket, wish))
    form = f'<form method="post">{buttons}</form>' if buttons else ""
    return (
        f'<!doctype html>\n<html lang="{language}" dir="{direction}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="robots" content="noindex">\n'
        f"<title>{heading}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{heading}</h1>\n<p>{said}</p>\n{form}\n</main>\n</body>\n</html>\n"
    )


def masked(address: str) -> str:
    """Enough of an address for its owner to know it by: `a…@example.org`."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"


def _offered(answer: Answer, ticket: Ticket | None, wish: Wish | None) -> list[tuple[Wish, bool]]:
    """What can be asked for on this page; True for what stands out."""
    if ticket is None:
        return []
    if answer in (Answer.DONE, Answer.DONE_KIND) or (answer is Answer.AWAY and wish is Wish.UNDO):
        return [(Wish.UNDO, False)]
    return [(Wish.ALL, True), *([(Wish.KIND, False)] if ticket.kind else [])]


def _button(wish: Wish, words: Sentences, first: bool) -> str:
    label = {Wish.ALL: words.stop_all, Wish.KIND: words.stop_kind, Wish.UNDO: words.undo}[wish]
    second = "" if first else ' class="second"'
    return f'<button type="submit" name="{FIELD}" value="{wish.value}"{second}>{escape(label)}</button>'
