"""The acceptance criteria of portals and regions, one test for each, against the real process.

The whole story is told once for all of them: everybody signs up, verifies, forgets, invites and signs in, in three
regions. What each test looks at is what that left behind, in databases, inboxes and journals.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from examples.portals import mail
from examples.portals.company import REGIONS, staff_of
from postroom import Outbox, Status, StoredEmail
from postroom.accounts.accounts import add_person
from postroom.accounts.passwords import hash_password
from postroom.accounts.values import Role
from postroom.settle.policy import PRESETS
from postroom.work.breaker import BreakerState
from postroom.work.breakers import known_routes
from tests.examples.portals import PASSWORD, Portals, Visitor, chaos, environment, messages, portals, visiting
from tests.work.office import wait_until

pytestmark = pytest.mark.timeout(300)  # the set-ups of a module count as the first test's time

TWELVE = {
    *("hub.welcome", "hub.forgot_password", "hub.password_changed", "hub.email_verification"),
    *("org.welcome", "org.forgot_password", "org.password_changed", "org.invite"),
    *("agency.welcome", "agency.forgot_password", "agency.password_changed", "admin.tfa"),
}


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portals]:
    """The application on three SQLite files, with the whole story behind it: `--once` tells it, and leaves."""
    folder = tmp_path_factory.mktemp("portals") / "data"
    told = subprocess.run(
        [sys.executable, "-m", "examples.portals", "--once", "--data", str(folder)],
        capture_output=True, text=True, env=environment(), check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count("• ") == 10 * len(REGIONS)
    with portals(folder) as running:
        yield running


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """What became of three sign-ups while nobody could send, of a kill, and of the restart."""

    answers: dict[str, httpx.Response]
    waiting: dict[str, tuple[StoredEmail, ...]]
    accounts: dict[str, list[str]]
    arrived_before: dict[str, int]
    arrived: dict[str, Counter[str]]
    verified: httpx.Response


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> Outage:
    """In deu1 the mail server is away, in usa1 no worker is enabled. The process is killed, and started again."""
    folder, ada, joan = tmp_path_factory.mktemp("outage") / "data", "ada@example.org", "joan@example.org"
    with portals(folder, EMAIL_WORKER_ENABLED__USA1="false") as first:
        chaos(first.at, "deu1", "refuse")
        open_breaker(first)
        with visiting(first.at, "hub", region="deu1", email=ada, language="de") as visitor:
            answers = {"deu1": visitor.sign_up()}
        with visiting(first.at, "agency", region="usa1", email=joan) as visitor:
            answers["usa1"] = visitor.sign_up()
        waiting = {"deu1": _emails(first, "deu1", ada), "usa1": _emails(first, "usa1", joan)}
        accounts = {region: _accounts(first, region) for region in ("deu1", "usa1")}
        first.kill()
    arrived_before = {region: len(messages(folder, region)) for region in REGIONS}
    with portals(folder) as second:
        with visiting(second.at, "hub", region="deu1", email=ada) as visitor:
            visitor.mail.read("/hub\n")
            verified = visitor.post("verify", token=visitor.token("verify"))
        with visiting(second.at, "agency", region="usa1", email=joan) as visitor:
            visitor.mail.read("/agency\n")
    arrived = {"deu1": _copies(folder, "deu1", ada), "usa1": _copies(folder, "usa1", joan)}
    return Outage(
        answers=answers,
        waiting=waiting,
        accounts=accounts,
        arrived_before=arrived_before,
        arrived=arrived,
        verified=verified,
    )


def open_breaker(running: Portals) -> None:
    """Three failures in succession are an outage: what comes then waits, and costs no attempt."""
    for portal in ("hub", "agency"):  # two emails, and one
        with visiting(running.at, portal, region="deu1", email="early@example.org") as early:
            early.sign_up()
    with running.outbox("deu1") as outbox:
        wait_until(lambda: {each.breaker.state for each in outbox.database.run(known_routes())} == {BreakerState.OPEN})


def test_emails_are_sent_asynchronously_by_way_of_the_regions_database(outage: Outage) -> None:
    """(C1) The page answers while the mail server is away: account and emails are in the database, and wait there."""
    assert {answer.status_code for answer in outage.answers.values()} == {200}
    assert {answer.url.path for answer in outage.answers.values()} == {"/hub/look", "/agency/look"}
    assert {email.kind for email in outage.waiting["deu1"]} == {"hub.welcome", "hub.email_verification"}
    assert all(email.sent_at is None for email in outage.waiting["deu1"])
    assert "ada@example.org" in outage.accounts["deu1"]


def test_emails_survive_a_killed_process_and_arrive_once(outage: Outage) -> None:
    """(C6) After `kill -9` with mail pending, the restart sends it; and the links in it, made before, still lead on."""
    assert outage.arrived_before == {"ind1": 0, "usa1": 0, "deu1": 0}
    assert outage.arrived["deu1"] == {email.message_id: 1 for email in outage.waiting["deu1"]}
    assert outage.arrived["usa1"] == {email.message_id: 1 for email in outage.waiting["usa1"]}
    assert outage.verified.url.path == "/hub/sign-in"


def test_a_region_whose_worker_is_not_enabled_keeps_its_emails(outage: Outage) -> None:
    """(C7) `EMAIL_WORKER_ENABLED__USA1=false`: nobody has touched them, until a process came that may."""
    [email] = outage.waiting["usa1"]

    assert (email.status, email.attempts) == (Status.PENDING, 0)
    assert outage.accounts["usa1"] == ["joan@example.org"]


def test_each_regions_worker_handles_its_own_region_and_no_address_leaves_it(company: Portals) -> None:
    """(C1) Every address that was used in a region is in no byte that belongs to another, nor in what all share."""
    addresses = {name: set(_addresses(company, name)) for name in REGIONS}
    shared = [company.folder / "directory.db", company.folder / "directory.db-wal", _said(company)]

    for region, own in addresses.items():
        assert {staff_of(region)} < own
        assert len(own) >= 5
        here, elsewhere = b"".join(_bytes(company, region)), list(shared)
        for other in set(REGIONS) - {region}:
            elsewhere += _files(company, other)
        assert [address for address in own if address.encode() not in here] == []
        assert [
            (address, file.name)
            for file in elsewhere
            if file.exists()
            for address in own
            if address.encode() in file.read_bytes().lower()
        ] == []


def test_emails_have_a_plain_text_and_an_html_part(company: Portals) -> None:
    """(C2) As the standard library reads them: multipart/alternative, the text first, and nothing wrong."""
    for region in REGIONS:
        found = messages(company.folder, region)
        assert len(found) >= 12
        for message in found:
            alternative = next(part for part in message.walk() if part.get_content_type() == "multipart/alternative")
            text, html = message.get_body(("plain",)), message.get_body(("html",))
            assert text is not None
            assert html is not None
            assert next(iter(alternative.iter_parts())).get_content_type() == "text/plain"
            assert text.get_content().strip()
            assert "<html" in html.get_content()
            assert [part.defects for part in message.walk() if part.defects] == []
            assert message["MIME-Version"] == "1.0"


def test_each_portal_has_its_own_template_for_each_type_of_email(company: Portals) -> None:
    """(C3) All twelve were sent in each region, each in its portal's dress and in no other's."""
    footers = {portal.name: portal.brand.footer.split(",")[0] for portal in mail.PORTALS}
    for region in REGIONS:
        with company.outbox(region) as outbox:
            emails = outbox.list(limit=100).emails
        assert {email.kind for email in emails} == TWELVE
        assert {email.edition.kind for email in emails if email.edition} == TWELVE
        portal_of = {email.message_id: email.kind.partition(".")[0] for email in emails}
        for message in messages(company.folder, region):
            portal, html = portal_of[message["Message-ID"]], message.get_body(("html",))
            assert html is not None
            assert {name for name, footer in footers.items() if footer in html.get_content()} == {portal}
            assert message["From"].addresses[0].domain == f"{portal}.alder.example"


def test_an_admin_can_do_nothing_before_the_six_digits_from_the_email(company: Portals) -> None:
    """(C4) In each region, with that region's account: the code comes by the region's own outbox and inbox."""
    password = hash_password(PASSWORD)
    for region in REGIONS:
        desk, name = f"/staff/regions/{region}", f"auditor@{region}.example.org"
        with company.outbox(region) as outbox:
            outbox.database.run(add_person(name, role=Role.ADMIN, password=password))
        with visiting(company.at, "admin", region=region, email=name) as admin:
            page = admin.http.get(f"{desk}/admin/sign-in").text
            asked = _step(admin, f"{desk}/admin/sign-in", page, name=name, password=PASSWORD)
            half_way = admin.http.get(f"{desk}/admin/email-queue")
            answers = [
                admin.http.get(f"{desk}/api/admin/outbox").status_code,
                admin.http.post(f"{desk}/api/admin/outbox/retry", json={}).status_code,
                admin.http.post(f"{desk}/api/admin/transports/default/pause", json={}).status_code,
            ]
            code = admin.mail.code("alder")
            wrong = _step(admin, f"{desk}/admin/sign-in/code", asked, code=f"{(int(code) + 1) % 10**6:06}")
            right = _step(admin, f"{desk}/admin/sign-in/code", wrong, code=code)
            then = admin.http.get(f"{desk}/admin/email-queue")

        assert "Six digits are sent to" in asked
        assert urlsplit(str(half_way.url)).path.startswith(f"{desk}/admin/sign-in")
        assert set(answers) <= {401, 403}
        assert "Sign out" not in wrong
        assert "Sign out" in right
        assert urlsplit(str(then.url)).path == f"{desk}/admin/email-queue"


def test_a_failed_email_is_tried_again_with_exponential_backoff(company: Portals) -> None:
    """(C5) By the policy `standard`: at once, then 1 minute, 5 minutes, 30 minutes, 2 hours; and a tenth by chance."""
    chaos(company.at, "usa1", "temporary", times=1)
    with visiting(company.at, "agency", region="usa1", email="later@example.org") as later:
        assert later.sign_up().status_code == 200
    with company.outbox("usa1") as outbox:
        wait_until(lambda: outbox.list(recipient="later@example.org", status="retrying").emails != ())
        [email] = outbox.list(recipient="later@example.org").emails
    assert email.last_attempt_at is not None
    assert email.next_attempt_at is not None
    wait = email.next_attempt_at - email.last_attempt_at

    assert (email.policy, email.attempts, email.max_attempts) == ("standard", 1, 5)
    assert timedelta(seconds=59) <= wait <= timedelta(seconds=70)
    assert [step.total_seconds() for step in PRESETS[email.policy].steps] == [0, 60, 300, 1_800, 7_200]


def test_every_email_of_a_region_can_be_read_in_its_development_inbox(company: Portals) -> None:
    """(C7) Without a container: as many as were sent, and each on the inbox's page."""
    for region in REGIONS:
        with company.outbox(region) as outbox:
            sent = {email.message_id for email in outbox.list(status="sent", limit=100).emails}
        listed = httpx.get(f"{company.at.inboxes[region]}api/inbox/messages", params={"limit": 500}).json()
        shown = httpx.get(company.at.inboxes[region]).text

        assert {message["messageId"] for message in listed["messages"]} == sent
        assert listed["messages"][0]["recipients"][0] in shown


