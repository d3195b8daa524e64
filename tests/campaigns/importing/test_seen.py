"""What an import remembers of its file, wherever it goes on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from postroom.campaigns.importing.seen import nothing_seen


def test_a_file_may_be_gone_on_with_in_another_thread() -> None:
    """Beside an event loop, each piece of an import is in whichever thread is free."""
    with (
        ThreadPoolExecutor(1) as one,
        ThreadPoolExecutor(1) as other,
        ExitStack() as closing,
    ):
        seen = one.submit(closing.enter_context, nothing_seen()).result()
        first = one.submit(seen.before, "to ada@x.example", 2).result()
        again = other.submit(seen.before, "to ada@x.example", 7).result()

    assert (first, again) == (None, 2)
