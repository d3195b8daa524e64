"""The words of the product, used alike in code, SQL, API, screens and docs."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NewType

EmailId = NewType("EmailId", str)
"""A UUIDv7 in its canonical spelling; later emails have greater ids."""

LeaseToken = NewType("LeaseToken", int)
"""Counts the claims of one email; only the holder of the newest may settle it."""

DEFAULT_ROUTE = "default"
"""The way out of an email for which nothing else was chosen."""

SENSITIVE = "(sensitive)"
"""In the place of a sensitive email's subject, wherever emails are shown."""

NOT_RENDERED = "(rendered when sent)"
"""In the place of the subject of an email whose words are still to be rendered."""

SIGN_IN_CODE = "admin.tfa"
"""The kind of emails that bring the code of a sign-in."""


class Status(StrEnum):
    """The one visible state an email is in."""

    PENDING = "pending"
    """Due now, or later when scheduled."""
    QUEUED = "queued"
    """Handed to the broker, not yet picked up."""
    SENDING = "sending"
    """Claimed under a lease."""
    RETRYING = "retrying"
    """Failed, will be tried again."""
    IN_DOUBT = "in_doubt"
    """The server may have taken it; nobody can know."""
    SENT = "sent"
    """Accepted for at least one recipient, and open for none."""
    DEAD = "dead"
    """Gave up: needs a person."""
    CANCELLED = "cancelled"
    """Stopped by a person before it left."""


class Change(StrEnum):
    """What happens to an email that others may hear of: a new status, something beside it, or something that came back.

    That it came in and that somebody took it in hand are not among them.
    """

    SENT = "sent"
    RETRYING = "retrying"
    IN_DOUBT = "in_doubt"
    DEAD = "dead"
    CANCELLED = "cancelled"
    PENDING = "pending"
    """Due again, by a person's wish: retried or replayed."""
    DISMISSED = "dismissed"
    """Deleted by a person."""
    REINSTATED = "reinstated"
    """Dismissed, and put back by a person: dead or in doubt again, as it was."""
    MOVED = "moved"
    """It is in another region from now on, and gone from here."""
    REROUTED = "rerouted"
    """It leaves by another route."""
    DEFERRED = "deferred"
    """Put off untried, for a reason; or, after it was sent, the other end goes on trying."""
    DELIVERED = "delivered"
    """This one and those below came back after it was sent: see `Return`. The status stays as it is."""
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    REPLIED = "replied"
    AUTORESPONDED = "autoresponded"
    UNSUBSCRIBED = "unsubscribed"


class DeadReason(StrEnum):
    """Why an email was given up."""

    MAX_ATTEMPTS = "max_attempts"
    PERMANENT = "permanent"
    EXPIRED = "expired"
    SUPPRESSED = "suppressed"
    INVALID = "invalid"
    """It could not be rendered or built."""


class Priority(IntEnum):
    """The lane an email waits in; smaller goes first."""

    URGENT = 0
    NORMAL = 1
    BULK = 2
    CAMPAIGN = 3
    """Asked for by campaigns alone: their mail leaves when windows, quotas and gaps let it, not when it is due."""

    @property
    def label(self) -> str:
        return self.name.lower()


LANES = (Priority.URGENT, Priority.NORMAL, Priority.BULK)
"""Those that anybody may ask for, and whose emails leave when they are due."""


class OnDoubt(StrEnum):
    """What to do when the final dot left and no reply came back."""

    RESEND = "resend"
    """Send again, recorded as a possible second copy."""
    HOLD = "hold"
    """Keep it for a person; never a second copy."""


class Return(StrEnum):
    """What came back about an email that was sent: the second axis, beside its status."""

    DELIVERED = "delivered"
    """The other end says that it is in the mailbox."""
    DEFERRED = "deferred"
    """The other end goes on trying. (An email that we put off ourselves is `Change.DEFERRED`.)"""
    BOUNCED = "bounced"
    """It did not arrive; the class says whether it ever can."""
    COMPLAINED = "complained"
    """The reader has called it spam."""
    REPLIED = "replied"
    """A person has answered."""
    AUTORESPONDED = "autoresponded"
    """A program has answered: out of office, ticket systems."""
    UNSUBSCRIBED = "unsubscribed"
    """The reader wants no more of these."""


