"""What there is to show: the portals, and what is wrong with them, looked at anew when a file has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from threading import Lock

from postroom.errors import PostroomError
from postroom.gallery.watch import state_of
from postroom.templates.checks import Finding, check_folders, check_template
from postroom.templates.portal import Portal

EVERY = 0.2
"""Seconds between two looks while somebody waits for a change."""
PATIENCE = 5.0
"""Seconds after which whoever waits is told that nothing has changed; a server that stops waits no longer for them."""
MOST_WAITING = 32
"""How many may wait at once; others are told at once how things stand, and ask again."""

Findings = tuple[Finding, ...]


class Collection:
    """The portals of one house. May be used by any number of threads.

    With `live`, files are read anew once they have changed: for those who write them. Without, what is shown is what
    this process would send, which has read its templates once.
    """

    def __init__(self, find: Callable[[], Mapping[str, Portal]], *, live: bool) -> None:
        self.live = live
        self._find = find
        self._lock = Lock()
        self._known: Mapping[str, Portal] = {}
        self._state = ""
        self._findings: dict[tuple[str, str, str], tuple[str, Findings]] = {}
        self._waiting = 0
        self._closed = False

    def portals(self) -> Mapping[str, Portal]:
        """By their names, as their files are now. `ConfigurationError` says which cannot be found."""
        try:
            self._known = portals = self._find()
        except PostroomError:
            raise
        except Exception as error:  # an application's module is imported, and may raise anything
            raise CannotImport(error) from error
        if self.live:
            self._renew(portals)
        return portals

    def findings(self, portal: Portal, name: str, language: str) -> Findings:
        """What `postroom template check` says of a template in a language.

        That takes a moment, and is found out once for each state of the files that the template may be made of.
        """
        key = (portal.name, name, language)
        others = [each for each in portal.names if each != name]
        state = state_of([portal.root], but=others) if self.live else ""
        known, found = self._findings.get(key, ("unknown", ()))
        if known != state:
            found = tuple(_told(portal, check_template(portal, name, [language])))
            self._findings[key] = (state, found)
        return found

    def all_findings(self, portal: Portal) -> Findings:
        """The same of a whole portal."""
        loose = tuple(_told(portal, check_folders(portal)))
        places = [(name, language) for name in portal.names for language in portal.languages.spoken]
        found = [each for name, language in places for each in self.findings(portal, name, language)]
        return (*loose, *dict.fromkeys(found))

    def check_all(self) -> None:
        """Find out all there is to be found, so that nobody waits for it later; ends early when this is closed."""
        for portal in self.portals().values():
            for name in portal.names:
                for language in portal.languages.spoken:
                    if not self._closed:
                        self.findings(portal, name, language)

    def state(self) -> str:
        """Another text after every change of a file; the same for ever where nobody looks."""
        return state_of(portal.root for portal in self._known.values()) if self.live else ""

    async def changed(self, since: str, gone: Callable[[], Awaitable[bool]] | None = None) -> str:
        """The state, as soon as it is another one than `since`, or after a while, or when whoever asked is gone."""
        if self._waiting >= MOST_WAITING or not self.live:
            return await asyncio.to_thread(self.state)
        self._waiting += 1
        try:
            return await self._wait(since, gone or _still_there)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Let go of whoever waits."""
        self._closed = True

    async def _wait(self, since: str, gone: Callable[[], Awaitable[bool]]) -> str:
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while True:
            state = await asyncio.to_thread(self.state)
            if state != since or self._closed or loop.time() > end or await gone():
                return state
            await asyncio.sleep(EVERY)

    def _renew(self, portals: Mapping[str, Portal]) -> None:
        state = self.state()
        with self._lock:
            if state != self._state:
                self._state = state
                for portal in portals.values():
                    portal.reload()


async def _still_there() -> bool:
    return False


def _told(portal: Portal, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Findings, and that no more can be found, where that is so."""
    try:
        yield from findings
    except Exception as error:  # noqa: BLE001 -- while templates are being written, anything may be wrong with them
        problem = f"it cannot be checked: {type(error).__name__}: {error}"
        yield Finding(template=portal.name, rule="broken", problem=problem, remedy="correct its files")


class CannotImport(PostroomError):
    """The application's module with its portals raises something when it is imported."""

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"the portals cannot be imported: {type(error).__name__}: {error}; correct it, and load this page again"
        )
