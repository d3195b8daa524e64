"""For those whose own tables Alembic looks after: ours are in no model, and autogenerate would have them dropped.

    from postroom.alembic import include_object

    context.configure(…, include_object=include_object)

Where the tables live under another name, `leave_alone("mail")` makes the function for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

IncludeObject = Callable[[Any, str | None, str, bool, Any], bool]
"""As Alembic calls it: the object, its name, its type, whether it was found in the database, and its counterpart."""


def leave_alone(tables: str = "postroom") -> IncludeObject:
    """A function that leaves out what is Postroom's: found in the database, in no model, under that schema or prefix.

    A table of the caller's own is compared as ever, whatever it is called.
    """

    def include(object: Any, name: str | None, type_: str, reflected: bool, compare_to: Any) -> bool:
        if type_ != "table" or not reflected or compare_to is not None:
            return True
        return not (getattr(object, "schema", None) == tables or (name or "").startswith(f"{tables}_"))

    return include


include_object = leave_alone()
