"""What the blocking and the awaiting regions share: which there are, whose is whose, and outboxes made when needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from postroom.errors import ConfigurationError, PostroomError
from postroom.fork import tell_after_fork
from postroom.outbox.base import OutboxBase

if TYPE_CHECKING:
    from postroom.config import Settings

O = TypeVar("O", bound=OutboxBase)  # noqa: E741  an outbox

WhichRegion = Callable[[Any], str]
"""The application's answer to which region somebody belongs to: the region's name."""


class RegionsBase(Generic[O]):
    """The regions of the settings, by name. A region's outbox is made when it is first asked for, and kept.

    So a region whose database is away, or unknown on this machine, is in nobody's way who does not ask for it.
    """

    _make: Callable[[Settings], O]

    def __init__(self, settings: Settings, *, of: WhichRegion | None = None) -> None:
        if not settings.regions:
            raise ConfigurationError("no regions are known; name them in the settings, as [regions.deu1] database = …")
        self.settings = settings
        """What all regions share, with their tables."""
        self._of = of
        self._open: dict[str, O] = {}
        self._lock = threading.Lock()
        self._closed = False
        tell_after_fork(self)

    @classmethod
    def from_settings(cls, settings: Settings | None = None, *, of: WhichRegion | None = None) -> Self:
        """The regions of these settings; of those of the environment and `postroom.toml` if none are given.

        `of` tells which region a user of yours belongs to; `regions.of(user)` is then that region's outbox.
        """
        from postroom.config import load_shared

        return cls(settings or load_shared(), of=of)

    def __getitem__(self, name: str) -> O:
        """The outbox of a region; `ConfigurationError` says which there are where it is none of them."""
        if (known := self._open.get(name)) is not None:
            return known
        settings = self.settings.of_region(name)
        with self._lock:
            if self._closed:
                raise PostroomError("these regions are closed; make new ones")
            if name not in self._open:
                self._open[name] = type(self)._make(settings)
            return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.settings.regions)

    def __len__(self) -> int:
        return len(self.settings.regions)

    def __contains__(self, name: object) -> bool:
        return name in self.settings.regions

    def of(self, user: Any) -> O:
        """The outbox of the region that a user belongs to, as the application's own function says."""
        if self._of is None:
            raise ConfigurationError("nobody has said whose region is which: give Regions.from_settings(of=…)")
        name: object = self._of(user)
        if isinstance(name, str) and name in self:
            return self[name]
        # Nothing of the user is told: it may hold an address, and errors end up in logs.
        known = ", ".join(self)
        answer = repr(name[:60]) if isinstance(name, str) and "@" not in name else f"a {type(name).__name__}"
        raise ConfigurationError(f"the function given as of= answered {answer}, which is no region; they are {known}")

    def forget_parent(self) -> None:
        """The outboxes begin anew by themselves; the lock may have been in another thread's hand."""
        self._lock = threading.Lock()

    def _leave(self) -> list[O]:
        """Nobody is given an outbox from now on; those that are to be closed."""
        with self._lock:
            self._closed = True
            left, self._open = list(self._open.values()), {}
        return left
