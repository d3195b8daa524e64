"""A claimed email made ready to leave, and what came of it made ready to be recorded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from postroom.channels import Channel
from postroom.compose.frozen import recipients_in
from postroom.errors import UnreadableEmail
from postroom.sealing import NO_KEYS, Keyring, Opened, is_apart, opened
from postroom.send.contract import Payload, Report
from postroom.settle.attempt import Attempted, Outcome, RecipientState, RecipientStatus
from postroom.settle.policy import RetryPolicy
from postroom.store.contents import Content
from postroom.store.contract import Claim, Claimed, Settlement
from postroom.store.unreadable import GONE
from postroom.vocabulary import DeadReason, Status
from postroom.work.objections import Objection

MOST_WORDS = 25_000
"""Letters kept of what was said to the recipients of one email, all together; …"""
FEWEST_WORDS = 80
"""… but so many of each of them."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


@dataclass(slots=True, eq=False)
class Parcel:
    """What a transport needs to send a claimed email, and `settle` to judge the attempt."""

    claimed: Claimed
    claim: Claim
    payload: Payload
    recipients: tuple[str, ...]
    """All of them; the payload names those who still wait for it."""
    objection: Objection | None = None
    """Why it did not leave, where something spoke against it at the last moment."""

    def leaves_no_trace(self, settled: Settlement) -> bool:
        """It was sent and no row was ever written: there is nothing to record."""
        claimed = self.claimed
        return claimed.order is not None and not claimed.perhaps_stored and settled.status is Status.SENT

    @property
    def attempted(self) -> Attempted:
        """The email as `settle` knows it; made when asked for, because most attempts are settled without it."""
        return attempted(self.claimed, recipient_states(self.claimed, self.recipients))


def pack(claimed: Claimed, channel: Channel, content: Content | None = None, keyring: Keyring = NO_KEYS) -> Parcel:
    """Make an email ready. Raises whatever preparing raises, or judging would: such an email is `invalid`.

    `content` is that of an email which was claimed without. Beside the payload, nothing of it is kept. What a sensitive
    email says is taken out of its box here, and nowhere else but where it is rendered; it goes to those whom the box
    names, whoever may have written other addresses on the outside.
    """
    insist_on_content(claimed)
    if claimed.channel != channel.name:
        raise UnreadableEmail(claimed.id, f"its route carries {channel.name}, and it is for {claimed.channel}")
    outside: Claimed | Opened = claimed
    source: Claimed | Content | Opened = content or claimed
    if is_apart(claimed.envelope):
        outside = source = opened(source.attachments, id=claimed.id, version=claimed.version, keyring=keyring)
    states = None if claimed.outcomes is None else recipient_states(claimed, recipients_in(outside.envelope))
    payload = channel.prepare(
        id=claimed.id,
        subject=outside.subject,
        message_id=claimed.message_id,
        envelope=outside.envelope,
        text=source.text,
        html=source.html,
        attachments=source.attachments,
        only=None if states is None else _open(states),
    )
    _policy(claimed.policy, claimed.max_attempts)
    recipients = payload.recipients if states is None else tuple([state.address for state in states])
    return Parcel(claimed, claimed.claim, payload, recipients)


def insist_on_content(claimed: Claimed) -> None:
    """Raise if there is nothing to be sent any more."""
    if not claimed.envelope:
        raise UnreadableEmail(claimed.id, GONE)


def _open(states: tuple[RecipientState, ...]) -> tuple[str, ...]:
    return tuple([state.address for state in states if state.status is RecipientStatus.OPEN])


@lru_cache(256)
def _policy(text: str, max_attempts: int) -> RetryPolicy:
    policy = RetryPolicy.from_text(text)
    return policy if policy.max_attempts == max_attempts else policy.with_max_attempts(max_attempts)


