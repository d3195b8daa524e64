"""What lets somebody in beside an emailed code: user second-factor."""

from __future__ import annotations

from typing import Annotated

import typer

from postroom.accounts.factors import factors_of, remove_factors
from postroom.accounts.letters import ACCOUNT_KIND, ChangeLetter
from postroom.cli.choice import Json
from postroom.cli.persons import Name, find, noted, say
from postroom.cli.screen import print_json
from postroom.cli.target import Target


def second_factor(
    target: Target,
    name: Name,
    reset: Annotated[
        bool, typer.Option("--reset", help="Take authenticator and recovery codes away; they are told by email.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what somebody has beside codes by email, or take it away: for a telephone that was lost."""
    with target.outbox() as outbox:
        person = find(outbox, name)
        if reset:
            outbox.database.run(noted("authenticator_off", person, remove_factors(person)))
            letter = ChangeLetter(to=person.name, change="authenticator_off", address="")
            outbox.enqueue(letter.email(), priority="urgent", kind=ACCOUNT_KIND)
        factors = outbox.database.run(factors_of(person.id), writes=False)
    if json:
        print_json(
            {"name": person.name, "authenticator": factors.authenticator, "recovery_codes": factors.recovery_codes}
        )
    elif reset:
        say(f"{person.name} signs in with codes by email now")
    else:
        say(f"{person.name} has {factors.told}")
