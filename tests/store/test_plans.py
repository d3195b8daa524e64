"""The hot queries stay on their indexes: a million finished emails are neither read, counted nor sorted.

Every verb is carried out on a full outbox, step by step. Each statement is asked for its plan, and its work is
measured in what does not depend on the machine: pages on PostgreSQL, steps of the virtual machine on SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from postroom import Edition, Filter, Outbox, Status
from postroom.compose import DEFAULT_LIMITS
from postroom.outbox.submission import Submission
from postroom.regions import arriving, leaving
from postroom.returns.recording import record_returns
from postroom.store import acts, claims, dismissals, dispatch, housekeeping, overview, questions
from postroom.store.changes import Cursor, newest_events, read_events
from postroom.store.contents import read_content, read_letter
from postroom.store.contract import Claim, Claimed, Settlement
from postroom.store.enqueue import enqueue
from postroom.store.ids import FIRST, new_id
from postroom.store.plan import Plan, ask
from postroom.store.queries import ParameterStyle
from postroom.store.recall import Accepted, recall
from postroom.store.returns import Mention, Note, emails_returned
from postroom.store.suppressions import suppressions, suppressions_of, suppressions_since
from postroom.store.wording import Worded, put_words
from postroom.vocabulary import BounceClass, LeaseToken, Priority, Return
from tests.regions.moving.pair import MOVER
from tests.servers.postgres import PostgresServer
from tests.store.explaining import BIG_TABLE, explain_on_postgres, explain_on_sqlite
from tests.store.full_house import House, analyse_postgres, analyse_sqlite, fill_postgres, fill_sqlite, move_in
from tests.store.journey import LEASE, email, named
from tests.store.test_plans_of_campaign_mail import QUERIES as OF_CAMPAIGN_MAIL

UNFINISHED = [status for status in Status if status not in (Status.SENT, Status.CANCELLED)]
DAY = timedelta(days=1)
LONG_AGO = datetime.now(UTC) - timedelta(days=30)


def _orders(house: House) -> list[Any]:
    rules = house.outbox.rules
    return [
        rules.order(Submission(email(), "past-100000")),
        rules.order(Submission(email(), "new")),
        rules.order(Submission.of(email(tags=["a"]), kind="k", workspace="w")),
    ]


def _settlements(house: House, status: Status) -> list[Settlement]:
    return [Settlement(claim=claim, status=status, attempts=1, event="tried") for claim in house.claims]


def _erasing(house: House) -> Plan[None]:
    """Each step of it, as if there had been something to erase."""
    ids = house.ids[Status.DEAD][:100]
    yield ask("to_erase", limit=500)
    yield ask("erase", ids=ids, anyway=True)
    yield ask("envelopes", ids=ids)
    yield ask("blank", contents=[{"email_id": id, "version": 1, "subject": "s", "envelope": "e"} for id in ids])
    yield ask("drop_uses", ids=ids)
    yield ask("unused_boxes", limit=500)


def _rendering(house: House) -> Plan[None]:
    """The words of emails in hand, rendered from other files than they were composed with."""
    old = Edition(portal="hub", template="welcome", version="9f2c1a83b0de", language="de")
    new = replace(old, version="000000000001")
    letter = house.outbox.rules.order(Submission(email(edition=new))).letter
    held = yield from _held(house)
    yield from put_words([Worded(claimed=each, letter=letter, was=old, edition=new) for each in held])


def _held(house: House) -> Plan[list[Claimed]]:
    """As their owner has them."""
    found: list[Claimed] = []
    for claim in house.claims[:50]:
        found += yield from dispatch.read_owned(claim)
    return found


def _undoing(house: House) -> Plan[None]:
    """Dismissed, listed, reinstated, dismissed again and swept."""
    ids = house.ids[Status.DEAD][:100]
    yield from acts.dismiss(ids, actor="me", act="press")
    yield from dismissals.dismissed(undo=DAY, limit=100, workspaces=["", "acme"])
    yield ask("lock_dismissed_by", act="press", since=LONG_AGO, after=FIRST, limit=100)
    yield from dismissals.reinstate(ids, undo=DAY, actor="me")
    yield from acts.dismiss(ids, actor="me", act="press")
    yield from dismissals.sweep_dismissed(undo=-DAY)


def _moving(house: House) -> Plan[None]:
    """Found, gone, forgotten and taken in: what one region does and what the other does, in one."""
    ids = house.ids[Status.PENDING][:100]
    found = yield from leaving.find("past7@example.org", after=FIRST, limit=500)
    yield from arriving.obstacles(found)
    left = yield from leaving.depart(ids, move=str(new_id()), region="usa1", sizes=dict.fromkeys(ids, 1))
    yield from leaving.departed("usa1", after=FIRST, limit=100)
    yield from leaving.underway()
    shipment = yield from leaving.pack(left)
    half = len(left) // 2
    yield from leaving.complete(left[:half], {}, region="usa1", by=MOVER)
    yield from leaving.complete(left[half:], dict.fromkeys(ids, "key"), region="usa1", by=MOVER)
    # What is asked only of emails that carry something.
    yield ask("boxes_of", ids=ids, length=20)
    yield ask("unused_of", digests=[f"{number:064x}" for number in range(100)])
    arrived = replace(shipment, parcels=shipment.parcels[:half])
    yield from arriving.arrive(arrived, region="deu1", here="usa1", by=MOVER)
    yield ask("departed", ids=ids)


def _accepted(house: House) -> list[Accepted]:
    """Some that are known, and many that are not: nearly everything a journal says is old news."""
    waiting = [Claim(id, LeaseToken(9)) for id in (*house.ids[Status.PENDING], *house.ids[Status.DEAD])][:250]
    return [
        Accepted(
            settlement=Settlement(claim=claim, status=Status.SENT, attempts=1, event="sent"), version=1, worker="w"
        )
        for claim in (*waiting, *house.claims)
    ]


def _bounces(house: House) -> list[Note]:
    """One of each email that was given up, as signed as if it had been sent."""
    return [
        Note(
            source="mail",
            source_id=id,
            what=Return.BOUNCED,
            bounce_class=BounceClass.PERMANENT,
            mentions=(Mention(id=id, signed=True),),
        )
        for id in house.ids[Status.DEAD][:50]
    ]


def _ask(name: str, **parameters: Any) -> Plan[Any]:
    return (yield ask(name, **parameters))


def _middle(house: House) -> Cursor:
    """A place half-way through the stream; on SQLite no row has the number of a transaction."""
    return Cursor(0 if house.outbox.database_url.startswith("sqlite") else 250, 125_000, 1)


def _list(wanted: Filter) -> Callable[[House], Plan[Any]]:
    return lambda house: questions.list_emails(wanted, limit=50)


VERBS: dict[str, Callable[[House], Plan[Any]]] = {
    "enqueue": lambda house: enqueue(_orders(house)),
    "enqueue one": lambda house: enqueue(_orders(house)[2:]),
    "who is not to be mailed, of these": lambda house: suppressions_of(
        [f"stopped{number}@example.org" for number in range(0, 1_200, 3)]
    ),
    "who is not to be mailed, of late": lambda house: suppressions_since(60.0, limit=2_001),
    "claim": lambda house: claims.claim(worker="w", lease=LEASE, urgent=50, normal=30, bulk=20),
    "claim onto another route": lambda house: claims.claim(
        worker="w", lease=LEASE, urgent=50, normal=30, bulk=20, onto="backup", reason="down"
    ),
    "put words": _rendering,
    "take_over": lambda house: claims.take_over(worker="w", lease=LEASE, limit=100),
    "renew": lambda house: claims.renew(house.claims, lease=LEASE),
    "note_dots": lambda house: claims.note_dots(house.claims),
    "release": lambda house: claims.release(house.claims),
    "emails that something came back of": lambda house: emails_returned([claim.id for claim in house.claims]),
    "defer": lambda house: claims.defer(house.claims, until=datetime.now(UTC), reason="later"),
    "reserve": lambda house: dispatch.reserve(worker="s", lease=LEASE, seats=dict.fromkeys(Priority, 200)),
    "reserve of routes": lambda house: dispatch.reserve(
        worker="s", lease=LEASE, seats=dict.fromkeys(Priority, 200), routes=["backup", "default"]
    ),
    "confirm_queued": lambda house: dispatch.confirm_queued([each.claim for each in house.reserved]),
    "claim_queued": lambda house: dispatch.claim_queued(
        [named(each) for each in house.reserved], worker="w", lease=LEASE
    ),
    "own_queued": lambda house: dispatch.own_queued(named(house.reserved[0]), worker="w", lease=LEASE),
    "read_owned": lambda house: dispatch.read_owned(house.claims[0]),
    "unqueue": lambda house: dispatch.unqueue([named(each) for each in house.reserved]),
    "requeue": lambda house: dispatch.requeue(limit=200),
    "give_up": lambda house: dispatch.give_up([each.claim for each in house.reserved]),
    "unannounced": lambda house: dispatch.unannounced(limit=100),
    "announced": lambda house: dispatch.announced([Claim(id, LeaseToken(1)) for id in house.ids[Status.DEAD]]),
    "awaiting dispatch": lambda house: dispatch.awaiting(),
    "awaiting dispatch of routes": lambda house: dispatch.awaiting(["backup", "default"]),
    "settle": lambda house: claims.settle(_settlements(house, Status.SENT)),
    "settle and forget": lambda house: claims.settle(_settlements(house, Status.SENT), keep_sent=False),
    "recall": lambda house: recall(_accepted(house)),
    "recall and forget": lambda house: recall(_accepted(house), keep_sent=False),
    "retry": lambda house: acts.retry(house.ids[Status.DEAD], actor="me"),
    "dismiss": lambda house: acts.dismiss(house.ids[Status.DEAD], actor="me"),
    "dismiss and take it back": _undoing,
    "move to another region and take in": _moving,
    "cancel": lambda house: acts.cancel(house.ids[Status.PENDING], actor="me"),
    "cancel in a copy": lambda house: acts.cancel_abandoned(
        Status.PENDING, after=house.ids[Status.PENDING][3], limit=100, actor="me", adopted={}
    ),
    "replay": lambda house: acts.replay(
        house.ids[Status.DEAD][0], {"to": "right@example.org"}, actor="me", limits=DEFAULT_LIMITS
    ),
    "move a route": lambda house: acts.move_route(from_route="default", to="backup", actor="me", limit=100),
    "listen": lambda house: _ask("changed_emails", ids=house.ids[Status.DEAD]),
    "read the stream": lambda house: read_events(limit=100),
    "read the stream from the middle on": lambda house: read_events(_middle(house), limit=1_000),
    "read the end of the stream": lambda house: newest_events(100),
    "sweep the stream": lambda house: _ask("sweep_changes", before=LONG_AGO, limit=500),
    "adopt a stream": lambda house: _ask("adopt_changes"),
    "note what came back": lambda house: record_returns(_bounces(house)),
    "get": lambda house: questions.get(house.ids[Status.DEAD][0]),
    "content": lambda house: read_content(house.ids[Status.DEAD][0], 1, "{}"),
    "letter": lambda house: read_letter(house.ids[Status.DEAD][0], 1),
    "counts": lambda house: questions.counts(),
    "due": lambda house: questions.due(),
    "oldest due": lambda house: questions.oldest_due(),
    "oldest due of routes": lambda house: questions.oldest_due(["backup", "default"]),
    "next due": lambda house: questions.next_due(),
    "next due of routes": lambda house: questions.next_due(["backup", "default"]),
    "something due": lambda house: questions.something_due(["default"], covered=["backup"]),
    "waiting by route": lambda house: questions.waiting_by_route(),
    "waiting routes": lambda house: questions.waiting_routes(),
    "prune": lambda house: housekeeping.prune_batch(before=LONG_AGO, statuses=[Status.SENT], limit=100),
    "prune with nothing to prune": lambda house: housekeeping.prune_batch(
        before=LONG_AGO - timedelta(days=30), statuses=[Status.SENT, Status.CANCELLED], limit=100
    ),
    "archive": lambda house: housekeeping.read_archive(house.ids[Status.DEAD]),
    **{f"list {status}": _list(Filter(status=status)) for status in Status},
    "list everything": _list(Filter()),
    "list the versions": lambda house: overview.versions(house.ids[Status.DEAD][0]),
    "list the failures": lambda house: overview.failures(at_most=100),
    "list the failures of a workspace": lambda house: overview.failures(at_most=100, workspaces=["acme"]),
    "counts within workspaces": lambda house: overview.counts_within(["", "acme"], at_most=100),
    "oldest due within workspaces": lambda house: overview.oldest_due_within([""]),
    "place": lambda house: overview.placed(house.ids[Status.DEAD]),
    "edge of everything": lambda house: overview.edge(Filter(), before=None, window=500),
    "edge of a status": lambda house: overview.edge(Filter(status=Status.DEAD), before=None, window=100),
    "edge of the cancelled": lambda house: overview.edge(Filter(status=Status.CANCELLED), before=None, window=100),
    "edge of the sent": lambda house: overview.edge(Filter(status=Status.SENT), before=None, window=500),
    "edge of a tag": lambda house: overview.edge(Filter(tag="live-7"), before=None, window=100),
    "erase what sensitive emails said": _erasing,
    "list a recipient": _list(Filter(recipient="past8@example.org")),
    "list a tag": _list(Filter(tag="live-7")),
    "list a tag and a status": _list(Filter(tag="live-7", status=Status.DEAD)),
    "list a route": _list(Filter(route="backup")),
    "list a route and a status": _list(Filter(route="backup", status=Status.DEAD)),
    "list a template": _list(Filter(template="hub.past")),
    "list a version and a status": _list(Filter(version="9f2c1a83b0de", status=Status.DEAD)),
    "list a version, a workspace and a language": _list(
        Filter(version="9f2c1a83b0de", workspace="acme", language="de")
    ),
    "edge of a template": lambda house: overview.edge(Filter(template="hub.past"), before=None, window=500),
    "list a key": _list(Filter(key="past-100000")),
    "list a time": _list(Filter(since=datetime.now(UTC) - timedelta(minutes=5))),
    "list a time long ago": _list(Filter(until=LONG_AGO)),
}

ELSEWHERE = {
    "count_all": "counts row by row on purpose: for the check of the sum",
    "under_key_anywhere": "hops from workspace to workspace along the index of keys, one probe for each",
    "unused_attachments": "housekeeping, seldom",
    "sweep_attachments": "housekeeping, seldom",
    "sweep_keys": "housekeeping, seldom",
    "sweep_events": "housekeeping, seldom",
    "sweep_fates": "housekeeping, seldom",
    **dict.fromkeys(OF_CAMPAIGN_MAIL, "explained where mail of campaigns is"),
}
"""Queries about big tables that no verb above asks, and why they need no index."""


@pytest.fixture(scope="module")
def full_postgres(postgres_server: PostgresServer, migrated_template: str) -> Iterator[House]:
    with postgres_server.database(template=migrated_template) as url:
        fill_postgres(url)
        with Outbox(url) as outbox:
            house = move_in(outbox)
            analyse_postgres(url)
            yield house


@pytest.fixture(scope="module")
def full_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    path = tmp_path_factory.mktemp("full") / "outbox.db"
    with Outbox(f"sqlite:///{path}") as outbox:
        outbox.migrate()
        fill_sqlite(path)
        house = move_in(outbox)
        analyse_sqlite(path)
        yield house


@pytest.mark.parametrize("generic", [False, True], ids=["planned for its values", "planned once for all values"])
@pytest.mark.parametrize("verb", VERBS)
def test_on_postgres_a_verb_reads_no_finished_emails_it_does_not_need(
    full_postgres: House, verb: str, generic: bool
) -> None:
    """Drivers prepare statements, and a prepared statement may be planned once, without knowing its values."""
    _clear_away_what_other_tests_rolled_back(full_postgres)

    steps = explain_on_postgres(full_postgres.outbox, VERBS[verb](full_postgres), generic=generic)

    assert steps, "the verb asked nothing"
    for step in steps:
        assert step.problems == (), step.plan
        assert step.work < 4_000, f"{step.query} touched {step.work} pages:\n{step.plan}"


@pytest.mark.parametrize("analysed", [False, True], ids=["without statistics", "with statistics"])
@pytest.mark.parametrize("verb", VERBS)
def test_on_sqlite_a_verb_reads_no_finished_emails_it_does_not_need(
    full_sqlite: House, verb: str, analysed: bool
) -> None:
    """Few people ever run ANALYZE, and some do."""
    steps = explain_on_sqlite(full_sqlite.outbox, VERBS[verb](full_sqlite), analysed=analysed)

    assert steps, "the verb asked nothing"
    for step in steps:
        assert step.problems == (), step.plan
        assert step.work < 1_000, f"{step.query} took {step.work} thousand steps:\n{step.plan}"


def test_a_count_of_every_row_would_be_noticed(full_postgres: House, full_sqlite: House) -> None:
    """What the limits above are worth: the one query that counts everything is far beyond them."""
    [postgres] = explain_on_postgres(full_postgres.outbox, questions.conservation(), generic=False)
    [sqlite] = explain_on_sqlite(full_sqlite.outbox, questions.conservation(), analysed=True)

    assert (bool(postgres.problems), postgres.work > 4_000) == (True, True)
    assert (bool(sqlite.problems), sqlite.work > 1_000) == (True, True)


def test_a_look_through_all_who_are_not_to_be_mailed_would_be_noticed(full_postgres: House, full_sqlite: House) -> None:
    """What the limits above are worth for the checks of every enqueue and every claim."""
    everybody = suppressions(limit=10, part="nobody-has-this")
    [postgres] = explain_on_postgres(full_postgres.outbox, everybody, generic=False)
    everybody = suppressions(limit=10, part="nobody-has-this")
    [sqlite] = explain_on_sqlite(full_sqlite.outbox, everybody, analysed=True)

    assert postgres.work > 4_000
    assert sqlite.work > 1_000


def test_counts_are_right_although_nobody_counts(full_postgres: House, full_sqlite: House) -> None:
    for house in (full_postgres, full_sqlite):
        counts = house.outbox.counts()
        assert (counts["sent"], counts["cancelled"], counts["dead"]) == (1_000_000, 500, 300)


def test_every_query_about_a_big_table_is_explained_or_has_a_reason_not_to_be(full_sqlite: House) -> None:
    asked: set[str] = set()
    for plan in VERBS.values():
        asked |= {step.query for step in explain_on_sqlite(full_sqlite.outbox, plan(full_sqlite), analysed=True)}

    queries = full_sqlite.outbox.database.dialect.queries
    about_big_tables = {
        name for name in queries.names() if BIG_TABLE.search(str(queries.spell(name, ParameterStyle.NAMED)))
    }
    assert about_big_tables <= asked | ELSEWHERE.keys()


def _clear_away_what_other_tests_rolled_back(house: House) -> None:
    """Explaining a write leaves dead rows, and reading past them is no fault of the next verb.

    Of so few, PostgreSQL by itself would leave the entries in the indexes.
    """
    with psycopg.connect(house.outbox.database_url, autocommit=True) as connection:
        connection.execute("VACUUM (INDEX_CLEANUP ON) postroom.emails, postroom.contents, postroom.terms")
