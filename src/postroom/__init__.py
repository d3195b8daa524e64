"""The reliable email outbox: every email your application commits is sent, or you can see why not.

A name is imported from where it lives when it is first asked for: an application that enqueues needs neither the engine
that sends nor the command line, and `import postroom` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.lazy import lazily

if TYPE_CHECKING:
    from postroom.compose.address import Address
    from postroom.compose.attachment import Attachment
    from postroom.compose.edition import Edition
    from postroom.compose.email import Email
    from postroom.compose.invite import Invite
    from postroom.compose.limits import Limits
    from postroom.compose.sms import Sms
    from postroom.compose.unsubscribing import UNSUBSCRIBE_URL
    from postroom.compose.webhook import Webhook
    from postroom.config.routes import RouteSettings
    from postroom.config.settings import Settings
    from postroom.errors import PostroomError
    from postroom.outbox.awaiting import AsyncOutbox
    from postroom.outbox.blocking import Outbox
    from postroom.outbox.outcome import SendOutcome
    from postroom.regions.awaiting import AsyncRegions
    from postroom.regions.blocking import Regions
    from postroom.settle.policy import RetryPolicy
    from postroom.store.contract import Filter, Page, Receipt, StoredEmail
    from postroom.store.suppressions import Suppression, SuppressionPage
    from postroom.templates.brand import Brand
    from postroom.templates.portal import Portal
    from postroom.vocabulary import DeadReason, EmailId, OnDoubt, Priority, Status

__version__ = "0.1.0"

HOMES = {
    "UNSUBSCRIBE_URL": "postroom.compose.unsubscribing",
    "Address": "postroom.compose.address",
    "AsyncOutbox": "postroom.outbox.awaiting",
    "AsyncRegions": "postroom.regions.awaiting",
    "Attachment": "postroom.compose.attachment",
    "Brand": "postroom.templates.brand",
    "DeadReason": "postroom.vocabulary",
    "Edition": "postroom.compose.edition",
    "Email": "postroom.compose.email",
    "EmailId": "postroom.vocabulary",
    "Filter": "postroom.store.contract",
    "Invite": "postroom.compose.invite",
    "Limits": "postroom.compose.limits",
    "OnDoubt": "postroom.vocabulary",
    "Outbox": "postroom.outbox.blocking",
    "Page": "postroom.store.contract",
    "Portal": "postroom.templates.portal",
    "PostroomError": "postroom.errors",
    "Priority": "postroom.vocabulary",
    "Receipt": "postroom.store.contract",
    "Regions": "postroom.regions.blocking",
    "RetryPolicy": "postroom.settle.policy",
    "RouteSettings": "postroom.config.routes",
    "SendOutcome": "postroom.outbox.outcome",
    "Settings": "postroom.config.settings",
    "Sms": "postroom.compose.sms",
    "Status": "postroom.vocabulary",
    "StoredEmail": "postroom.store.contract",
    "Suppression": "postroom.store.suppressions",
    "SuppressionPage": "postroom.store.suppressions",
    "Webhook": "postroom.compose.webhook",
}
"""Where each name lives: what type checkers are told above, for the one who runs it."""

__all__ = [
    "UNSUBSCRIBE_URL",
    "Address",
    "AsyncOutbox",
    "AsyncRegions",
    "Attachment",
    "Brand",
    "DeadReason",
    "Edition",
    "Email",
    "EmailId",
    "Filter",
    "Invite",
    "Limits",
    "OnDoubt",
    "Outbox",
    "Page",
    "Portal",
    "PostroomError",
    "Priority",
    "Receipt",
    "Regions",
    "RetryPolicy",
    "RouteSettings",
    "SendOutcome",
    "Settings",
    "Sms",
    "Status",
    "StoredEmail",
    "Suppression",
    "SuppressionPage",
    "Webhook",
    "__version__",
]

if not TYPE_CHECKING:  # to a type checker, a name that is not listed above is a mistake
    __getattr__, __dir__ = lazily(__name__, HOMES)