def recipient_states(claimed: Claimed, addresses: tuple[str, ...]) -> tuple[RecipientState, ...]:
    """Where each recipient stood at the claim."""
    if claimed.outcomes is None:
        return tuple([RecipientState(address=address) for address in addresses])
    return tuple(
        RecipientState(address=address, status=RecipientStatus(status), code=code, text=text)
        for address, (status, code, text) in zip(addresses, json.loads(claimed.outcomes), strict=True)
    )


def attempted(claimed: Claimed, states: tuple[RecipientState, ...]) -> Attempted:
    """The claimed email as `settle` knows it."""
    return Attempted(
        status=_status_before(claimed),
        attempts=claimed.attempts,
        due_at=claimed.due_at or claimed.claimed_at,
        policy=_policy(claimed.policy, claimed.max_attempts),
        recipients=states,
        on_doubt=claimed.on_doubt,
        expires_at=claimed.expires_at,
        takeovers=claimed.takeovers,
        inline=claimed.inline,
    )


def _status_before(claimed: Claimed) -> Status:
    """What it was before the claim; one that was ever in doubt is so until it is sent or dead."""
    if claimed.doubts:
        return Status.IN_DOUBT
    return Status.RETRYING if claimed.attempts else Status.PENDING


def settlement(claimed: Claimed, outcome: Outcome, *, doubt: bool, event: str | None = None) -> Settlement:
    """An outcome as the store records it. `doubt`: this attempt has left a new one."""
    detail = _encode(outcome.event)
    return Settlement(
        claim=claimed.claim,
        status=outcome.status,
        attempts=outcome.attempts,
        due_at=outcome.due_at,
        dead_reason=outcome.dead_reason,
        last_error=outcome.last_error,
        reply_code=outcome.reply_code,
        reply=detail,
        outcomes=_outcomes(outcome),
        doubts=claimed.doubts + doubt,
        takeovers=outcome.takeovers,
        event=event or _event(outcome, doubt),
        detail=detail,
        order=claimed.order,
        sensitive=claimed.sensitive,
    )


def left_in_doubt(report: Report) -> bool:
    """The dot left and no complete reply came back."""
    return report.dot_left and report.reply is None


def invalid(claimed: Claimed, error: Exception) -> Settlement:
    """An email that could not be built is dead at once; the message says no more than what kind of error it was."""
    problem = f"the email could not be built ({type(error).__name__}); correct it and replay it"
    if isinstance(error, UnreadableEmail):
        problem = f"the email could not be built: {error.problem}"
    return Settlement(
        claim=claimed.claim,
        status=Status.DEAD,
        attempts=claimed.attempts + 1,
        dead_reason=DeadReason.INVALID,
        last_error=problem,
        outcomes=claimed.outcomes,
        doubts=claimed.doubts,
        takeovers=claimed.takeovers,
        event="failed",
        detail=json.dumps({"outcome": "dead", "dead_reason": "invalid", "error": type(error).__name__}),
        order=claimed.order,
        sensitive=claimed.sensitive,
    )


def _event(outcome: Outcome, doubt: bool) -> str | None:
    """What the history says; an email that simply went out has nothing to tell."""
    if doubt:
        return "in_doubt"
    if outcome.status is Status.SENT:
        return "sent" if outcome.event.get("possible_second_copy") else None
    return "failed"


def _outcomes(outcome: Outcome) -> str | None:
    """The recipients' states, unless they all share the email's."""
    states = outcome.recipients
    first = states[0]
    alike = all(state.status is first.status and state.text == first.text for state in states)
    if (
        alike
        and all(state.code == outcome.reply_code for state in states)
        and (first.status is not RecipientStatus.SENT or outcome.status is Status.SENT)
    ):
        return None
    return written_states(states)


def written_states(states: tuple[RecipientState, ...]) -> str:
    """The recipients' states as they are stored."""
    longest = max(FEWEST_WORDS, MOST_WORDS // len(states))
    return json.dumps(
        [[state.status, state.code, state.text and state.text[:longest]] for state in states], ensure_ascii=False
    )
