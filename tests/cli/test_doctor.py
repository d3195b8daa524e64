"""doctor."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postroom import Email, Outbox
from postroom.cli.database_checks import file_system_of
from postroom.testing import ScriptedHttp, ScriptedSmtp
from postroom.work import breakers
from tests.cli.conftest import CommandLine, enqueue, enqueue_dead

MOUNTS = """\
/dev/root / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb /home/ada\\040b ext4 rw 0 0
"""


def levels(postroom: CommandLine) -> dict[str, str]:
    return {check["name"]: check["level"] for check in postroom("doctor", "--json").json["checks"]}


def test_all_is_well_with_a_sender_and_a_mail_server(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedSmtp() as server:
        monkeypatch.setenv("POSTROOM_SMTP", server.url)
        monkeypatch.setenv("POSTROOM_SENDER", "Desk <desk@example.org>")
        monkeypatch.setenv("POSTROOM_SECRET", "s" * 32)
        answer = postroom("doctor", "--json")

    assert answer.code == 0
    assert answer.json["ok"] is True
    assert {check["level"] for check in answer.json["checks"]} == {"ok"}
    assert [check["name"] for check in answer.json["checks"]] == [
        "settings", "sender", "delivery", "database", "journal", "disk", "mode", "schema", "deployment",
        "conservation", "sensitive", "workers", "due", "dead", "in_doubt", "journals", "smtp",
    ]  # fmt: skip
    assert server.messages == []


def test_routes_of_every_channel_are_looked_at(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedHttp() as gateway:
        gateway.script(status=401, body=b'{"code": 20003, "message": "Authenticate"}')
        text = f"twilio+http://AC1:hunter22@127.0.0.1:{gateway.port}?from=%2B15005550006"
        monkeypatch.setenv("POSTROOM_ROUTES__SMS__TRANSPORT", text)
        monkeypatch.setenv("POSTROOM_ROUTES__WEBHOOKS__TRANSPORT", "webhook:")
        answer = postroom("doctor", "--json")
    found = {check["name"]: check for check in answer.json["checks"]}

    assert (found["twilio+http sms"]["level"], found["webhook webhooks"]["level"]) == ("fail", "ok")
    assert "401 20003 Authenticate" in found["twilio+http sms"]["detail"]
    assert "hunter22" not in json.dumps(answer.json)


def test_what_is_missing_or_waits_is_worth_a_look_and_no_failure(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue_dead(outbox)

    found = levels(postroom)

    assert (found["sender"], found["smtp"], found["dead"]) == ("warn", "warn", "warn")
    assert postroom("doctor").code == 0


def test_mail_that_is_due_while_nobody_works_is_a_failure_at_once(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue(outbox)

    answer = postroom("doctor", "--json")

    found = {check["name"]: check for check in answer.json["checks"]}
    assert answer.code == 1
    assert found["workers"]["level"] == "fail"
    assert "no worker has shown a sign of life" in found["workers"]["detail"]
    assert "postroom worker" in found["workers"]["remedy"]
    assert postroom("stats", "--json").json["sentence"].startswith("No worker is running")


def test_a_mail_server_that_is_away_is_a_failure_and_its_password_stays_secret(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedSmtp() as server:
        port = server.port
    monkeypatch.setenv("POSTROOM_SMTP", f"smtp://me:hunter22@127.0.0.1:{port}?insecure_auth=yes")

    answer = postroom("doctor")

    assert answer.code == 1
    assert f"127.0.0.1:{port}" in answer.out
    assert "hunter22" not in answer.out + answer.err


def test_an_outbox_that_everybody_can_open_is_worth_a_look_and_left_as_it_is(
    postroom: CommandLine, outbox: Outbox
) -> None:
    file = Path(outbox.database_url.removeprefix("sqlite:///"))
    file.chmod(0o644)
    [found] = [check for check in postroom("doctor", "--json").json["checks"] if check["name"] == "mode"]

    assert found["level"] == "warn"
    assert found["remedy"].startswith(f"chmod o= {file}")
    assert file.stat().st_mode & 0o777 == 0o644
    file.chmod(0o640)
    assert levels(postroom)["mode"] == "ok"


def test_a_wrong_password_is_a_failure(postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedSmtp(users={"me": "right"}) as server:
        monkeypatch.setenv("POSTROOM_SMTP", server.url.replace("//", "//me:wrong@") + "?insecure_auth=yes")
        answer = postroom("doctor", "--json")

    [smtp] = [check for check in answer.json["checks"] if check["name"] == "smtp"]
    assert answer.code == 1
    assert smtp["level"] == "fail"
    assert "535" in smtp["detail"]


def test_a_setting_that_makes_no_sense_is_a_failure(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_LEASE", "soon")

    answer = postroom("doctor", "--json")

    assert answer.code == 1
    assert [check["name"] for check in answer.json["checks"]] == ["settings"]


def test_an_absent_outbox_is_a_failure_and_is_not_created(postroom: CommandLine, tmp_path: Path) -> None:
    answer = postroom("doctor", "--json")

    assert answer.code == 1
    assert {check["name"]: check["level"] for check in answer.json["checks"]}["database"] == "fail"
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_our_tables_is_a_failure(postroom: CommandLine, outbox: Outbox) -> None:
    with outbox.transaction() as connection:
        connection.execute("DROP TABLE postroom_migrations")

    assert levels(postroom)["schema"] == "fail"


def test_a_schema_that_needs_later_code_is_a_failure(postroom: CommandLine, outbox: Outbox) -> None:
    with outbox.transaction() as connection:
        connection.execute(
            "INSERT INTO postroom_migrations (version, name, checksum, needs) VALUES (9999, 'later', 'x', 9999)"
        )

    assert levels(postroom)["schema"] == "fail"


def test_a_lost_email_is_a_failure(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue(outbox)
    with outbox.transaction() as connection:
        connection.execute("DELETE FROM postroom_emails WHERE id = ?", (id,))

    assert levels(postroom)["conservation"] == "fail"
    assert postroom("doctor").code == 1


def test_the_server_of_every_route_is_asked(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedSmtp() as server, ScriptedSmtp() as gone:
        monkeypatch.setenv("POSTROOM_SMTP", server.url)
        monkeypatch.setenv("POSTROOM_ROUTES__BACKUP__TRANSPORT", gone.url)
        gone.stop()
        checks = {check["name"]: check for check in postroom("doctor", "--json").json["checks"]}

    assert (checks["smtp"]["level"], checks["smtp backup"]["level"]) == ("ok", "fail")
    assert "routes.backup.transport" in checks["smtp backup"]["remedy"]


def test_emails_that_wait_too_long_and_closed_routes_are_worth_a_look(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue(outbox, not_before=datetime.now(UTC) - timedelta(hours=2))
    outbox.database.run(breakers.pause("mx:25", "quota"))

    findings = {finding["name"]: finding for finding in postroom("doctor", "--json").json["checks"]}

    assert {name: findings[name]["level"] for name in ("due", "dead", "in_doubt", "route")} == {
        "due": "warn", "dead": "ok", "in_doubt": "ok", "route": "warn",
    }  # fmt: skip
    assert "2 h ago" in findings["due"]["detail"]
    assert "mx:25 was paused by a person" in findings["route"]["detail"]
    assert "quota" in findings["route"]["detail"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/var/outbox.db", "ext4"), ("/home/bo/outbox.db", "nfs4"), ("/home/ada b/outbox.db", "ext4")],
)
def test_the_file_system_is_that_of_the_innermost_mount(path: str, kind: str) -> None:
    assert file_system_of(Path(path), MOUNTS) == kind


def journals(postroom: CommandLine) -> dict[str, str]:
    [found] = [check for check in postroom("doctor", "--json").json["checks"] if check["name"] == "journals"]
    return found  # type: ignore[no-any-return]


def test_a_folder_of_journals_that_cannot_be_made_is_a_failure(
    postroom: CommandLine, outbox: Outbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks: there is a file in its way."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POSTROOM_JOURNAL", str(tmp_path / "file" / "journals"))
    found = journals(postroom)

    assert found["level"] == "fail"
    assert str(tmp_path / "file" / "journals") in found["detail"]
    assert "POSTROOM_JOURNAL" in found["remedy"]


def test_whose_folder_of_journals_it_is_is_told(
    postroom: CommandLine, outbox: Outbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_JOURNAL", str(tmp_path / "journals"))
    assert "will be made" in journals(postroom)["detail"]
    (tmp_path / "journals").mkdir(mode=0o700)
    assert "alone" in journals(postroom)["detail"]
    (tmp_path / "journals").chmod(0o2770)

    assert (journals(postroom)["level"], list((tmp_path / "journals").iterdir())) == ("ok", [])
    assert "shared by group" in journals(postroom)["detail"]


def sensitive_finding(postroom: CommandLine) -> dict[str, str]:
    [found] = [check for check in postroom("doctor", "--json").json["checks"] if check["name"] == "sensitive"]
    return found


def test_sensitive_emails_that_are_not_encrypted_are_told_of(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = sensitive_finding(postroom)
    monkeypatch.setenv("POSTROOM_SECRET", "s" * 32)
    sealed = sensitive_finding(postroom)

    assert (bare["level"], sealed["level"]) == ("warn", "ok")
    assert "not encrypted" in bare["detail"]
    assert "POSTROOM_SECRET" in bare["remedy"]


def test_sensitive_emails_that_cannot_be_opened_here_are_told_of(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_SECRET", "s" * 32)
    with Outbox(outbox.database_url) as sealing:
        sealing.enqueue(Email(to="ada@example.org", text="x"), sensitive=True)
    known = sensitive_finding(postroom)
    monkeypatch.setenv("POSTROOM_SECRET", "t" * 32)
    unknown = sensitive_finding(postroom)
    monkeypatch.setenv("POSTROOM_PREVIOUS_SECRETS", "s" * 32)

    assert (known["level"], unknown["level"], sensitive_finding(postroom)["level"]) == ("ok", "fail", "ok")
    assert "1 sensitive email sealed with a secret that is not known here" in unknown["detail"]


def test_a_secret_that_nothing_can_be_sealed_with_is_told_of(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_SECRET", "s" * 32)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    found = sensitive_finding(postroom)

    assert found["level"] == "fail"
    assert "postroom[encryption]" in found["detail"]
