"""Lines of the audit log as people read them: what was done, to what, why, and what came of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from postroom.accounts.values import AuditEntry

_WORDS = {
    "password_right": "typed the right password",
    "password_wrong": "a wrong password was typed",
    "passwords_withheld": "too many wrong passwords: from here on nobody is told whether one is right",
    "code_mailed": "had a code mailed",
    "code_wrong": "a wrong code was typed",
    "code_from_host": "printed a code",
    "proof_wrong": "neither password nor code, for a change of the account",
    "sign_in": "signed in",
    "sign_out": "signed out",
    "authenticator_on": "took an authenticator into use",
    "authenticator_off": "took authenticator and recovery codes away",
    "recovery_codes_made": "made new recovery codes",
    "not_allowed": "asked for what they may not",
    "user_add": "added somebody",
    "user_role": "changed a role",
    "user_password": "gave a new password",
    "user_remove": "removed somebody",
    "token_add": "made a token",
    "token_revoke": "revoked a token",
    "enqueue": "enqueued an email",
    "route_pause": "paused a route",
    "route_resume": "resumed a route",
    "route_move": "moved emails to another route",
    "suppress": "said who is not to be mailed",
    "unsuppress": "removed an entry of who is not to be mailed",
    "suppressions_import": "imported a list of who is not to be mailed",
    "suppressions_export": "took a list of who is not to be mailed away",
    "campaign_new": "made a draft of a campaign",
    "campaign_settings": "changed when a workspace sends",
    "campaign_sender": "changed a sender of campaigns",
    "campaign_pause_sender": "paused a sender of campaigns",
    "campaign_resume_sender": "resumed a sender of campaigns",
    "campaign_senders": "changed who sends a campaign",
    "campaign_sequence": "changed a sequence",
    "campaign_import": "imported prospects",
    "campaign_launch": "launched a campaign",
    "campaign_pause": "paused a campaign",
    "campaign_resume": "resumed a campaign",
    "campaign_cancel": "cancelled a campaign",
    "campaign_pause_prospect": "paused a prospect of a campaign",
    "campaign_resume_prospect": "resumed a prospect of a campaign",
    "campaign_stop_prospect": "stopped a prospect of a campaign",
}
_DONE = {
    "retry": "retried",
    "dismiss": "dismissed",
    "reinstate": "reinstated",
    "cancel": "cancelled",
    "replay": "replayed",
    "prune": "removed",
}
_SAID = (
    "act",
    "state",
    "done",
    "left",
    "refused",
    "ids",
    "emails",
    "filter",
    "corrections",
    "reason",
    "id",
    "duplicate",
    "before",
    "after",
)
"""What has words of its own."""


def sentence(entry: AuditEntry) -> str:
    """What was done and what came of it, in a few words; the name of an act that has no words."""
    detail = entry.detail
    if "refused" in detail and detail.get("state") != "begun":
        return f"wanted to {_infinitive(entry.what)}, and was refused: {detail['refused']}"
    if entry.what in _DONE:
        return _act_in_words(entry.what, detail)
    if entry.what == "enqueue" and detail.get("duplicate"):
        return "enqueued an email that was there already"
    if entry.what == "suppressions_import" and detail.get("state") != "done":
        return f"{'began to import' if detail.get('state') == 'begun' else 'could not import all of'} a list"
    if entry.what == "route_move" and "emails" in detail:
        return f"moved {_emails(detail['emails'])} to another route"
    return _WORDS.get(entry.what, entry.what)


def particulars(entry: AuditEntry) -> Iterator[tuple[str, str]]:
    """The rest, by name: which emails, why, what was before and after."""
    detail = entry.detail
    if reason := detail.get("reason"):
        yield "why", str(reason)
    if wanted := detail.get("filter"):
        yield "those with", _pairs(wanted) if isinstance(wanted, Mapping) else str(wanted)
    corrections = detail.get("corrections")
    for field, sides in corrections.items() if isinstance(corrections, Mapping) else ():
        yield field, _both_sides(sides)
    if "before" in detail and "after" in detail:
        yield "state", _both_sides(detail)
    for name, value in detail.items():
        if name not in _SAID and value not in (None, ""):
            yield name.replace("_", " "), _text(value)


def email_ids(entry: AuditEntry) -> list[str]:
    """The emails that a line names."""
    named = entry.detail.get("ids") or ([entry.detail["id"]] if "id" in entry.detail else [])
    return [str(each) for each in named] if isinstance(named, list) else [str(named)]


def in_one_line(entry: AuditEntry) -> str:
    """Everything a line tells, for a terminal."""
    parts = [sentence(entry), *(f"{name}: {value}" for name, value in particulars(entry))]
    ids = email_ids(entry)
    shown = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
    return "; ".join([*parts, f"email {shown}"] if ids else parts)


def _act_in_words(what: str, detail: Mapping[str, Any]) -> str:
    if detail.get("state") == "begun":
        about = f" {_emails(detail['emails'])}" if "emails" in detail else ""
        return f"began to {_infinitive(what)}{about}"
    if "done" not in detail:
        return f"{_DONE[what]} an email"
    left = f", left {_emails(detail['left'])} as before" if detail.get("left") else ""
    return f"{_DONE[what]} {_emails(detail['done'])}{left}"


def _infinitive(what: str) -> str:
    return what.replace("_", " ")


def _emails(count: Any) -> str:
    return "1 email" if count == 1 else f"{count:,} emails" if isinstance(count, int) else f"{count} emails"


def _both_sides(sides: Any) -> str:
    if not isinstance(sides, Mapping):
        return _text(sides)
    after = _text(sides["after"]) if "after" in sides else "something else, which is not written down"
    return f"{_text(sides['before'])} → {after}" if "before" in sides else f"→ {after}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "nobody"
    return _pairs(value) if isinstance(value, Mapping) else str(value)
