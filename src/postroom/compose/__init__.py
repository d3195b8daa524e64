"""An email takes its final form: checked, complete, and the same octets at every attempt."""

from postroom.compose.address import Address, parse_address, parse_addresses
from postroom.compose.attachment import Attachment
from postroom.compose.edition import Edition
from postroom.compose.email import Email
from postroom.compose.frozen import Frozen
from postroom.compose.invite import Invite
from postroom.compose.key import check_key
from postroom.compose.letter import Letter
from postroom.compose.limits import DEFAULT_LIMITS, Limits
from postroom.compose.sms import Sms
from postroom.compose.webhook import Webhook

__all__ = [
    "DEFAULT_LIMITS",
    "Address",
    "Attachment",
    "Edition",
    "Email",
    "Frozen",
    "Invite",
    "Letter",
    "Limits",
    "Sms",
    "Webhook",
    "check_key",
    "parse_address",
    "parse_addresses",
]
