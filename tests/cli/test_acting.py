"""retry, dismiss, reinstate, cancel and replay: by id and by filter."""

from __future__ import annotations

import pytest

from postroom import EmailId, Outbox, Status
from postroom.errors import EmailNotFound
from tests.cli.conftest import CommandLine, enqueue, enqueue_dead, enqueue_sent

MISSING = "01890000-0000-7000-8000-000000000000"


def test_a_dead_email_is_retried_by_its_id_and_the_history_says_by_whom(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue_dead(outbox)

    answer = postroom("retry", id, "--by", "grace")

    assert answer.code == 0
    assert answer.out == "retried 1 email\n"
    email = outbox.get(id)
    assert (email.status, email.attempts) == (Status.PENDING, 0)
    assert (email.history[-1].what, email.history[-1].actor) == ("retried", "grace")


def test_without_a_name_the_user_of_the_machine_is_on_record(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "katherine")
    id = enqueue(outbox)

    postroom("cancel", id)

    assert outbox.get(id).history[-1].actor == "katherine"


def test_of_many_ids_each_is_tried_and_the_code_says_that_some_did_not_apply(
    postroom: CommandLine, outbox: Outbox
) -> None:
    sent, dead = enqueue_sent(outbox), enqueue_dead(outbox)

    answer = postroom("retry", sent, dead, MISSING)

    assert answer.code == 1
    assert answer.out == "retried 1 email\n"
    assert "it is sent" in answer.err
    assert f"no email {MISSING}" in answer.err
    assert outbox.get(dead).status is Status.PENDING


def test_programs_learn_which_were_refused_and_why(postroom: CommandLine, outbox: Outbox) -> None:
    sent, dead = enqueue_sent(outbox), enqueue_dead(outbox)

    answer = postroom("dismiss", sent, dead, "--json")

    assert answer.code == 1
    assert answer.json["applied"] == 1
    [refused] = answer.json["refused"]
    assert refused["id"] == sent
    assert "it is sent" in refused["error"]
    with pytest.raises(EmailNotFound):
        outbox.get(dead)


def test_a_filter_without_anybody_to_ask_is_refused(postroom: CommandLine, outbox: Outbox) -> None:
    ids = [enqueue(outbox, kind="memo") for _ in range(3)]

    answer = postroom("cancel", "--kind", "memo")

    assert answer.code == 2
    assert "3 emails (3 pending)" in answer.err
    assert "--yes" in answer.err
    assert {outbox.get(id).status for id in ids} == {Status.PENDING}


def test_a_filter_with_yes_touches_what_matches_and_nothing_else(postroom: CommandLine, outbox: Outbox) -> None:
    memos = [enqueue(outbox, kind="memo") for _ in range(3)]
    other = enqueue(outbox, kind="order")

    answer = postroom("cancel", "--kind", "memo", "--yes")

    assert answer.code == 0
    assert answer.out == "cancelled 3 emails\n"
    assert {outbox.get(id).status for id in memos} == {Status.CANCELLED}
    assert outbox.get(other).status is Status.PENDING


@pytest.mark.parametrize("act", ["retry", "dismiss"])
def test_all_means_all_that_the_act_applies_to(postroom: CommandLine, outbox: Outbox, act: str) -> None:
    sent, dead = enqueue_sent(outbox), [enqueue_dead(outbox) for _ in range(2)]
    waiting = enqueue(outbox)

    answer = postroom(act, "--all", "--yes", "--json")

    assert answer.json | {"undo": ""} == {
        "act": act, "dry_run": False, "applied": len(dead), "refused": [], "undo": "",
    }  # fmt: skip
    assert outbox.get(sent).status is Status.SENT
    assert outbox.get(waiting).history == ()


def test_a_reply_code_chooses_the_emails_it_was_said_to(postroom: CommandLine, outbox: Outbox) -> None:
    full, unknown = enqueue_dead(outbox, code=552), enqueue_dead(outbox, code=550)

    postroom("retry", "--reply-code", "552", "--yes")

    assert outbox.get(full).status is Status.PENDING
    assert outbox.get(unknown).status is Status.DEAD


def test_a_limit_takes_the_newest(postroom: CommandLine, outbox: Outbox) -> None:
    ids = [enqueue(outbox) for _ in range(3)]

    answer = postroom("cancel", "--all", "--limit", "2", "--yes")

    assert answer.out == "cancelled 2 emails\n"
    assert [outbox.get(id).status for id in ids] == [Status.PENDING, Status.CANCELLED, Status.CANCELLED]


def test_a_dry_run_counts_and_changes_nothing(postroom: CommandLine, outbox: Outbox) -> None:
    sent, dead = enqueue_sent(outbox), enqueue_dead(outbox)

    by_filter = postroom("retry", "--all", "--dry-run")
    by_id = postroom("retry", dead, sent, MISSING, "--dry-run", "--json")

    assert (by_filter.code, by_filter.out) == (0, "would retry 1 email; nothing was changed\n")
    assert (by_id.code, by_id.json["applied"]) == (1, 1)
    assert [each["id"] for each in by_id.json["refused"]] == [sent, MISSING]
    assert outbox.get(dead).status is Status.DEAD


def test_a_filter_that_matches_nothing_is_no_failure(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("retry", "--status", "dead", "--yes")

    assert (answer.code, answer.out) == (0, "retried 0 emails\n")


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("retry",), "--all"),
        (("retry", MISSING, "--status", "dead"), "one or the other"),
        (("retry", "--status", "sent", "--yes"), "retry applies to dead or in_doubt"),
        (("retry", "--all", "--since", "yesterday"), "2026-05-17"),
    ],
)
def test_an_unclear_choice_is_refused_with_a_remedy(
    postroom: CommandLine, outbox: Outbox, arguments: tuple[str, ...], remedy: str
) -> None:
    answer = postroom(*arguments)

    assert answer.code == 2
    assert remedy in answer.err


