"""Emails that are rendered when they are first attempted, and who renders them: here, or a portal in a folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from postroom import Attachment, Edition, Email
from postroom.errors import ConfigurationError, InvalidTemplate

OLD = Edition(portal="hub", template="welcome", version="9f2c1a83b0de", language="de")
NEW = replace(OLD, version="000000000001")
LOGO = Attachment("logo.png", b"not really a picture", content_id="logo")

_MODULE = """\
from dataclasses import dataclass

from postroom import Brand, Portal

hub = Portal("hub", templates="hub", sender="Hub <hello@hub.example>", brand=Brand(name="Hub"),
             languages=("en", "de"))


@hub.template
@dataclass(frozen=True)
class Welcome:
    name: str
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Words as a renderer gives them."""

    subject: str
    text: str
    html: str | None = None
    attachments: tuple[Attachment, ...] = ()
    edition: Edition = NEW


@dataclass(slots=True, kw_only=True)
class Press:
    """Renders in this process, never the same twice. `rejects` is what its template cannot say."""

    rejects: set[str] = field(default_factory=set)
    knows: bool = True
    more: str = ""
    printed: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, edition: Edition, context: str, /) -> Said:
        name = json.loads(context)["name"]
        if not self.knows:
            raise ConfigurationError(f"no template {edition.kind} is known here")
        if name in self.rejects:
            raise InvalidTemplate(edition.kind, "is missing", "give it a value", variable="link")
        with self._lock:
            self.printed.append(name)
            count = len(self.printed)
        return Said(
            subject=f"Hello {name}",
            text=f"Printed as number {count}.{self.more}",
            html=f'<p>Printed as number {count}.<img src="cid:logo">',
            attachments=(LOGO,),
        )


def late(name: str = "Ada", **fields: Any) -> Email:
    """An email to somebody that is not rendered yet."""
    given = {"to": f"{name.lower()}@example.org", "edition": OLD, "late": json.dumps({"name": name})} | fields
    return Email(**given)


def write_portal(folder: Path, *, greeting: str = "Hello") -> str:
    """A portal `hub` with a template `welcome`; where the settings find it, from that folder on."""
    module = re.sub(r"\W", "_", f"mail_of_{folder.name}")  # imported once in a process, so each folder has its own
    (folder / f"{module}.py").write_text(_MODULE)
    parts = {
        "subject.txt": f"{greeting} {{{{ name }}}}",
        "body.html": f"<html><body><p>{greeting} {{{{ name }}}}</p></body></html>",
        "body.txt": f"{greeting} {{{{ name }}}}\n",
        "sample.toml": '[ada]\nname = "Ada"\n',
    }
    for name, content in parts.items():
        place = folder / "hub" / "welcome" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    return json.dumps([f"{module}:hub"])
