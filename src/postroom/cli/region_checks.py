"""Whether somebody's move to another region was cut short."""

from __future__ import annotations

from collections.abc import Iterator

from postroom.cli.checks import Finding, Level
from postroom.operate.wording import count_of
from postroom.regions.leaving import underway
from postroom.store.open import Database


def check_moves(database: Database) -> Iterator[Finding]:
    """What has left for another region and is not known to have arrived; nothing where nothing has."""
    for each in database.run(underway(), writes=False):
        yield Finding(
            name="moves",
            level=Level.WARN,
            detail=f"{count_of(each.emails, 'email')} left for {each.region} since {each.since:%Y-%m-%d %H:%M} UTC, "
            "and nobody has heard of their arrival",
            remedy="if no move is running, finish it: `postroom region move --resume`",
        )
