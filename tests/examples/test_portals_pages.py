"""What the portals promise to whoever comes to the door: single-use links, no tongue for strangers, one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from examples.portals import accounts
from examples.portals.accounts import Account, NewAccount
from examples.portals.company import Company, settings_of
from examples.portals.doors import Doors
from examples.portals.letters import HubLetters
from examples.portals.mail import PORTALS, hub
from examples.portals.serving import Addresses, running
from examples.portals.words import FOLDER, choose, words_of
from postroom import Email
from tests.examples.portals import PASSWORD, Visitor, visiting

NEW = "a swim in the lake"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("portals")


@pytest.fixture(scope="module")
def at(folder: Path) -> Iterator[Addresses]:
    with running(folder) as at:
        yield at


@pytest.fixture(scope="module")
def ada(at: Addresses) -> Iterator[Visitor]:
    """Somebody who has signed up and verified."""
    with visiting(at, "hub", region="deu1", email="ada@example.org") as visitor:
        assert visitor.sign_up().url.path == "/hub/look"
        assert "confirm your address first" in visitor.sign_in().text
        token = visitor.token("verify")
        visitor.http.get(f"/hub/verify?token={token}")  # a mail scanner looks, and confirms nothing
        assert "confirm your address first" in visitor.sign_in().text
        assert visitor.post("verify", token=token).url.path == "/hub/sign-in"
        assert visitor.post("verify", token=token).status_code == 410
        yield visitor


def test_a_link_to_a_new_password_works_once_ends_every_sign_in_and_is_told(ada: Visitor, folder: Path) -> None:
    assert "Hello Ada" in ada.sign_in().text
    ada.post("forgot-password", email="ADA@example.org ")
    token = ada.token("new-password")
    assert ada.post("new-password", token=token, password="short").status_code == 422
    first = ada.post("new-password", token=token, password=NEW)
    second = ada.post("new-password", token=token, password=PASSWORD)

    assert first.url.path == "/hub/sign-in"
    assert second.status_code == 410
    assert "Hello Ada" not in ada.http.get("/hub").text
    assert ada.sign_in(PASSWORD).status_code == 403
    assert "Hello Ada" in ada.sign_in(NEW).text

    ada.post("lock", token=ada.token("lock"))
    assert "Hello Ada" not in ada.http.get("/hub").text
    assert ada.sign_in(NEW).status_code == 403


def test_no_link_can_be_read_from_the_database_and_an_old_one_leads_nowhere(ada: Visitor, folder: Path) -> None:
    """Tokens are kept as digests, and the emails that carry them are sealed."""
    ada.post("forgot-password", email=ada.email)
    token = ada.token("new-password")
    kept = b"".join(file.read_bytes() for file in folder.glob("deu1.db*"))
    with closing(sqlite3.connect(folder / "deu1.db")) as connection:
        connection.execute("UPDATE account_tokens SET expires_at = 1 WHERE purpose = 'new_password'")
        connection.commit()

    assert token.partition(".")[2].encode() not in kept
    assert ada.post("new-password", token=token, password=NEW).status_code == 410


def test_a_stranger_learns_nothing_about_who_has_an_account(ada: Visitor, at: Addresses, folder: Path) -> None:
    with visiting(at, "hub", region="usa1", email="nobody@example.org") as stranger:
        before = _enqueued(folder)
        unknown = stranger.post("forgot-password", email="nobody@example.org")
        assert _enqueued(folder) == before
        known = stranger.post("forgot-password", email=ada.email)
        again = stranger.sign_up(email=ada.email)
        wrong = stranger.sign_in(), stranger.post("sign-in", email=ada.email, password="wrong")

    assert unknown.text == known.text == again.text
    assert wrong[0].text.replace("nobody@", "ada@") == wrong[1].text
    with closing(sqlite3.connect(folder / "usa1.db")) as connection:
        assert connection.execute("SELECT count(*) FROM accounts").fetchone() == (0,)


@pytest.mark.parametrize("token", ["", "deu1", "deu1.", "mars.abc", "x" * 99])
def test_what_is_no_token_leads_nowhere(at: Addresses, token: str) -> None:
    with visiting(at, "hub", region="deu1", email="ada@example.org") as visitor:
        answers = [
            visitor.http.post(f"/hub/{page}", data={"token": token, "password": NEW})
            for page in ("verify", "new-password", "lock")
        ]

    assert {answer.status_code for answer in answers} == {410}


def test_a_form_of_another_site_is_refused(at: Addresses) -> None:
    answer = httpx.post(f"{at.site}/hub/sign-up", data={"email": "x"}, headers={"origin": "https://evil.example"})

    assert answer.status_code == 403


def test_an_account_and_its_emails_are_one_transaction(tmp_path: Path) -> None:
    """(C1) If the last of two emails cannot be made, there is no account, no token, and no first email either."""

    class Speechless(HubLetters):
        def email_verification(self, account: Account, *, link: str) -> Email:
            raise RuntimeError("out of words")

    databases = {name: f"sqlite:///{tmp_path / name}.db" for name in ("ind1", "usa1", "deu1")}
    smtp = dict.fromkeys(databases, "smtp://127.0.0.1:9")
    new = NewAccount(email="ada@example.org", name="Ada", language="de", password="hashed")
    with Company(settings_of(databases, smtp, tmp_path), tmp_path, site="http://alder.example") as company:
        doors = Doors(letters=Speechless(), regions=company.regions, directory=company.directory, site="")
        with pytest.raises(RuntimeError, match="out of words"):
            doors.sign_up(new, region="deu1")
        failed = _left(company)
        company.doors["hub"].sign_up(new, region="deu1")

        assert failed == ([], 0)
        assert _left(company) == (["ada@example.org"], 2)


@pytest.mark.parametrize(
    ("chosen", "accepted", "spoken"),
    [
        (None, "de-CH, en;q=0.5", "de"),
        (None, "fr, ar;q=0.8, de;q=0.9", "de"),
        (None, "fr;q=x, *", "en"),
        ("ar", "de", "ar"),
        ("klingon", "", "en"),
    ],
)
def test_a_page_speaks_the_language_that_was_chosen_or_that_the_browser_asks_for(
    chosen: str | None, accepted: str, spoken: str
) -> None:
    assert choose(hub, chosen=chosen, accepted=accepted) == spoken


def test_every_language_of_a_portal_has_the_same_words() -> None:
    for portal in PORTALS:
        if portal.name == "admin":
            continue
        known = {language: set(words_of(portal.name, language)) for language in portal.languages.spoken}

        assert all(words == known["en"] for words in known.values()), (portal.name, FOLDER)


def _left(company: Company) -> tuple[list[str], int]:
    outbox = company.regions["deu1"]
    with outbox.transaction() as connection:
        found = accounts.find(connection, "hub", "ada@example.org")
    return ([found.email] if found else []), outbox.conservation().enqueued


def _enqueued(folder: Path) -> int:
    """How many emails there are in all regions."""
    found = 0
    for file in folder.glob("???1.db"):
        with closing(sqlite3.connect(file)) as connection:
            found += connection.execute("SELECT count(*) FROM postroom_emails").fetchone()[0]
    return found
