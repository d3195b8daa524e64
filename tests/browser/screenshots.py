"""Pictures of every page: light and dark, desktop and phone. The best of them are kept in docs/images.

`make screenshots` takes them anew: all of them into build/screenshots, the best into docs/images.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser

from postroom import AsyncRegions, Email, Regions
from postroom.campaigns.looking.pages import find_enrolments
from postroom.config import load_shared
from postroom.operate import Operations
from postroom.testing import ScriptedSmtp
from postroom.web import desk
from postroom.work.thread import WorkerThread
from tests.browser.chromium import chromium
from tests.browser.entrance import PASSWORD, code_in_mail, give_code, give_password
from tests.browser.furnish import GUESTS, furnish, past_traffic, stop_some
from tests.browser.house import House, Pages
from tests.browser.outreach import LINKS, WORKSPACE, outreach
from tests.browser.returned import answered, come_back
from tests.regions.continents import session_in, silent_server
from tests.work.office import wait_until

NAME = "grace@hillhouse.example"
SIZES = {"desktop": (1280, 860), "phone": (390, 844)}
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
BEST = (
    "overview-outage-desktop-light",
    "overview-desktop-dark",
    "queue-dead-desktop-light",
    "campaign-desktop-light",
    "campaigns-phone-dark",
    "email-desktop-light",
    "replay-desktop-dark",
    "email-phone-dark",
    "regions-desktop-light",
)
QUEUE = "/admin/email-queue"


def pages(house: House) -> dict[str, str]:
    """Names of pictures and what they show."""
    dead = house.outbox.list(status="dead").emails
    booking = next(email for email in dead if email.kind == "booking")
    welcome = next(email for email in dead if email.kind == "welcome")
    sent = next(email for email in house.outbox.list(status="sent").emails if email.kind == "booking")
    minutes = next(email for email in dead if email.kind == "minutes")
    secret = next(email for email in house.outbox.list().emails if email.sensitive)
    return {
        "overview": "/admin",
        "queue": QUEUE,
        "queue-dead": f"{QUEUE}?status=dead",
        "queue-empty": f"{QUEUE}?q=somebody@nowhere.example",
        "email": f"{QUEUE}/{booking.id}",
        "email-grid": f"{QUEUE}/{minutes.id}",
        "email-invite": f"{QUEUE}/{sent.id}?view=invite",
        "email-source": f"{QUEUE}/{welcome.id}?view=source",
        "email-sensitive": f"{QUEUE}/{secret.id}",
        "replay": f"{QUEUE}/{booking.id}/replay",
        "suppressions": "/admin/suppressions",
        "suppressions-empty": "/admin/suppressions?q=somebody@nowhere.example",
        **returned_pages(house),
        **campaign_pages(house),
        "audit": "/admin/audit",
        "account": "/admin/account",
        "missing": f"{QUEUE}/00000000-0000-7000-8000-000000000000",
    }


def returned_pages(house: House) -> dict[str, str]:
    """What came back: all of it, what is unclear, and one of each sort."""
    found = Operations(house.outbox).returns().returns
    bounced = next(each.kept.id for each in found if each.entry is not None)
    unreadable = next(each.kept.id for each in found if each.kept.what == "unreadable")
    return {
        "returns": "/admin/returns",
        "returns-unclear": "/admin/returns?unclear=1",
        "returns-empty": "/admin/returns?q=somebody@nowhere.example",
        "return": f"/admin/returns/{bounced}",
        "return-unreadable": f"/admin/returns/{unreadable}",
    }


def campaign_pages(house: House) -> dict[str, str]:
    """A list, one at each stage, one person, the editor and the settings."""
    workspace = f"workspace={WORKSPACE}"
    found = house.outbox.database.run(find_enrolments(WORKSPACE, "spring", limit=1), writes=False)
    person = found.enrolments[0].prospect
    return {
        "campaigns": f"/admin/campaigns?{workspace}",
        "campaign": f"/admin/campaigns/spring?{workspace}&q=emmy",
        "campaign-draft": f"/admin/campaigns/summer?{workspace}&check=1",
        "campaign-paused": f"/admin/campaigns/bakers?{workspace}",
        "prospect": f"/admin/campaigns/spring/prospects/{person.id}?{workspace}",
        "sequence": f"/admin/sequences/spring?{workspace}&campaign=spring&prospect={person.address}",
        "sending": f"/admin/sending?{workspace}",
    }


def enter(browser: Browser, house: House, folder: Path) -> Any:
    """Sign in, with a picture of each step; what a window needs to be signed in, too."""
    shoot(browser, house, folder, {"sign-in": "/admin/sign-in"}, None)
    context = browser.new_context()
    page = context.new_page()
    page.goto(house.address("/admin"))
    give_password(page, NAME)
    shoot(browser, house, folder, {"sign-in-code": "/admin/sign-in/code"}, context.storage_state())
    give_code(page, code_in_mail(house, NAME))
    state = context.storage_state()
    context.close()
    return state


def shoot(browser: Browser, house: House | RegionsHouse, folder: Path, addresses: dict[str, str], state: Any) -> None:
    """Every page in every size and scheme."""
    for size, (width, height) in SIZES.items():
        for scheme in SCHEMES:
            viewport: Any = {"width": width, "height": height}
            context = browser.new_context(viewport=viewport, color_scheme=scheme, storage_state=state)
            page = context.new_page()
            for name, path in addresses.items():
                answer = page.goto(house.address(path))
                assert answer is not None
                assert answer.status == (404 if name == "missing" else 200), f"{path} answered {answer.status}"
                page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=True)
            context.close()


class RegionsHouse:
    """Three regions: mail moves in one, some was given up in another, and the database of the third is away."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """What a window needs to be signed in to the first of them."""
        with ScriptedSmtp() as smtp, silent_server() as away:
            own = {name: {"database": f"sqlite:///{self._folder / name}.db"} for name in ("deu1", "usa1")}
            self._settings = load_shared(
                regions={**own, "sgp1": {"database": away}}, smtp=smtp.url, sender="desk@hillhouse.example"
            )
            smtp.script(at="rcpt", argument="hedy@example.org", reply="550 5.1.1 no such user")
            with Regions.from_settings(self._settings) as regions, ExitStack() as workers, Pages(self._app) as pages:
                for name, guests in (("deu1", GUESTS[:6] * 40), ("usa1", GUESTS * 30)):
                    regions[name].migrate()
                    regions[name].enqueue_many(
                        Email(to=f"{guest}@example.org", subject="Welcome", text="Hello") for guest in guests
                    )
                    workers.enter_context(WorkerThread(regions[name], grace="2s"))
                    wait_until(lambda outbox=regions[name]: outbox.counts()["pending"] == 0)  # type: ignore[misc]
                self._port = pages.port
                token = session_in(regions["deu1"], NAME)
                host = {"domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": True, "secure": False}
                yield {"cookies": [{"name": "postroom_session.deu1", "value": token, "sameSite": "Lax", **host}]}

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    @asynccontextmanager
    async def _app(self) -> AsyncIterator[Any]:
        async with AsyncRegions.from_settings(self._settings) as regions:
            yield desk(regions)


def outage(house: House) -> None:
    """The mail server goes away while emails are due."""
    house.smtp.stop()
    for guest in GUESTS:
        email = Email(to=f"{guest}@example.org", subject="Tomorrow at Hill House", text="Until tomorrow!")
        house.outbox.enqueue(email, kind="reminder")
    house.wait(house.troubled)


def main(folder: Path, best: Path | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= LINKS
    with tempfile.TemporaryDirectory() as place, House(Path(place), dev=False) as house:
        house.add_person(NAME, PASSWORD)
        furnish(house)
        stop_some(house)
        outreach(house)
        come_back(house)
        answered(house)
        past_traffic(house)
        with house.worker(), chromium() as browser:
            state = enter(browser, house, folder)
            shoot(browser, house, folder, pages(house), state)
            outage(house)
            shoot(browser, house, folder, {"overview-outage": "/admin"}, state)
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        regions = RegionsHouse(Path(place))
        with regions.opened() as state:
            shoot(browser, regions, folder, {"regions-outside": "/regions"}, None)
            shoot(browser, regions, folder, {"regions": "/regions"}, state)
    if best is not None:
        best.mkdir(parents=True, exist_ok=True)
        for name in BEST:
            shutil.copyfile(folder / f"{name}.png", best / f"{name}.png")
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
