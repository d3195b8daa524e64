"""`python -m bench.fill URL EMAILS`: an outbox of whichever Postroom is first on the path, with emails in it."""

from __future__ import annotations

import sys

from bench import message
from postroom import Outbox

if __name__ == "__main__":
    url, emails = sys.argv[1:]
    with Outbox(url) as outbox:
        outbox.migrate()
        outbox.enqueue_many(message.email(number) for number in range(int(emails)))
