"""What only a part of Postroom needs, and is installed with an extra of that part's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from postroom.errors import ConfigurationError


@contextmanager
def needed(who: str, *, extra: str) -> Iterator[None]:
    """Imports that may fail: what is missing is told with how to get it («templates need», «the admin app needs»).

    A module of ours that is missing is a bug, and is told as it is.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "postroom":
            raise
        raise ConfigurationError(f"{who} {error.name}: install it with `pip install 'postroom[{extra}]'`") from error
