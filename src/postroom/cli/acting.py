"""What a person does to emails: retry, dismiss, cancel."""

from __future__ import annotations

from postroom.cli.acts import Act, carry_out
from postroom.cli.choice import ActOptions, FilterOptions, Ids, Json
from postroom.cli.target import Target

_RETRY = Act(name="retry", done="retried")
_DISMISS = Act(name="dismiss", done="dismissed")
_CANCEL = Act(name="cancel", done="cancelled")


def retry(target: Target, wanted: FilterOptions, options: ActOptions, ids: Ids = None, json: Json = False) -> None:
    """Start dead or doubtful emails over: due now, with all their attempts."""
    carry_out(target, _RETRY, ids, wanted, options, json=json)


def dismiss(target: Target, wanted: FilterOptions, options: ActOptions, ids: Ids = None, json: Json = False) -> None:
    """Delete dead or doubtful emails. Their keys stay taken; `reinstate` undoes it for a while."""
    carry_out(target, _DISMISS, ids, wanted, options, json=json)


def cancel(target: Target, wanted: FilterOptions, options: ActOptions, ids: Ids = None, json: Json = False) -> None:
    """Stop emails that have not left yet."""
    carry_out(target, _CANCEL, ids, wanted, options, json=json)