class BounceClass(StrEnum):
    """Whether what bounced can ever arrive."""

    PERMANENT = "permanent"
    """There is no such mailbox, and never will be. Nothing else is permanent: policies, blocks and full mailboxes are
    refused for good by the server, and the same address may take the next email."""
    TRANSIENT = "transient"
    UNDETERMINED = "undetermined"
    """It did not arrive, and nobody said why."""


class SuppressionScope(StrEnum):
    """Which emails an address is not to get any more."""

    ALL = "all"
    WORKSPACE = "workspace"
    """Those of one workspace that can be unsubscribed from."""
    KIND = "kind"
    """Those of one kind in one workspace that can be unsubscribed from."""


class SuppressionReason(StrEnum):
    """Why an address is not to be mailed."""

    HARD_BOUNCE = "hard_bounce"
    COMPLAINT = "complaint"
    UNSUBSCRIBE = "unsubscribe"
    MANUAL = "manual"
    """A person has said so."""
    IMPORTED = "imported"
    """It was on a list that was brought along from elsewhere."""


class WaitReason(StrEnum):
    """Why a mail of a campaign does not leave just now; each waiting mail shows one."""

    WINDOW_CLOSED = "window_closed"
    HOLIDAY = "holiday"
    QUOTA_USED = "quota_used"
    """As much as may leave on this window day has left, or is leaving."""
    RAMP_DAY = "ramp_day"
    """The same, where the ramp-up and not the quota is what holds it."""
    GAP = "gap"
    """The mail before it has left only just now."""
    WAITING_STEP = "waiting_step"
    """The step before it has not been sent, or was sent too few days ago."""
    PAUSED = "paused"
    AWAY = "away"
    """Its prospect is not there, and has said until when."""
    RENDERING = "rendering"
    """Writing it took longer than it may; it is tried again."""
    SENDER_DOWN = "sender_down"
    NO_WORKER = "no_worker"
    """It might leave, and for a while nobody who could send it has looked."""


class CampaignStatus(StrEnum):
    """Where a campaign stands."""

    DRAFT = "draft"
    """Being made: nothing leaves, and everything may still be changed."""
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    """Everybody has had the last step, or was stopped before."""
    CANCELLED = "cancelled"


class LaunchStage(StrEnum):
    """What the launch of a campaign is at."""

    CHECKING = "checking"
    """Every step is written for every prospect, to see whether it can be."""
    LAUNCHING = "launching"
    """Every mail gets its row, and may leave from then on."""
    PLANNING = "planning"
    """It is worked out when each mail of the workspace is to leave."""


class EnrolmentStatus(StrEnum):
    """Where one prospect stands in one campaign."""

    ENROLLED = "enrolled"
    """In a campaign that is not launched yet: neither the version of the sequence nor the sender is settled."""
    ACTIVE = "active"
    PAUSED = "paused"
    REPLIED = "replied"
    UNSUBSCRIBED = "unsubscribed"
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    COMPLETED = "completed"
    """The last step was sent."""
    STOPPED = "stopped"
    """Ended before the last step, for the reason that stands beside it."""


class MailState(StrEnum):
    """Where one mail of a launched campaign stands: one step to one prospect."""

    WAITING = "waiting"
    """The step before is not sent yet, or its prospect is paused."""
    READY = "ready"
    """It leaves when its turn comes."""
    LEAVING = "leaving"
    """It has an email in the outbox, whose status says the rest."""
    SENT = "sent"
    DEAD = "dead"
    """Given up; nothing follows it."""
    STOPPED = "stopped"
    """It will never leave, for the reason that stands beside it."""
