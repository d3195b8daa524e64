"""The address of a page of the gallery: what is shown of what, as the links on it say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from postroom.gallery.scheme import DARK, LIGHT

VIEWS = ("page", "text", "source")
_LONGEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A template's page; what is not said is what it begins with."""

    base: str
    """Where the gallery is, with the place its app is mounted at."""
    portal: str
    template: str
    language: str = ""
    sample: str = ""
    view: str = "page"
    scheme: str = LIGHT

    @classmethod
    def read(cls, base: str, portal: str, template: str, query: Mapping[str, str]) -> Address:
        """Whatever is no view or no scheme is the first one."""
        view = query.get("view", "")
        return cls(
            base=base,
            portal=portal,
            template=template,
            language=query.get("language", "")[:_LONGEST],
            sample=query.get("sample", "")[:_LONGEST],
            view=view if view in VIEWS else VIEWS[0],
            scheme=DARK if query.get("scheme") == DARK else LIGHT,
        )

    def but(self, **changes: Any) -> Address:
        return replace(self, **changes)

    def __str__(self) -> str:
        return self._at("")

    def document(self, state: str = "") -> str:
        """Of what the frame shows."""
        return self.but(view="page")._at("/document", **({"state": state} if state else {}))

    @property
    def send(self) -> str:
        return f"{self.base}/{self.portal}/{self.template}/send"

    @property
    def other_scheme(self) -> Address:
        return self.but(scheme=LIGHT if self.scheme == DARK else DARK)

    def _at(self, step: str, **more: str) -> str:
        said = {"language": self.language, "sample": self.sample}
        said |= {"view": self.view if self.view != VIEWS[0] else "", "scheme": DARK if self.scheme == DARK else ""}
        query = urlencode({name: value for name, value in (said | more).items() if value})
        return f"{self.base}/{self.portal}/{self.template}{step}" + (f"?{query}" if query else "")
