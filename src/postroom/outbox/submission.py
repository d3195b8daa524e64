"""From a submission to an `Order`: every decision of an enqueue, without a database, whoever submits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack

from postroom.channels import Channel, channel_of, channels
from postroom.channels.email import EMAIL
from postroom.compose import DEFAULT_LIMITS, Address, Email, Frozen, Letter, Limits, Sms, Webhook, check_key
from postroom.errors import ConfigurationError, InvalidEmail
from postroom.outbox.routing import choose
from postroom.outbox.unsubscribing import NO_LINKS, WISH, Links, refuse
from postroom.sealing import NO_KEYS, Keyring, put_apart
from postroom.settle.policy import PRESETS, RetryPolicy
from postroom.spelling import suggestion
from postroom.store.ids import new_id
from postroom.store.order import Order
from postroom.store.suppressions import AS_SHIPPED, SuppressionRules
from postroom.vocabulary import DEFAULT_ROUTE, LANES, EmailId, OnDoubt, Priority

if TYPE_CHECKING:
    from postroom.config import RoutingRule

NOBODY = Address("", "postroom@localhost")
"""The sender of last resort, so that a first try works; `postroom doctor` asks for a real one."""

LONGEST_NAME = 100


PriorityWord = Literal["urgent", "normal", "bulk"]
OnDoubtWord = Literal["resend", "hold"]


class Wishes(TypedDict, total=False):
    """What may be asked for an email beside its content."""

    policy: str | RetryPolicy | None
    route: str | None
    priority: PriorityWord | Priority
    not_before: datetime | None
    expires_at: datetime | None
    kind: str
    workspace: str
    sensitive: bool
    unsubscribable: bool
    on_doubt: OnDoubtWord | OnDoubt


Sendable: TypeAlias = Email | Webhook | Sms | Any
"""What can be enqueued: an `Email`, or whatever else a channel carries that is installed here."""

_KNOWN = frozenset(Wishes.__annotations__)
_NONE = Wishes()


class Submission(NamedTuple):
    """One email as somebody submits it, by the library, the command line or HTTP: nothing is decided yet.

    A tuple, because one is made for every email that comes in.
    """

    email: Sendable
    key: str | None = None
    wishes: Wishes = _NONE

    @classmethod
    def of(cls, email: Sendable, *, key: str | None = None, **wishes: Unpack[Wishes]) -> Submission:
        """The same from keywords."""
        return cls(email, key, wishes)


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseRules:
    """The rules of one outbox for what is submitted to it, by whichever door."""

    default_sender: Address = NOBODY
    default_policy: str = "patient"
    policies: Mapping[str, RetryPolicy] = field(default_factory=dict)
    limits: Limits = DEFAULT_LIMITS
    routes: frozenset[str] = frozenset({DEFAULT_ROUTE})
    """The names of routes that may be asked for."""
    routing: tuple[RoutingRule, ...] = ()
    carried: Mapping[str, str] = field(default_factory=dict)
    """What is known to leave by which route: names of channels by names of routes."""
    keyring: Keyring = NO_KEYS
    """What sensitive emails are sealed with."""
    suppressions: SuppressionRules = AS_SHIPPED
    """Which emails an entry about an address stops."""
    links: Links = NO_LINKS
    """What emails bear whose reader can stop them."""

    def order(self, submission: Submission, *, now: datetime | None = None, id: EmailId | None = None) -> Order:
        """Decide and check everything; what cannot be accepted is refused here, before anything is written.

        `id`, where it was given away before: what names a mail that is still to be written.
        """
        email, key, wishes = submission
        if not _KNOWN.issuperset(wishes):
            raise TypeError(_cannot_be_asked(sorted(set(wishes) - _KNOWN)))
        now = now or datetime.now(UTC)
        chosen, id = self.policy_for(wishes.get("policy")), id or new_id()
        if isinstance(email, Email):  # most are, and go the short way
            letter = Letter.compose(email, id=id, date=now, default_sender=self.default_sender)
            asked = self._asked(wishes, letter, now=now) if wishes or self.routing or email.edition else {}
            frozen = letter.freeze_within(self.limits) if not asked.get(WISH) else self._linked(letter, id, asked)
        else:
            frozen, asked = self._of_a_channel(email, wishes, id=id, now=now)
        if asked.get("sensitive"):
            frozen = put_apart(frozen, id=id, keyring=self.keyring)
        return Order(
            id=id,
            letter=frozen,
            policy=chosen.name if PRESETS.get(chosen.name) is chosen else chosen.to_text(),
            max_attempts=chosen.max_attempts,
            key=None if key is None else check_key(key, longest=self.limits.key),
            **asked,
        )

    def _linked(self, letter: Letter, id: EmailId, asked: Mapping[str, Any]) -> Frozen:
        """The same for an email whose reader can stop it: with its link."""
        link = self.links.for_letter(letter, id=id, workspace=asked["workspace"], kind=asked["kind"])
        return replace(letter.unsubscribable_at(link).freeze_within(self.limits), link=link)

    def policy_for(self, policy: str | RetryPolicy | None) -> RetryPolicy:
        """A policy by name or as it is; the outbox's own when none is asked for."""
        if isinstance(policy, RetryPolicy):
            return policy
        name = self.default_policy if policy is None else policy
        found = self.policies.get(name) or PRESETS.get(name)
        if found is None:
            names = ", ".join([*PRESETS, *self.policies])
            raise ConfigurationError(f"no retry policy is named {name!r}; the known ones are {names}")
        return found

    def _of_a_channel(
        self, payload: Any, wishes: Wishes, *, id: EmailId, now: datetime
    ) -> tuple[Frozen, dict[str, Any]]:
        """The same for what is no email: frozen by the channel that carries it, on a route that does."""
        kind: type = type(payload)
        channel = channel_of(kind)
        if channel is None:
            known = ", ".join(sorted(each.payload.__name__ for each in channels().values()))
            raise InvalidEmail("email", f"no channel carries a {kind.__name__}", f"give one of {known}")
        if wishes.get(WISH):
            refuse(payload)
        frozen = channel.freeze(payload, id=id, date=now, default_sender=self.default_sender, limits=self.limits)
        asked = _read(wishes, now=now) if wishes else {}
        asked["channel"] = channel.name
        asked["route"] = self._route(wishes.get("route"), None, asked, channel)
        return frozen, asked

    def _asked(self, wishes: Wishes, letter: Letter, *, now: datetime) -> dict[str, Any]:
        """What an order says beside the letter, its policy and its key."""
        asked = _read(wishes, now=now) if wishes else {}
        if letter.edition is not None and not asked.get("kind"):
            asked["kind"] = letter.edition.kind
        if self.routing or "route" in wishes:
            asked["route"] = self._route(wishes.get("route"), letter, asked, EMAIL)
        return asked

    def _route(self, route: str | None, letter: Letter | None, asked: Mapping[str, Any], channel: Channel) -> str:
        """The route that is asked for, else that of the first rule that holds, else the channel's own.

        Rules that lead to a route of another channel are passed over.
        """
        if route is not None:
            return self._known(route, channel)
        chosen = choose(
            [rule for rule in self.routing if self.carried.get(rule.route, channel.name) == channel.name],
            kind=asked.get("kind", ""),
            workspace=asked.get("workspace", ""),
            sender_domain=letter.senders[0].domain if letter else "",
            recipient_domains={address.rpartition("@")[2] for address in letter.recipients} if letter else (),
            priority=asked.get("priority", Priority.NORMAL),
        )
        return chosen or self._known(channel.route, channel)

    def _known(self, route: str, channel: Channel) -> str:
        if route not in self.routes and not (channel.always and route == channel.route):
            raise InvalidEmail("route", f"no route is called {route!r}", self._remedy(route, channel))
        carries = self.carried.get(route, channel.name)
        if carries != channel.name:
            raise InvalidEmail("route", f"{route!r} carries {carries}, not {channel.name}", "name another route")
        return route

    def _remedy(self, route: str, channel: Channel) -> str:
        if route == channel.route:
            ways = " or ".join(f"{scheme}:" for scheme in channel.transports)
            return f"add [routes.{route}] to the settings, with a transport that begins with {ways}"
        return suggestion(str(route), sorted(self.routes))


