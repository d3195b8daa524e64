"""deployment show and adopt; what migrate, doctor and stats say of a deployment and of the delivery mode."""

from __future__ import annotations

from datetime import timedelta

import pytest

from postroom import Outbox, Status
from postroom.operate.story import in_words
from postroom.store import dispatch, heartbeats
from postroom.store.claims import claim, settle
from postroom.store.contract import Settlement
from postroom.store.deployment import stamp
from postroom.vocabulary import LANES
from tests.cli.conftest import CommandLine, enqueue, enqueue_dead, enqueue_sent

LEASE = timedelta(seconds=30)


@pytest.fixture
def copy(postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> Outbox:
    """Production's outbox, as it was found on staging."""
    monkeypatch.setenv("POSTROOM_DEPLOYMENT", "production")
    assert "stamped as the deployment production" in postroom("migrate").out
    monkeypatch.setenv("POSTROOM_DEPLOYMENT", "staging")
    return outbox


def one_of_each(outbox: Outbox) -> dict[str, str]:
    """An email in every status, by status."""
    found = {"sent": enqueue_sent(outbox), "dead": enqueue_dead(outbox)}
    for status in ("sending", "retrying", "in_doubt"):
        found[status] = enqueue(outbox)
        [held] = outbox.database.run(claim(worker="of-production", lease=LEASE, urgent=9, normal=9, bulk=9))
        if status != "sending":
            later = held.claimed_at + timedelta(hours=1)
            settled = Settlement(claim=held.claim, status=Status(status), attempts=1, due_at=later, event="failed")
            outbox.database.run(settle([settled]))
    found["queued"] = enqueue(outbox)
    seats = dict.fromkeys(LANES, 9)
    outbox.database.run(dispatch.reserve(worker="of-production", lease=LEASE, seats=seats, routes=None))
    found["pending"] = enqueue(outbox)
    assert {status: outbox.get(id).status for status, id in found.items()} == {each: Status(each) for each in found}
    return found


def test_a_copy_is_adopted_and_what_waits_in_it_is_cancelled(postroom: CommandLine, copy: Outbox) -> None:
    emails = one_of_each(copy)
    before = copy.database.run(stamp())
    answer = postroom("deployment", "adopt", "--cancel-waiting", "--yes")

    assert (answer.code, answer.out) == (0, "The database belongs to staging now; 5 emails cancelled.\n")
    after = copy.database.run(stamp())
    assert before is not None
    assert after is not None
    assert (after.name, after.id == before.id) == ("staging", False)
    statuses = {was: copy.get(id).status.value for was, id in emails.items()}
    assert statuses == {was: was if was in ("sent", "dead") else "cancelled" for was in emails}
    assert copy.conservation().holds


def test_each_cancelled_email_and_the_audit_log_say_who_did_it_and_why(postroom: CommandLine, copy: Outbox) -> None:
    id = enqueue(copy)
    postroom("deployment", "adopt", "--cancel-waiting", "--yes")

    [entry] = copy.get(id).history
    assert (entry.what, bool(entry.actor)) == ("cancelled", True)
    assert in_words(entry, entry.at) == "this copy of production was adopted as staging"
    [line] = postroom("user", "audit", "--act", "deployment_adopt", "--json").json["entries"]
    assert line["detail"] == {"was": "production", "now": "staging", "cancelled": 1}


def test_adopting_goes_on_where_it_was_stopped(
    postroom: CommandLine, copy: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches, each for itself: until the last is through, the copy is as foreign as before."""
    for number in range(5):
        enqueue(copy, subject=f"Email {number}")
    monkeypatch.setattr("postroom.store.deployment.BATCH", 2)
    monkeypatch.setattr("postroom.store.deployment._restamp", lambda *_: (_ for _ in ()).throw(RuntimeError))
    with pytest.raises(RuntimeError):
        postroom("deployment", "adopt", "--cancel-waiting", "--yes")
    assert copy.counts()["cancelled"] == 5
    assert postroom("deployment", "show", "--json").json["stamped"]["name"] == "production"

    monkeypatch.undo()
    monkeypatch.setenv("POSTROOM_DEPLOYMENT", "staging")
    assert postroom("--database", postroom.database, "deployment", "adopt", "--cancel-waiting", "--yes").code == 0


def test_what_waits_is_kept_where_there_is_no_original_any_more(postroom: CommandLine, copy: Outbox) -> None:
    emails = one_of_each(copy)
    answer = postroom("deployment", "adopt", "--keep-waiting", "--yes", "--json")

    assert answer.json == {"from": "production", "to": "staging", "cancelled": 0}
    assert {was: copy.get(id).status.value for was, id in emails.items()} == {was: was for was in emails}


def test_a_person_is_asked_and_without_one_only_yes_will_do(postroom: CommandLine, copy: Outbox) -> None:
    id = enqueue(copy)
    answer = postroom("deployment", "adopt", "--cancel-waiting")

    assert answer.code == 2
    assert "make the database of production that of staging, and cancel the 1 email in it" in answer.err
    assert copy.get(id).status is Status.PENDING


@pytest.mark.parametrize("said", [[], ["--cancel-waiting", "--keep-waiting"]])
def test_what_becomes_of_the_waiting_emails_has_to_be_said(
    postroom: CommandLine, copy: Outbox, said: list[str]
) -> None:
    answer = postroom("deployment", "adopt", "--yes", *said)

    assert (answer.code, "--cancel-waiting or --keep-waiting" in answer.err) == (2, True)


def test_a_copy_cannot_be_adopted_by_nobody(
    postroom: CommandLine, copy: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POSTROOM_DEPLOYMENT")
    answer = postroom("deployment", "adopt", "--cancel-waiting", "--yes")

    assert (answer.code, "set POSTROOM_DEPLOYMENT" in answer.err) == (2, True)


def test_a_database_at_which_somebody_works_is_not_adopted(postroom: CommandLine, copy: Outbox) -> None:
    """It may be production itself."""
    id = enqueue(copy)
    copy.database.run(heartbeats.beat("busy", host="here", version="1", in_flight=0, rate=0.0))
    answer = postroom("deployment", "adopt", "--cancel-waiting", "--yes")

    assert (answer.code, "at work on this database" in answer.err) == (1, True)
    assert copy.get(id).status is Status.PENDING


def test_one_s_own_database_is_not_adopted_again(postroom: CommandLine, copy: Outbox) -> None:
    postroom("deployment", "adopt", "--cancel-waiting", "--yes")
    id = enqueue(copy)
    answer = postroom("deployment", "adopt", "--cancel-waiting", "--yes")

    assert (answer.code, "belongs to staging already" in answer.err) == (1, True)
    assert copy.get(id).status is Status.PENDING


def test_show_tells_whose_it_is_and_what_that_means(postroom: CommandLine, copy: Outbox) -> None:
    answer = postroom("deployment", "show")

    assert answer.code == 0
    for part in ("belongs to production (id ", "configured for staging", "Delivery: deliver", "Nothing is sent: "):
        assert part in answer.out


def test_migrate_notes_that_the_database_is_another_s_and_does_not_stamp_it_over(
    postroom: CommandLine, copy: Outbox
) -> None:
    answer = postroom("migrate")

    assert answer.code == 0
    assert "belongs to the deployment production" in answer.err
    assert postroom("deployment", "show", "--json").json["stamped"]["name"] == "production"


def test_the_first_migrate_with_a_name_stamps_and_says_what_will_be_sent(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    enqueue(outbox)
    monkeypatch.setenv("POSTROOM_DEPLOYMENT", "staging")
    before = postroom("migrate", "--check")
    answer = postroom("migrate")

    assert (before.code, before.out) == (1, "not stamped: the deployment staging\n")
    assert "stamped as the deployment staging; 1 email that waited here will be sent from it" in answer.out
    assert postroom("migrate", "--check").code == 0


@pytest.mark.parametrize("name", ["pro duction", "a'b", "x" * 65])
def test_a_name_has_to_be_a_plain_one(postroom: CommandLine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("POSTROOM_DEPLOYMENT", name)
    assert postroom("migrate").code == 2


def checks(postroom: CommandLine) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["level"], each["detail"]) for each in postroom("doctor", "--json").json["checks"]}


def test_doctor_tells_of_a_foreign_database(postroom: CommandLine, copy: Outbox) -> None:
    level, detail = checks(postroom)["deployment"]

    assert (level, "belongs to the deployment production" in detail) == ("fail", True)


def test_doctor_advises_to_name_a_deployment(postroom: CommandLine, outbox: Outbox) -> None:
    found = next(each for each in postroom("doctor", "--json").json["checks"] if each["name"] == "deployment")

    assert (found["level"], "POSTROOM_DEPLOYMENT" in found["remedy"]) == ("ok", True)


@pytest.mark.parametrize(
    ("mode", "level"), [("deliver", "ok"), ("capture", "warn"), ("only:example.org", "warn"), ("everybody", "fail")]
)
def test_doctor_tells_who_gets_what_is_sent(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch, mode: str, level: str
) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", mode)
    assert checks(postroom)["delivery"][0] == level


def test_stats_tells_whose_it_is_and_who_gets_what(
    postroom: CommandLine, copy: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", "redirect:dev@example.org")
    shown, record = postroom("stats"), postroom("stats", "--json").json

    assert shown.out.startswith("Deployment: staging\nDelivery: redirect. Every email goes to one address")
    assert (record["deployment"], record["delivery"]) == ("staging", "redirect")


def test_a_worker_with_a_mode_that_cannot_be_read_does_not_start(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = enqueue(outbox)
    monkeypatch.setenv("POSTROOM_DELIVERY", "nobody")
    answer = postroom("worker", "--until-idle", "--smtp", "smtp://127.0.0.1:1")

    assert (answer.code, "POSTROOM_DELIVERY cannot be read, so nothing is delivered" in answer.err) == (2, True)
    assert outbox.get(id).status is Status.PENDING