def test_the_same_works_on_three_postgresql_databases(tmp_path: Path, postgres_url: str) -> None:
    """(C1) `--postgres URL` makes a database for each region, and who signs up in one is in that one alone."""
    name, grace = urlsplit(postgres_url).path.strip("/"), "grace@example.org"
    databases = {region: postgres_url.replace(f"/{name}", f"/{name}_{region}") for region in REGIONS}
    try:
        with (
            portals(tmp_path / "data", "--postgres", postgres_url) as running,
            visiting(running.at, "hub", region="usa1", email=grace) as visitor,
        ):
            visitor.sign_up()
            visitor.post("verify", token=visitor.token("verify"))
            signed_in = visitor.sign_in()
        found = {region: _people(url) for region, url in databases.items()}
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            for region in REGIONS:
                connection.execute(f'DROP DATABASE IF EXISTS "{name}_{region}" WITH (FORCE)')

    assert "Hello Ada" in signed_in.text
    assert found == {"ind1": [], "usa1": [grace], "deu1": []}
    assert not list((tmp_path / "data").glob("???1.db"))


def _people(database: str) -> list[str]:
    """Whoever has an account there, and whoever was written to, if it was the same."""
    with psycopg.connect(database) as connection:
        accounts = [email for (email,) in connection.execute("SELECT email FROM accounts")]
    with closing(Outbox(database)) as outbox:
        assert {to.address for email in outbox.list().emails for to in email.recipients} == set(accounts)
    return accounts


