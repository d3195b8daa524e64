"""Which route an email takes that does not name one: a choice from rules, without anything else."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from postroom.config.matching import domain_matches, kind_matches
from postroom.vocabulary import Priority

if TYPE_CHECKING:
    from postroom.config.routing import RoutingRule


def choose(
    rules: Iterable[RoutingRule],
    *,
    kind: str,
    workspace: str,
    sender_domain: str,
    recipient_domains: Collection[str],
    priority: Priority,
) -> str | None:
    """The route of the first rule whose conditions all hold; None where none does. Domains are in lower case."""
    for rule in rules:
        if (
            (rule.kind is None or kind_matches(rule.kind, kind))
            and (rule.workspace is None or workspace in rule.workspace)
            and (rule.sender_domain is None or domain_matches(rule.sender_domain, sender_domain))
            and (rule.recipient_domain is None or _all_at(rule.recipient_domain, recipient_domains))
            and (rule.priority is None or priority in rule.priority)
        ):
            return rule.route
    return None


def _all_at(domains: tuple[str, ...], recipients: Collection[str]) -> bool:
    """Every recipient is at one of them; what has no recipients with a domain is at none."""
    return bool(recipients) and all(domain_matches(domains, each) for each in recipients)
