"""A campaign described in one file: its sequence, its senders, and when the workspace sends."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postroom.campaigns.checks import listed, name_of, refuse, text_of
from postroom.campaigns.drafts.rendering import insist_on_reading
from postroom.campaigns.records import changed_sender, check_names, steps_from
from postroom.campaigns.values import LONGEST_NAME, Campaign, Sender, Sequence, Step, named
from postroom.errors import InvalidCampaign

LONGEST_FILE = 5_000_000
"""Characters."""

EXAMPLE = '''\
# A campaign: whom it is from, what it says, and when. Make a draft of it with
#   postroom campaign new this-file.toml
# Nothing is sent from a draft.

[campaign]
id = "spring"                  # how commands call it; letters, digits and the like, no colon
name = "Spring letter"
# senders = ["ada"]            # ids; without it all [[senders]] of this file
# sequence = "welcome"         # a sequence that is there already, in the place of [[steps]]

# When the workspace sends: for all of its campaigns. What is left out stays as it was.
[settings]
sending_days = ["mon", "tue", "wed", "thu", "fri"]
start_hour = 9                 # a window is open from 9:00 …
end_hour = 17                  # … until 17:00; an end before the start goes over midnight
timezone = "Europe/Berlin"     # on the clock of this place
daily_quota = 50               # mails a day, those of all campaigns together
ramp_up = [20, 30, 40]         # fewer on the first days of sending; [] for none
holidays = ["2026-12-25"]
gap_seconds = [30, 90]         # between two mails; chance chooses
person_hours = 0               # a person gets one mail of campaigns within so many hours; 0 is off
bounce_limit = 0.05            # the share of bounces at which a campaign pauses itself …
complaint_limit = 0.003        # … and of complaints …
limit_after = 100              # … once so many of its mails were sent

# Of a sender who is there already, what is left out stays as it was.
[[senders]]
id = "ada"
name = "Ada Lovelace"
address = "ada@example.org"
# reply_to = "hello@example.org"  # "none" for the address, also where there was another
# route = "default"            # the way out
# daily_quota = 30             # beside the workspace's; "none" for that one alone
# ramp_up = [5, 10, 20]        # "none" for none of their own

# The steps, one after another. Words in braces are the columns of the imported file,
# and unsubscribe_url: the link by which its reader stops it, another one in each mail.
[[steps]]
subject = "A question about {{ company }}"
text = """
Hello {{ name | default("there") }},

we read about {{ company }} and wondered …

Ada

No more of these letters: {{ unsubscribe_url }}
"""

[[steps]]
delay_days = 3                 # after the day on which the step before really left
# Without a subject it goes on in the same thread, as «Re:».
text = """
Hello {{ name | default("there") }},

did you find the time to read my letter?

Ada

No more of these letters: {{ unsubscribe_url }}
"""
'''


_ANYBODY = Sender(id="anybody", address="anybody@example.org")
"""Of whom something is said, as long as nobody knows them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a file says, checked by itself; whether it fits what is stored is seen when it is written."""

    campaign: Campaign
    sequence: Sequence | None
    """A new one; None where the campaign names one that is there."""
    settings: Mapping[str, Any]
    """What is to change of the workspace's."""
    senders: tuple[Mapping[str, Any], ...]
    """To be added, or changed in what is said of them."""
    sender_ids: tuple[str, ...]
    """Of those who send the campaign."""

    @property
    def sequence_field(self) -> str:
        """What the file calls the id of the sequence: without one of its own it has the campaign's."""
        return "campaign.id" if self.campaign.sequence_id == self.campaign.id else "campaign.sequence"


def read_description(text: str) -> Description:
    """What a file says; `InvalidCampaign` names the place that is wrong."""
    tables = _tables(text, ("campaign", "settings", "senders", "steps"))
    given = _table(tables, "campaign")
    check_names("campaign", given, ("id", "name", "senders", "sequence"))
    id = named("campaign.id", given.get("id"))
    name = name_of("campaign.name", given.get("name", id), longest=LONGEST_NAME)
    senders = tuple(map(_sender, listed("senders", tables.get("senders", ()), "tables, each under [[senders]]")))
    sequence = _sequence(tables, given, default_id=id, name=name)
    campaign = Campaign(id=id, name=name, sequence_id=sequence.id if sequence else given["sequence"])
    return Description(
        campaign=campaign,
        sequence=sequence,
        settings=_table(tables, "settings") if "settings" in tables else {},
        senders=senders,
        sender_ids=_sender_ids(given, senders),
    )


def read_steps(text: str, *, id: str) -> Sequence:
    """The steps of a sequence that has a file to itself; an optional `name` stands before them."""
    tables = _tables(text, ("name", "steps"))
    name = text_of("name", tables.get("name", id))
    return Sequence(id=id, name=name, steps=_steps(tables.get("steps", ())))


def _tables(text: str, known: tuple[str, ...]) -> dict[str, Any]:
    if len(text) > LONGEST_FILE:
        raise InvalidCampaign("file", f"has {len(text):,} characters", f"shorten it to {LONGEST_FILE:,}")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        remedy = "`postroom campaign new --example` shows one that is right"
        raise InvalidCampaign("file", f"is no TOML: {error}", remedy) from error
    check_names("file", tables, known)
    return tables


def _table(tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = tables.get(name)
    if not isinstance(found, Mapping):
        refuse(name, "a table", found, f"write [{name}] and what belongs to it beneath")
    return found


def _sequence(tables: Mapping[str, Any], campaign: Mapping[str, Any], *, default_id: str, name: str) -> Sequence | None:
    """A new one of the steps in the file, under the id that the campaign names, or under its own."""
    known = campaign.get("sequence")
    if known is not None:
        named("campaign.sequence", known)
    if "steps" in tables:
        return Sequence(id=default_id if known is None else known, name=name, steps=_steps(tables["steps"]))
    if known is None:
        raise InvalidCampaign("steps", "there is none", "write [[steps]], or name a sequence in [campaign]")
    return None


def _steps(records: object) -> tuple[Step, ...]:
    """Those that can be meant, and whose words can be read."""
    steps = steps_from(records)
    insist_on_reading(steps)
    return steps


def _sender(record: object) -> Mapping[str, Any]:
    """What is said of a sender. Whether all is said that a new one needs is known where the others are."""
    if not isinstance(record, Mapping):
        refuse("senders", "a table", record, "write it under [[senders]]")
    if "id" not in record:
        raise InvalidCampaign("sender.id", "is missing", "write it")
    changed_sender(_ANYBODY, record)
    return record


def _sender_ids(campaign: Mapping[str, Any], senders: tuple[Mapping[str, Any], ...]) -> tuple[str, ...]:
    if "senders" not in campaign:
        return tuple(sender["id"] for sender in senders)
    return tuple(text_of("campaign.senders", id) for id in listed("campaign.senders", campaign["senders"], '["ada"]'))
