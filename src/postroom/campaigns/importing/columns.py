"""What the columns of a file mean, found once from its headings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.campaigns.checks import mailbox
from postroom.campaigns.drafts.prospects import Arrival, new_prospect_id
from postroom.campaigns.fields import check_field_name, check_value_of, spelled
from postroom.campaigns.values import Prospect
from postroom.errors import InvalidCampaign

ADDRESS = ("email", "e_mail", "address", "email_address", "mail")
OWN = ("id", "name", "timezone", "language")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The name of each column, in the order of the file."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, headings: Sequence[str]) -> Columns:
        """Of these headings; `InvalidCampaign` names the one that cannot be used."""
        headings = _without_end(headings)
        if any(map(_is_address, headings)):
            remedy = "add a line of headings before it, such as email,name"
            raise InvalidCampaign("file", "its first line looks like a person", remedy)
        names = tuple(_name(place, heading) for place, heading in enumerate(headings, 1))
        for place, name in enumerate(names):
            if name in names[:place]:
                what = "the address" if name == "address" else f"the field {name}"
                raise InvalidCampaign(f"column {place + 1}", f"is {what} for a second time", "rename or remove it")
        if "address" not in names:
            raise InvalidCampaign("email", "no column is called that", _no_address(headings))
        return cls(names=names)

    @property
    def fields(self) -> tuple[str, ...]:
        """Those that templates know beside what every prospect has."""
        return tuple(name for name in self.names if name not in (*OWN, "address"))

    def read(self, cells: Sequence[str]) -> Arrival:
        """A row as a prospect, checked; `InvalidCampaign` names the field that is wrong. Empty cells say nothing."""
        self._check_count(cells)
        said = {name: cell for name, cell in zip(self.names, map(str.strip, cells), strict=False) if cell}
        for name, value in said.items():
            check_value_of(name, value)
        if "address" not in said:
            raise InvalidCampaign("address", "is missing", "write it, or remove the row")
        own = {name: said[name] for name in (*OWN, "address") if name in said}
        fields = {name: value for name, value in said.items() if name not in own}
        prospect = Prospect(**{"id": new_prospect_id(), **own}, fields=fields)
        return Arrival(prospect.checked(), "id" in said)

    def _check_count(self, cells: Sequence[str]) -> None:
        filled = len(_without_end(cells))
        if filled > len(self.names) or len(cells) < len(self.names):
            count = max(filled, len(cells))
            columns = "1 column" if count == 1 else f"{count} columns"
            problem = f"has {columns}, and the headings are {len(self.names)}"
            raise InvalidCampaign("row", problem, "put a cell that has the delimiter in it in quotes")


def _name(place: int, heading: str) -> str:
    name = spelled(heading)
    if name in ADDRESS:
        return "address"
    if name in OWN:
        return name
    try:
        return check_field_name(name)
    except InvalidCampaign as error:
        told = f"the heading {heading.strip()[:60]!r}: {error.problem}"
        raise InvalidCampaign(f"column {place}", told, error.remedy) from error


def _is_address(heading: str) -> bool:
    try:
        mailbox("heading", heading.strip())
    except InvalidCampaign:
        return False
    return True


def _without_end(cells: Sequence[str]) -> list[str]:
    """Without the empty cells that spreadsheets leave at the end of a line."""
    found = list(cells)
    while found and not found[-1].strip():
        found.pop()
    return found


def _no_address(headings: Sequence[str]) -> str:
    return f"call the column of addresses email; the columns are {', '.join(each.strip() for each in headings)[:200]}"
