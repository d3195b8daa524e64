"""What a person does to emails: retry, dismiss, cancel."""

from __future__ import annotations

from postroom.cli.acts import Act, carry_out
from postroom.cli.choice import ActOptions, FilterOptions, Ids, Json
from postroom.cli.target import Target
from postroom.outbox import Outbox
from postroom.store.contract import Filter


def retry(target: Target, wanted: FilterOptions, options: ActOptions, ids: Ids = None, json: Json = False) -> None:
    """Start dead or doubtful emails over: due now, with all their attempts."""
    carry_out(target, _store_act("retry", "retried", options.actor), ids, wanted, options, json=json)


def dismiss(target: Target, wanted: FilterOptions, options: ActOptions, ids: Ids = None, json: Json = False) -> None:
    """Delete dead or doubtful emails. Their keys stay taken."""
    carry_out(target, _store_act("dismiss", "dismissed", options.actor), ids, wanted, options, json=json)


def cancel(target: Target, wanted: FilterOptions, options: ActOptions, ids: Ids = None, json: Json = False) -> None:
    """Stop emails that have not left yet."""
    carry_out(target, _store_act("cancel", "cancelled", options.actor), ids, wanted, options, json=json)


def _store_act(name: str, done: str, actor: str) -> Act:
    def on_one(outbox: Outbox, id: str) -> None:
        getattr(outbox, name)(id, by=actor)

    def on_many(outbox: Outbox, wanted: Filter, limit: int | None) -> int:
        return outbox.act(name, wanted, by=actor, limit=limit)

    return Act(name=name, done=done, on_one=on_one, on_many=on_many)
