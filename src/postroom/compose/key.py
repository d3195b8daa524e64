"""The idempotency key: what makes a second enqueue of the same email a duplicate."""

from __future__ import annotations

from postroom.compose.safety import check_is_text
from postroom.errors import InvalidEmail

LONGEST_KEY = 256


def check_key(key: str, *, longest: int = LONGEST_KEY) -> str:
    """Give the key back when it is 1 to `longest` printable characters; refuse it otherwise.

    Printable only, because keys are compared octet by octet, and two that look alike should be alike.
    """
    check_is_text("key", key)
    if not key:
        raise InvalidEmail("key", "is empty", "leave it out, or name the event, such as 'memo-7:created'")
    if len(key) > longest:
        raise InvalidEmail("key", f"has {len(key)} characters", f"shorten it to {longest}, for instance by hashing it")
    if not key.isprintable():
        raise InvalidEmail("key", "contains characters that cannot be printed", "use letters, digits and punctuation")
    return key