def _emails(running: Portals, region: str, recipient: str) -> tuple[StoredEmail, ...]:
    with running.outbox(region) as outbox:
        return outbox.list(recipient=recipient).emails


def _accounts(running: Portals, region: str) -> list[str]:
    with running.outbox(region) as outbox, outbox.transaction() as connection:
        return [email for (email,) in connection.execute("SELECT email FROM accounts")]


def _copies(folder: Path, region: str, recipient: str) -> Counter[str]:
    """How often each email to somebody arrived, by its Message-ID."""
    return Counter(message["Message-ID"] for message in messages(folder, region) if recipient in message["To"])


def _addresses(company: Portals, region: str) -> Iterator[str]:
    """Whoever was written to in a region."""
    with company.outbox(region) as outbox:
        for email in outbox.list(limit=100).emails:
            yield from (recipient.address for recipient in email.recipients)


def _files(company: Portals, region: str) -> list[Path]:
    """Every file that belongs to a region: database, inbox and journal, with what SQLite keeps beside them."""
    databases = [*company.folder.glob(f"{region}.db*"), *company.folder.glob(f"inbox-{region}.db*")]
    journals = [file for file in (company.folder / "journal" / region).rglob("*") if file.is_file()]
    assert len(databases) >= 2
    assert journals
    return databases + journals


def _bytes(company: Portals, region: str) -> Iterator[bytes]:
    return (file.read_bytes().lower() for file in _files(company, region))


def _said(company: Portals) -> Path:
    """What the process has logged."""
    return company.folder.parent / f"{company.folder.name}.said"


def _step(visitor: Visitor, path: str, page: str, **fields: str) -> str:
    """One step of a sign-in, with the token of the form that was shown."""
    csrf = re.search(r'name="csrf" value="([^"]*)"', page)
    assert csrf is not None, page
    return visitor.http.post(path, data={"csrf": csrf[1], **fields}).text
