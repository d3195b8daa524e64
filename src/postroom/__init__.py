"""The reliable email outbox: every email your application commits is sent, or you can see why not."""

from postroom.compose import Address, Attachment, Email, Invite, Limits, Sms, Webhook
from postroom.config import RouteSettings, Settings
from postroom.errors import PostroomError
from postroom.outbox import AsyncOutbox, Outbox
from postroom.settle.policy import RetryPolicy
from postroom.store.contract import Filter, Page, Receipt, StoredEmail
from postroom.vocabulary import DeadReason, EmailId, OnDoubt, Priority, Status

__version__ = "0.1.0"

__all__ = [
    "Address",
    "AsyncOutbox",
    "Attachment",
    "DeadReason",
    "Email",
    "EmailId",
    "Filter",
    "Invite",
    "Limits",
    "OnDoubt",
    "Outbox",
    "Page",
    "PostroomError",
    "Priority",
    "Receipt",
    "RetryPolicy",
    "RouteSettings",
    "Settings",
    "Sms",
    "Status",
    "StoredEmail",
    "Webhook",
    "__version__",
]
