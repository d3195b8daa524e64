"""The whole story, over HTTP as a browser would do it: everybody signs up, forgets a password, and reads their mail."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

from examples.portals.company import PASSWORD, staff_of
from examples.portals.serving import Addresses

PEOPLE = {"ind1": ("Priya", "en"), "usa1": ("Grace", "en"), "deu1": ("Ada", "de")}
PATIENCE = 3
"""Half minutes that an email is waited for; it takes a moment, unless the machine is very busy."""
FIRST, SECOND = "a walk in the woods", "a swim in the lake"

_CODE = re.compile(r"\b\d{6}\b")
_FORM_TOKEN = re.compile(r'name="csrf" value="([^"]*)"')


def tell(at: Addresses) -> Iterator[str]:
    """Live through it all in each region; a line for each thing that happened. What does not happen ends the story."""
    mark = secrets.token_hex(3)  # another time, other people
    for region, (name, language) in PEOPLE.items():
        play = Play(at, region, name=name, language=language, mark=mark)
        for line in (*play.hub(), *play.org(), *play.agency(), *play.staff()):
            yield f"{region}: {line}"


class Play:
    """What happens in one region."""

    def __init__(self, at: Addresses, region: str, *, name: str, language: str, mark: str) -> None:
        self._at = at
        self._region = region
        self._name = name
        self._language = language
        self._mark = mark

    def hub(self) -> Iterator[str]:
        """Somebody signs up, confirms their address, forgets the password, and comes in with a new one."""
        browser, email = Browser(self._language), self._address(self._name)
        self._sign_up(browser, "hub", self._name, email)
        yield f"hub: {self._name} signs up, and is welcomed"
        link = self._mail(email).link("hub/verify")
        browser.post(f"{self._at.site}/hub/verify", token=_token(link))
        yield f"hub: {self._name} follows the link in the email, and the address is confirmed"
        self._forget(browser, "hub", email)
        yield f"hub: {self._name} forgets the password, chooses another by email, and is told so"
        self._sign_in(browser, "hub", email, SECOND, self._name)
        yield f"hub: {self._name} is signed in"

    def org(self) -> Iterator[str]:
        """An employer opens an account, and asks a colleague in."""
        browser, boss, colleague = Browser(self._language), self._address("boss"), self._address("colleague")
        self._sign_up(browser, "org", "Boss", boss, organisation="Hill House Hotels")
        self._sign_in(browser, "org", boss, FIRST, "Boss")
        yield "org: Hill House Hotels opens an account"
        browser.post(f"{self._at.site}/org/invite", email=colleague, role="manager", language=self._language)
        link = self._mail(colleague).link("org/invitation")
        joining = Browser(self._language)
        joining.post(f"{self._at.site}/org/invitation", token=_token(link), name="Colleague", password=FIRST)
        self._sign_in(joining, "org", colleague, FIRST, "Colleague")
        yield "org: a colleague is invited by email, and joins"
        self._forget(browser, "org", boss)
        yield "org: a forgotten password is changed"

    def agency(self) -> Iterator[str]:
        """A recruiter does what recruiters do."""
        browser, email = Browser(self._language), self._address("joan")
        self._sign_up(browser, "agency", "Joan", email, organisation="Clarke & Daughters")
        yield "agency: Joan signs up, and is welcomed"
        self._forget(browser, "agency", email)
        self._sign_in(browser, "agency", email, SECOND, "Joan")
        yield "agency: Joan forgets the password, and is back in"

    def staff(self) -> Iterator[str]:
        """One of ourselves signs in to the admin portal: a password, then six digits from the mailbox."""
        browser, name = Browser(), staff_of(self._region)
        desk = f"{self._at.site}/staff/regions/{self._region}/admin"
        page = browser.get(f"{desk}/sign-in")
        page = browser.post(f"{desk}/sign-in", csrf=_first(_FORM_TOKEN, page), name=name, password=PASSWORD)
        code = self._mail(name).code("alder")
        page = browser.post(f"{desk}/sign-in/code", csrf=_first(_FORM_TOKEN, page), code=code)
        _expect("Sign out", page)
        yield f"staff: {name} is let in with the six digits that came by email"

    def _sign_up(self, browser: Browser, portal: str, name: str, email: str, **more: str) -> None:
        fields = {"name": name, "email": email, "password": FIRST, "region": self._region, **more}
        browser.post(f"{self._at.site}/{portal}/sign-up", **fields)
        self._mail(email).read(f"{self._at.site}/{portal}\n")

    def _sign_in(self, browser: Browser, portal: str, email: str, password: str, name: str) -> None:
        _expect(name, browser.post(f"{self._at.site}/{portal}/sign-in", email=email, password=password))

    def _forget(self, browser: Browser, portal: str, email: str) -> None:
        browser.post(f"{self._at.site}/{portal}/forgot-password", email=email)
        link = self._mail(email).link(f"{portal}/new-password")
        browser.post(f"{self._at.site}/{portal}/new-password", token=_token(link), password=SECOND)
        self._mail(email).link(f"{portal}/lock")

    def _address(self, name: str) -> str:
        return f"{name.lower()}.{self._region}.{self._mark}@example.org"

    def _mail(self, address: str) -> Mailbox:
        return Mailbox(self._at.inboxes[self._region], address)


class Browser:
    """Enough of one: pages, forms and cookies."""

    def __init__(self, language: str = "en") -> None:
        self._language = language
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def get(self, url: str) -> str:
        return self._ask(url, None)

    def post(self, url: str, **fields: str) -> str:
        """Send a form, and follow to the page that comes next."""
        return self._ask(url, urlencode(fields).encode())

    def _ask(self, url: str, form: bytes | None) -> str:
        request = Request(url, data=form, headers={"Accept-Language": self._language})  # noqa: S310  our own
        with self._opener.open(request, timeout=60) as answer:
            return str(answer.read().decode())


class Mailbox:
    """What arrives for one address in one region's inbox, by the inbox's own API."""

    def __init__(self, inbox: str, address: str) -> None:
        self._inbox = inbox
        self._address = address

    def read(self, words: str) -> str:
        """The text of the newest email that has these words in it; it is waited for."""
        for _ in range(PATIENCE):
            found = self._get(f"messages?to={quote(self._address)}&q={quote(words)}&wait=30")["messages"]
            if found:
                return str(self._get(f"messages/{found[0]['id']}")["text"])
        raise SystemExit(f"no email with «{words}» arrived for {self._address}")

    def link(self, page: str) -> str:
        """The link to a page, from the email that has one."""
        return _first(re.compile(rf"http\S+/{page}\?token=\S+"), self.read(f"/{page}?token="))

    def code(self, words: str) -> str:
        """The six digits of an email."""
        return _first(_CODE, self.read(words))

    def _get(self, path: str) -> dict[str, Any]:
        with build_opener().open(f"{self._inbox}api/inbox/{path}", timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
        return found


def _token(link: str) -> str:
    return link.partition("token=")[2]


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        raise SystemExit(f"nothing like {pattern.pattern} in: {text[:300]}")
    return found[found.lastindex or 0]


def _expect(words: str, page: str) -> None:
    if words not in page:
        raise SystemExit(f"«{words}» is not on the page: {page[:2000]}")
