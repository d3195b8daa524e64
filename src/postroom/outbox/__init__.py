"""The outbox: thin shells, blocking and awaiting, over one set of decisions.

What to write is decided by `HouseRules`, how to write it by the plans of `store/`; the shells here only choose whose
connection carries a plan, and whether anybody awaits it. A verb that exists in both reads the same in both.
"""

from postroom.outbox.awaiting import AsyncOutbox
from postroom.outbox.base import INLINE_POLICY, PRUNED, make_filter
from postroom.outbox.blocking import Outbox

__all__ = ["INLINE_POLICY", "PRUNED", "AsyncOutbox", "Outbox", "make_filter"]
