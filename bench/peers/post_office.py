"""django-post_office, tuned: batches of a thousand, two processes. `python -m bench.peers.post_office N` fills it."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import django

from bench import message
from bench.draining import Filled
from bench.world import Command, World, finish, python, scalar, settle_down


class PostOfficeQueue:
    """Its tables in a fresh database. Django keeps its settings for the life of a process, so each step is one."""

    name = "drain, django-post_office, two processes"

    def __init__(self, world: World) -> None:
        self._world = world

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with self._world.postgres.database() as url:
            settings = {"DJANGO_SETTINGS_MODULE": "bench.peers.django_settings", "BENCH_DATABASE": url}
            folder = self._world.folder
            finish(python("django", "migrate", "-v0", **settings), folder=folder)
            finish(python("bench.peers.post_office", emails, **settings), folder=folder)
            settle_down(url)
            yield Filled(
                commands=lambda port: [self._worker({**settings, "BENCH_PORT": str(port)})],
                done=lambda: scalar(url, "SELECT count(*) FROM post_office_email WHERE status = 0"),
            )

    def _worker(self, settings: dict[str, str]) -> Command:
        lock = self._world.folder / f"post-office-{secrets.token_hex(4)}.lock"
        return python("django", "send_queued_mail", "--processes", 2, "--lockfile", lock, **settings)


def fill(emails: int) -> None:
    django.setup()
    from post_office import mail

    for start in range(0, emails, 1000):
        mail.send_many(
            [
                {
                    "sender": message.SENDER,
                    "recipients": [message.recipient(number)],
                    "subject": message.subject(number),
                    "message": message.text(number),
                    "html_message": message.html(number),
                }
                for number in range(start, min(emails, start + 1000))
            ]
        )


if __name__ == "__main__":
    fill(int(sys.argv[1]))
