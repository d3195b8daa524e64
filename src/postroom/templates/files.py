"""The files of a portal: which there are, in which language, and what they say.

Nothing outside the portal's folder is read, whatever a template names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from jinja2 import BaseLoader, Environment, TemplateNotFound

from postroom.errors import ConfigurationError
from postroom.templates.languages import Languages

SUBJECT, TEXT = "subject.txt", "body.txt"
HTML, MJML = "body.html", "body.mjml"
SAMPLE = "sample.toml"


class Files:
    """What is in a portal's folder, each file read once."""

    def __init__(self, root: Path, languages: Languages) -> None:
        self.root = root
        self.languages = languages
        self._read: dict[str, bytes | None] = {}

    def forget(self) -> None:
        """Read everything anew when it is next asked for."""
        self._read.clear()

    def content(self, name: str) -> bytes | None:
        """A file by its name within the folder; None where there is none."""
        if name not in self._read:
            self._read[name] = self._from_disk(name)
        return self._read[name]

    def _from_disk(self, name: str) -> bytes | None:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name:
            return None
        place = self.root / path
        if not place.is_file() or not place.resolve().is_relative_to(self.root.resolve()):
            return None
        return place.read_bytes()

    def spelled(self, name: str, language: str) -> str:
        """What a file is called in a language: `body.de.html`; in the default one it has none in its name."""
        if language == self.languages.default:
            return name
        stem, dot, ending = name.rpartition(".")
        return f"{stem}.{language}{dot}{ending}"

    def find(self, name: str, chain: tuple[str, ...]) -> str | None:
        """What a file is called in the first of these languages that it is there in."""
        spellings = (self.spelled(name, language) for language in chain)
        return next((each for each in spellings if self.content(each) is not None), None)

    def body_of(self, template: str, language: str) -> str | None:
        """The HTML of a template in a language: `body.html`, or `body.mjml`."""
        return next((each for each in (HTML, MJML) if self._has(template, each, language)), None)

    def missing(self, template: str, language: str) -> list[str]:
        """The parts that a template does not have in a language."""
        absent = [each for each in (SUBJECT, TEXT) if not self._has(template, each, language)]
        if self.body_of(template, language) is None:
            absent.append(HTML)
        return [self.spelled(each, language) for each in absent]

    def speaks(self, template: str, language: str) -> bool:
        """Whether a template is complete in a language."""
        return not self.missing(template, language)

    def folders(self) -> Iterator[str]:
        """The templates that there are files of."""
        if self.root.is_dir():
            for place in sorted(self.root.iterdir()):
                if place.is_dir() and any(place.glob("subject*.txt")):
                    yield place.name

    def text(self, name: str) -> str:
        """A file that is known to be there, as text."""
        content = self.content(name)
        assert content is not None
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise ConfigurationError(
                f"{self.root / name} is not UTF-8: octet {error.start}; save it as UTF-8"
            ) from error

    def _has(self, template: str, name: str, language: str) -> bool:
        return self.content(f"{template}/{self.spelled(name, language)}") is not None


class Loader(BaseLoader):
    """Files as one language sees them: `layout.html` is `layout.de.html` where there is one."""

    def __init__(self, files: Files, chain: tuple[str, ...]) -> None:
        self._files = files
        self._chain = chain

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, None]:
        name = self._files.find(template, self._chain)
        if name is None:
            raise TemplateNotFound(template)
        return self._files.text(name), str(self._files.root / name), None
