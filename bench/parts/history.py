"""A drain beside millions of emails that were sent long ago: the outbox after a busy year."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from bench.draining import Filled, there_and_back
from bench.postroom_queue import PostroomQueue, filled_outbox, on_postgres
from bench.readings import Contestant, Reading
from bench.world import World, execute

WITH_HISTORY = "drain, Postroom, PostgreSQL, beside finished emails"
WITHOUT = "drain, Postroom, PostgreSQL, with none"

# One email every fifteen seconds up to now; ids and instants as they would have been.
_PAST = """
SET work_mem = '256MB'; SET maintenance_work_mem = '256MB';
CREATE TEMP TABLE past AS
SELECT
    n,
    (lpad(to_hex(ms), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id,
    to_timestamp(ms / 1000.0) AS at
FROM (
    SELECT n, (extract(epoch FROM now()) * 1000)::bigint - 15000 * ({rows}::bigint - n) - 60000 AS ms
    FROM generate_series(1, {rows}) AS n
) AS moments;
INSERT INTO postroom.emails (
    id, status, priority, due_at, attempts, max_attempts, lease_token, policy, on_doubt, sensitive, created_at,
    last_attempt_at, sent_at, finished_at, reply_code
)
SELECT id, 'sent', 1, NULL, 1, 8, 1, 'patient', 'resend', false, at, at, at, at, 250
FROM past;
INSERT INTO postroom.contents (email_id, subject, message_id, envelope, text, size, terms)
SELECT
    id, 'Your order number ' || n || ' has been received', '<' || n || '@example.com>',
    '{{"date":0,"sender":["shop@example.com"],"to":["customer' || n || '@example.net"]}}', repeat('x', 200), 200, '[]'
FROM past;
INSERT INTO postroom.terms (term, email_id)
SELECT 'to:customer' || n || '@example.net', id
FROM past;
INSERT INTO postroom.tallies
SELECT date_trunc('minute', now()), name, {rows}
FROM unnest(ARRAY['enqueued', 'sent']) AS name;
"""


def contestants(world: World) -> list[Contestant]:
    past, none = _WithHistory(world), PostroomQueue(world, name=WITHOUT)

    def measure() -> list[Reading]:
        past.write()
        return there_and_back(none, past, world.scale.emails, folder=world.folder)

    return [Contestant(name=WITH_HISTORY, measure=measure)]


class _WithHistory:
    """One database for all rounds: it is long in the making, and what a round adds to it is little."""

    name = WITH_HISTORY

    def __init__(self, world: World) -> None:
        self._world = world

    def write(self) -> None:
        """Have the past there, before anything is measured."""
        self._url  # noqa: B018

    @cached_property
    def _url(self) -> str:
        url = self._world.stack.enter_context(on_postgres(self._world))
        execute(url, _PAST.format(rows=self._world.scale.history))
        return url

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with filled_outbox(self._world, self._url, emails) as filled:
            yield filled
