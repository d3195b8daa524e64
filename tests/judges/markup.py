"""caniemail and html-validate: what mail programs lack, and what is wrong HTML."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.judges.letters import Judged
from tests.judges.verdict import Verdict

CLIENTS = ("gmail.*", "outlook.*", "apple-mail.*")

RULES = {
    # Gmail's app for foreign accounts and its mobile site drop <style>; everything must be on the elements.
    "no-inline-style": "off",
    # Outlook on Windows draws with Word, which knows width, height, align, valign and bgcolor better than CSS.
    "no-deprecated-attr": "off",
    # Outlook drops elements that came with HTML 5, and what they mean with them; a <div> keeps its role.
    "prefer-native-element": ["error", {"exclude": ["main"]}],
    # The title is the subject, and the subject of some has a name in it; people's names are as long as they are.
    "long-title": "off",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grace:
    """Something that some mail programs lack and the emails use nevertheless."""

    feature: str
    """As caniemail calls it."""
    clients: tuple[str, ...]
    because: str
    """What readers see there instead, and why that is good as well."""


# Whatever is not in here is an error; so is an entry that nothing needs any more.
# The package looks at `@media` as a whole. What it does not ask is whether a program knows prefers-color-scheme: by its
# own data Gmail and Outlook on Windows do not, and what is said of `@media` below holds for them as well.
GRACES = (
    Grace(
        feature="@media",
        clients=("gmail.mobile-webmail", "outlook.windows", "outlook.windows-mail"),
        because="they show the light page, whose tables are fluid without it; narrow and dark are improvements of that",
    ),
    Grace(
        feature="<style> element",
        clients=("gmail.mobile-webmail",),
        because="it holds @media rules alone; all other styles are on the elements",
    ),
    Grace(
        feature="color-scheme meta tag",
        clients=("gmail.*", "outlook.*", "apple-mail.ios"),
        because="it tells others that the page brings its own dark colours; without it the page is light, or inverted",
    ),
    Grace(
        feature="display:none",
        clients=("gmail.mobile-webmail",),
        because="the preview text is a small line above the email there; to hide it by other means looks like spam",
    ),
    Grace(
        feature="border-radius",
        clients=("outlook.windows", "outlook.windows-mail"),
        because="corners are square there",
    ),
    Grace(
        feature="role attribute",
        clients=("outlook.windows-mail",),
        because="a screen reader may name layout tables there; their order is the reading order",
    ),
    Grace(
        feature="word-break",
        clients=("outlook.windows-mail",),
        because="a word wider than the page makes the page wider there; it only matters to very long names and links",
    ),
    Grace(
        feature="<body> element",
        clients=("outlook.macos",),
        because="its background is on the table within, too",
    ),
)


def judge(letters: list[Judged], tools: Path) -> Verdict:
    """What both say about all of them."""
    verdict = Verdict()
    used: set[Grace] = set()
    for name, said in _asked(letters, tools).items():
        errors = {(each["feature"], each["client"]) for each in said["errors"]}
        for feature, client in sorted(errors):
            grace = next((each for each in GRACES if _covers(each, feature, client)), None)
            if grace is None:
                verdict.fail(name, "caniemail", f"{feature} does not work in {client}")
            else:
                used.add(grace)
                verdict.grace(f"{feature}: {grace.because}", client)
        for each in said["warnings"]:
            verdict.warn(f"{each['feature']}", each["client"])
        for each in said["invalid"]:
            verdict.fail(name, "html-validate", each)
    for unused in {*GRACES} - used:
        verdict.fail("all", "caniemail", f"nothing needs the grace for {unused.feature}; strike it out")
    return verdict


def _asked(letters: list[Judged], tools: Path) -> dict[str, Any]:
    question = {"clients": CLIENTS, "rules": RULES, "pages": {each.name: each.html for each in letters}}
    # Node looks for packages beside the program.
    program = shutil.copy(Path(__file__).with_name("npm") / "judge.mjs", tools)
    said = subprocess.run(["node", program], input=json.dumps(question), capture_output=True, text=True, check=False)
    if said.returncode:
        raise SystemExit(f"caniemail or html-validate could not judge:\n{said.stderr}")
    answer: dict[str, Any] = json.loads(said.stdout)
    return answer


def _covers(grace: Grace, feature: str, client: str) -> bool:
    return grace.feature == feature and any(fnmatch(client, each) for each in grace.clients)
