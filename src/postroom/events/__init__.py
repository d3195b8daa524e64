"""What changes of state cause elsewhere: webhooks to those who want to hear, and listeners of other packages.

A listener is a function of some changes that makes a plan, which is carried out in the transaction of these changes:

    def count(changed: Sequence[Changed]) -> Plan[None]:
        yield ask_sql("UPDATE campaigns SET sent = sent + :sent", sent=len(changed))

It is found under its name in the entry point group `postroom.listeners`.
"""

from __future__ import annotations

from postroom.events.listeners import GROUP, listeners_of
from postroom.store.listening import Changed, Hear, Listener
from postroom.store.plan import Plan, ask_sql

__all__ = ["GROUP", "Changed", "Hear", "Listener", "Plan", "ask_sql", "listeners_of"]