def test_a_replay_corrects_recipient_subject_and_text_and_keeps_key_and_history(
    postroom: CommandLine, outbox: Outbox
) -> None:
    """(B5)"""
    id = enqueue_dead(outbox, to="typo@example.org", key="memo-7")

    answer = postroom("replay", id, "--to", "ada@example.org", "--subject", "Fixed", "--text-file", "-", input="New\n")

    assert answer.code == 0
    email = outbox.get(id)
    assert (email.status, email.key, email.subject) == (Status.PENDING, "memo-7", "Fixed")
    assert [recipient.address for recipient in email.recipients] == ["ada@example.org"]
    assert [entry.what for entry in email.history] == ["failed", "replayed"]
    assert outbox.letter(id).text == "New\n"


def test_a_replay_of_many_finds_them_by_their_old_subject(postroom: CommandLine, outbox: Outbox) -> None:
    wrong = [enqueue(outbox, subject="Sprnig is here") for _ in range(3)]
    right = enqueue(outbox, subject="Summer is here")
    outbox.cancel(right)
    for id in wrong:
        outbox.cancel(id)

    answer = postroom("replay", "--in-subject", "sprnig", "--subject", "Spring is here", "--limit", "2", "--yes")

    assert answer.out == "replayed 2 emails\n"
    assert [outbox.get(id).subject for id in wrong] == ["Sprnig is here", "Spring is here", "Spring is here"]
    assert outbox.get(right).status is Status.CANCELLED


def test_a_correction_that_cannot_be_accepted_changes_nothing(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue_dead(outbox)

    answer = postroom("replay", id, "--to", "not an address")

    assert answer.code == 2
    assert outbox.get(EmailId(id)).status is Status.DEAD


def test_dismiss_tells_how_to_take_it_back(postroom: CommandLine, outbox: Outbox) -> None:
    ids = [enqueue_dead(outbox) for _ in range(2)]

    said = postroom("dismiss", "--status", "dead", "--yes").out
    taken_back = postroom(*said.splitlines()[1].partition("postroom ")[2].split())

    assert said.splitlines()[0] == "dismissed 2 emails"
    assert (taken_back.code, taken_back.out) == (0, "reinstated 2 emails\n")
    assert {outbox.get(id).status for id in ids} == {Status.DEAD}


def test_what_was_dismissed_is_listed_and_reinstated_by_id(postroom: CommandLine, outbox: Outbox) -> None:
    id, other = enqueue_dead(outbox), enqueue_dead(outbox)
    outbox.dismiss(id, by="grace")

    [listed] = postroom("reinstate", "--json").json["dismissed"]
    assert (listed["id"], listed["status"], listed["dismissed_by"], listed["act"]) == (id, "dead", "grace", id)
    assert id in postroom("reinstate").out
    done = postroom("reinstate", id, other, "--by", "ada")

    assert done.code == 1
    assert done.out == "reinstated 1 email\n"
    assert f"email {other} cannot be reinstated" in done.err
    assert [entry.actor for entry in outbox.get(id).history[-2:]] == ["grace", "ada"]


def test_nothing_to_reinstate_is_said(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("reinstate")

    assert (answer.code, answer.out) == (0, "")
    assert "Nothing was dismissed" in answer.err
    assert postroom("reinstate", "--act", MISSING).out == "reinstated 0 emails\n"
    assert postroom("reinstate", MISSING, "--act", MISSING).code == 2
