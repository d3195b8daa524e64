"""What a sensitive email says, put apart from the rest of it, and sealed where a secret is known.

A sensitive email is stored like any other, but for its content: subject, sender, names, headers, bodies and attachments
go into one box, and in their places stand the addresses that the email is for and nothing else. The box is kept where
attachments are, under a name of its own that no other email shares. Where a secret is configured, the box is sealed
with a key that is made of the secret, and bound to the email and to the version of its content.

An envelope whose content is in a box begins with a word in front of its JSON. Releases that know nothing of boxes
cannot read it, and settle such an email as unreadable: they send nobody a box, nor an empty letter.

Only whoever attempts an email opens its box. What pages, API, commands and the library show of it never does.
"""

from postroom.sealing.content import Opened, is_apart, opened, put_apart
from postroom.sealing.keyring import NO_KEYS, Keyring
from postroom.sealing.ticket import Ticket, sealed, unsealed

__all__ = ["NO_KEYS", "Keyring", "Opened", "Ticket", "is_apart", "opened", "put_apart", "sealed", "unsealed"]
