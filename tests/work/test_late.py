"""Emails that are rendered when they are first attempted: once, before anything leaves, and each on its own merits."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from postroom import Attachment, DeadReason, EmailId, Limits, Outbox, RetryPolicy, Status
from postroom.compose import DEFAULT_LIMITS
from postroom.errors import ConfigurationError
from postroom.store import acts
from postroom.work.rendering import renderer
from tests.sealing.everything import everything_in
from tests.work.late import LOGO, NEW, OLD, Press, late, write_portal
from tests.work.office import AT_ONCE, PATIENCE, Office, wait_until

NAMES = ("Ada", "Bob", "Eve", "Mallory")


def enqueue(office: Office, *names: str, **wishes: object) -> list[EmailId]:
    return [office.outbox.enqueue(late(name), policy=AT_ONCE, **wishes).id for name in names]  # type: ignore[arg-type]


async def test_a_late_email_is_rendered_when_it_is_first_attempted(office: Office) -> None:
    [id] = enqueue(office, "Ada")
    before, press = office.get(id), Press()
    await office.work_until_idle(render=press)
    after, [message] = office.get(id), office.server.messages

    assert (before.late, before.subject) == (True, "(rendered when sent)")
    assert (after.status, after.late, after.subject) == (Status.SENT, False, "Hello Ada")
    assert after.message_id == before.message_id
    assert b"Printed as number 1." in message.data
    assert message.data.replace(b"\r\n", b"") == office.outbox.letter(id).as_bytes().replace(b"\r\n", b"")
    assert b'filename="logo.png"' in message.data
    assert after.size > before.size


async def test_it_is_found_by_what_it_was_really_rendered_from(office: Office) -> None:
    """The files have changed since it was enqueued: «who got the old wording?» has an honest answer."""
    [id] = enqueue(office, "Ada")
    waiting = [each.id for each in office.outbox.list(version=OLD.version).emails]
    await office.work_until_idle(render=Press())

    assert waiting == [id]
    assert office.get(id).edition == NEW
    assert office.outbox.list(version=OLD.version).emails == ()
    assert [each.id for each in office.outbox.list(version=NEW.version, portal="hub").emails] == [id]


async def test_every_attempt_sends_the_same_octets(office: Office) -> None:
    office.server.script(at="dot", reply="451 4.3.0 later", times=2)
    [id] = enqueue(office, "Ada")
    press = Press()
    await office.work_until_idle(render=press)

    assert press.printed == ["Ada"]
    assert office.get(id).attempts == 3
    assert len({message.data for message in [*office.server.messages, *office.server.refused]}) == 1


async def test_a_template_that_fails_kills_its_own_email_and_no_other(office: Office) -> None:
    ids = enqueue(office, *NAMES)
    await office.work_until_idle(render=Press(rejects={"Eve"}))

    eve = office.get(ids[2])
    assert (eve.status, eve.dead_reason) == (Status.DEAD, DeadReason.INVALID)
    assert eve.last_error == "the email could not be rendered: hub.welcome: link: is missing; give it a value"
    assert office.statuses([ids[0], ids[1], ids[3]]) == {Status.SENT}


@pytest.mark.parametrize("act", ["retry", "replay"])
async def test_once_the_template_is_mended_it_is_rendered_anew(office: Office, act: str) -> None:
    [id] = enqueue(office, "Eve")
    await office.work_until_idle(render=Press(rejects={"Eve"}))
    waiting = office.get(id)
    getattr(office.outbox, act)(id)
    await office.work_until_idle(render=Press())

    assert waiting.late
    assert (office.get(id).status, office.order_of_arrival()) == (Status.SENT, ["Hello Eve"])


async def test_where_the_portal_is_not_known_an_email_waits_for_somebody_who_knows_it(office: Office) -> None:
    [id] = enqueue(office, "Ada")
    await office.work_until_idle(render=Press(knows=False))
    email = office.get(id)

    assert (email.status, email.attempts, email.late) == (Status.PENDING, 0, True)
    assert [entry.what for entry in email.history] == ["deferred"]
    assert email.history[0].detail["reason"] == "no template hub.welcome is known here"
    office.sql("UPDATE {emails} SET due_at = created_at")
    await office.work_until_idle(render=Press())
    assert office.get(id).status is Status.SENT


async def test_what_is_rendered_is_held_to_the_limits(office: Office) -> None:
    large, small = enqueue(office, "Ada")[0], office.enqueue(1)[0]
    await office.work_until_idle(render=Press(more="x" * 20_000), limits=Limits(bytes=10_000))

    assert office.get(large).dead_reason is DeadReason.INVALID
    assert "bytes; bring it under 10,000" in (office.get(large).last_error or "")
    assert office.get(small).status is Status.SENT


async def test_what_a_sensitive_email_is_filled_in_with_is_in_a_box_and_so_are_its_words(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_SECRET", "s" * 32)
    office.server.script(at="dot", reply="451 4.3.0 later", times=1)
    with Outbox(office.url) as outbox:
        id = outbox.enqueue(late("Ada"), sensitive=True, policy=RetryPolicy(steps=["1h"], name="later")).id
        keyring, before = outbox.rules.keyring, everything_in(outbox)
        await office.work_until_idle(render=Press(), keyring=keyring)
        between, boxes = everything_in(outbox), _boxes(office)
        outbox.database.run(acts.replay(id, {}, actor="me", limits=DEFAULT_LIMITS))
        press = Press()
        await office.work_until_idle(render=press, keyring=keyring)

    assert '{"name":"Ada"}' not in before
    assert "Printed as number" not in between
    assert boxes == [f"box.{id}.1"]
    assert press.printed == []
    assert [message.data for message in office.server.messages] == [message.data for message in office.server.refused]
    assert (office.get(id).erased, office.get(id).edition) == (True, NEW)
    assert _boxes(office) == []


def _boxes(office: Office) -> list[str]:
    return [digest for (digest,) in office.sql("SELECT digest FROM {attachments} WHERE digest LIKE ?", "box%")]


async def test_a_large_one_is_rendered_alone_and_keeps_what_it_carries(office: Office) -> None:
    report = Attachment("report.bin", b"\0" * 400_000)
    id = office.outbox.enqueue(late("Ada", attachments=[report]), policy=AT_ONCE).id
    [other] = enqueue(office, "Bob")
    await office.work_until_idle(render=Press())

    assert office.statuses([id, other]) == {Status.SENT}
    assert [each.filename for each in office.outbox.letter(id).attachments] == ["report.bin", LOGO.filename]


async def test_many_are_rendered_a_batch_at_a_time_and_arrive_once(office: Office) -> None:
    ids = [
        office.outbox.enqueue(late(f"Person{n}"), policy=AT_ONCE, priority="bulk" if n % 2 else "normal").id
        for n in range(130)
    ]
    press = Press()
    await office.work_until_idle(render=press)

    assert office.statuses(ids) == {Status.SENT}
    assert sorted(press.printed) == sorted(f"Person{n}" for n in range(130))
    assert set(office.server.copies_of_all().values()) == {1}


@pytest.mark.parametrize("place", ["rendered", "words_placed"])
def test_a_worker_killed_over_its_words_loses_nothing_and_doubles_nothing(office: Office, place: str) -> None:
    """Before they are stored they are rendered anew, from the files as they are then; afterwards they stay."""
    folder = office.journals.parent
    portals = write_portal(folder)
    ids = enqueue(office, *NAMES)
    victim = office.start_worker(lease="2s", POSTROOM_PORTALS=portals, POSTROOM_FAILPOINT=f"{place}:1")
    assert victim.wait(PATIENCE) == -signal.SIGKILL, office.logs()
    rendered = {office.get(id).late for id in ids}
    write_portal(folder, greeting="Good evening")
    office.finish(POSTROOM_PORTALS=portals)

    assert rendered == {place == "rendered"}
    assert office.statuses(ids) == {Status.SENT}
    assert [office.copies(id) for id in ids] == [1, 1, 1, 1]
    greeting = "Good evening" if place == "rendered" else "Hello"
    assert sorted(office.order_of_arrival()) == [f"{greeting} {name}" for name in NAMES]


def test_a_copy_after_a_doubt_has_the_same_octets_although_the_template_has_changed(office: Office) -> None:
    folder = office.journals.parent
    portals = write_portal(folder)
    [id] = enqueue(office, "Ada")
    victim = office.start_worker(lease="2s", POSTROOM_PORTALS=portals, POSTROOM_FAILPOINT="reply_read:1")
    assert victim.wait(PATIENCE) == -signal.SIGKILL, office.logs()
    write_portal(folder, greeting="Good evening")
    office.finish(POSTROOM_PORTALS=portals)

    assert office.copies(id) == 2
    assert len({message.data for message in office.server.messages}) == 1
    assert office.order_of_arrival() == ["Hello Ada", "Hello Ada"]


def test_a_worker_without_the_portal_says_so_and_goes_on(office: Office) -> None:
    waits, *_others = enqueue(office, *NAMES)
    [sent] = office.enqueue(1)
    worker = office.start_worker("--until-idle")

    assert worker.wait(PATIENCE) == 0, office.logs()
    assert (office.get(waits).status, office.get(sent).status) == (Status.PENDING, Status.SENT)
    assert office.logs().count("emails wait for somebody who can render them") == 1


@pytest.mark.parametrize(
    ("module", "told"),
    [
        (None, "there is no module"),
        ("raise RuntimeError('secret')", "cannot be loaded (RuntimeError)"),
        ("import no_such_package", "needs no_such_package"),
    ],
)
def test_what_a_process_lacks_is_no_email_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str | None, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    name = re.sub(r"\W", "_", tmp_path.name)
    if module is not None:
        (tmp_path / f"{name}.py").write_text(module)

    with pytest.raises(ConfigurationError, match=re.escape(told)):
        renderer((f"{name}:hub",))(OLD, "{}")


def test_what_renders_is_imported_by_whoever_renders() -> None:
    seen = "import sys, postroom.work.thread, postroom.broker.services; print('jinja2' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", seen], capture_output=True, check=True).stdout.strip() == b"False"


@pytest.mark.parametrize("verb", ["send", "send_soon"])
def test_an_application_renders_what_it_sends_at_once(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("POSTROOM_PORTALS", write_portal(tmp_path))
    monkeypatch.setenv("POSTROOM_JOURNAL", str(office.journals))
    with Outbox(office.url, smtp=office.server.url) as outbox:
        outcome = getattr(outbox, verb)(late("Ada"))
        wait_until(lambda: outbox.get(outcome.id).status is Status.SENT)

        assert outbox.get(outcome.id).subject == "Hello Ada"
    assert office.order_of_arrival() == ["Hello Ada"]


def test_an_application_that_knows_no_portal_leaves_it_to_a_worker(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_JOURNAL", str(office.journals))
    with Outbox(office.url, smtp=office.server.url) as outbox:
        outcome = outbox.send(late("Ada"))
        email = outbox.get(outcome.id)

    assert (outcome.sent, outcome.queued) == (False, True)
    assert (email.status, email.attempts, email.late) == (Status.PENDING, 0, True)