def _read(wishes: Wishes, *, now: datetime) -> dict[str, Any]:
    """What is wished for, checked; most senders ask for nothing."""
    not_before = wishes.get("not_before")
    return {
        "priority": read_priority(wishes.get("priority", Priority.NORMAL)),
        "not_before": _aware("not_before", not_before),
        "expires_at": _later("expires_at", wishes.get("expires_at"), not_before or now),
        "kind": _name("kind", wishes.get("kind", "")),
        "workspace": _name("workspace", wishes.get("workspace", "")),
        "sensitive": bool(wishes.get("sensitive")),
        "unsubscribable": bool(wishes.get("unsubscribable")),
        "on_doubt": _on_doubt(wishes.get("on_doubt", OnDoubt.RESEND)),
    }


def read_priority(value: str | Priority) -> Priority:
    """A lane from its word, as doors receive it."""
    try:
        lane = value if isinstance(value, Priority) else Priority[value.upper()]
    except (KeyError, AttributeError):
        raise InvalidEmail("priority", f"{value!r} is no lane", "use 'urgent', 'normal' or 'bulk'") from None
    if lane not in LANES:
        raise InvalidEmail("priority", f"{lane.label!r} is for campaigns alone", "use 'urgent', 'normal' or 'bulk'")
    return lane


def _on_doubt(value: str | OnDoubt) -> OnDoubt:
    if isinstance(value, OnDoubt):
        return value
    try:
        return OnDoubt(value)
    except ValueError:
        raise InvalidEmail("on_doubt", f"{value!r} is unknown", "use 'resend' or 'hold'") from None


def _aware(field: str, value: datetime | None) -> datetime | None:
    if value is None:
        return None
    if value.tzinfo is None:
        raise InvalidEmail(field, f"{value!r} has no timezone", "give an aware datetime, such as datetime.now(UTC)")
    return value.astimezone(UTC)


def _later(field: str, value: datetime | None, than: datetime) -> datetime | None:
    value = _aware(field, value)
    if value is not None and value <= than:
        raise InvalidEmail(field, "the email would expire before its first attempt", "give a later time")
    return value


def _name(field: str, value: str) -> str:
    if not value:
        return ""
    if len(value) > LONGEST_NAME or not value.isprintable():
        raise InvalidEmail(field, f"is not a name of at most {LONGEST_NAME} printable characters", "use a shorter one")
    return value


def _cannot_be_asked(unknown: Sequence[str]) -> str:
    if "connection" in unknown:
        return (
            "send and send_soon take no connection: what has been sent cannot be rolled back; use "
            "enqueue(email, connection=…), and a worker sends the email when you have committed"
        )
    return f"{', '.join(unknown)} cannot be asked for an email; {suggestion(unknown[0], sorted(_KNOWN))}"
