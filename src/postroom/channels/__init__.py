"""What can be sent beside email, and email itself: each channel is a payload, how it is prepared, and how it is judged.

The engine knows none of them by name. It asks `channel_named` for what an email in hand says it is.
"""

from __future__ import annotations

from postroom.channels.contract import Channel
from postroom.channels.known import channel_by, channel_named, channel_of, channels, transport_for

__all__ = ["Channel", "channel_by", "channel_named", "channel_of", "channels", "transport_for"]
