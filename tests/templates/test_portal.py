"""A portal makes emails of typed variables, or says to the caller why it cannot (C2, C3, F6)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from postroom import Brand, Email, Outbox, Portal
from postroom.compose import Address
from postroom.errors import ConfigurationError, InvalidEmail, InvalidTemplate
from tests.templates.conftest import Write, template

PIXEL = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class ForgotPassword:
    name: str
    link: str


FORGOT = template(
    "forgot_password",
    subject="Your new password",
    html='<p>Hello {{ name }}, <a href="{{ link }}">choose one</a>.</p>',
    text="Hello {{ name }}, choose one: {{ link }}",
    sample='[ada]\nname = "Ada"\nlink = "https://hub.example/new"\n',
)


def hub(portal: Write, files: dict[str, str | bytes] = FORGOT, **given: object) -> tuple[Portal, type[ForgotPassword]]:
    found = portal(files, **given)

    @dataclass(frozen=True)
    class Own(ForgotPassword):
        pass

    Own.__name__ = "ForgotPassword"
    return found, found.template(Own)


def test_a_template_becomes_an_email_like_any_other(portal: Write) -> None:
    found, context = hub(portal)

    email = found.email(context(name="Ada", link="https://hub.example/?a=1&b=2"), to="ada@example.org")

    assert isinstance(email, Email)
    assert email.sender == (Address("Hub", "hello@hub.example"),)
    assert email.subject == "Your new password"
    assert email.text == "Hello Ada, choose one: https://hub.example/?a=1&b=2\n"
    assert email.html is not None
    assert '<a href="https://hub.example/?a=1&amp;b=2">' in email.html
    assert email.edition is not None
    assert email.edition.kind == "hub.forgot_password"
    assert email.edition.language == "en"


def test_its_edition_is_stored_with_it_and_its_kind_is_portal_and_type(portal: Write, sqlite_url: str) -> None:
    found, context = hub(portal)
    with Outbox(sqlite_url) as outbox:
        outbox.migrate()
        email = found.email(context(name="Ada", link="https://hub.example/"), to="ada@example.org")
        stored = outbox.get(outbox.enqueue(email).id)

    assert stored.kind == "hub.forgot_password"
    assert stored.edition == email.edition


def test_values_are_escaped_in_html_and_nowhere_else(portal: Write) -> None:
    found, context = hub(portal)

    email = found.email(context(name="<b>Ada & Bob</b>", link="https://hub.example/"), to="ada@example.org")

    assert "Hello &lt;b&gt;Ada &amp; Bob&lt;/b&gt;" in str(email.html)
    assert email.text.startswith("Hello <b>Ada & Bob</b>,")


def test_a_line_break_in_a_subject_is_refused(portal: Write) -> None:
    found, context = hub(portal, {**FORGOT, "forgot_password/subject.txt": "For {{ name }}"})

    with pytest.raises(InvalidEmail, match="line feed"):
        found.email(context(name="Ada\nBcc: eve@example.org", link="https://hub.example/"), to="ada@example.org")


def test_a_variable_that_is_unknown_missing_or_of_another_type_is_named_with_the_nearest(portal: Write) -> None:
    found, context = hub(portal)

    with pytest.raises(InvalidTemplate, match=r"^hub\.forgot_password: lnk: .*did you mean link\?") as unknown:
        context(name="Ada", lnk="https://hub.example/")  # type: ignore[call-arg]
    with pytest.raises(InvalidTemplate, match=r"^hub\.forgot_password: link: is missing"):
        context(name="Ada")  # type: ignore[call-arg]
    with pytest.raises(InvalidTemplate, match=r"^hub\.forgot_password: name: should be a valid string"):
        found.email(context(name=7, link="https://hub.example/"), to="ada@example.org")  # type: ignore[arg-type]

    assert (unknown.value.template, unknown.value.variable) == ("hub.forgot_password", "lnk")
    assert isinstance(unknown.value, TypeError)


def test_a_name_that_no_variable_has_is_refused_even_where_no_condition_asks_for_it(portal: Write) -> None:
    html = "<p>{{ name }}{% if name == 'nobody' %}{{ lnk }}{% endif %}</p>"
    found, context = hub(portal, {**FORGOT, "forgot_password/body.html": html})

    with pytest.raises(InvalidTemplate, match=r"lnk: there is no such variable; did you mean link\?"):
        found.email(context(name="Ada", link="https://hub.example/"), to="ada@example.org")


def test_a_link_that_the_text_lacks_is_refused_without_telling_what_is_in_it(portal: Write) -> None:
    found, context = hub(portal, {**FORGOT, "forgot_password/body.txt": "Hello {{ name }}"})

    with pytest.raises(InvalidTemplate, match="text does not name") as refused:
        found.email(context(name="Ada", link="https://hub.example/secret-token"), to="ada@example.org")

    assert "secret-token" not in str(refused.value)


def test_nothing_is_sent_with_a_hole_in_it(portal: Write) -> None:
    @dataclass(frozen=True)
    class Welcome:
        name: str | None = None

    found = portal(template("welcome"))
    found.template(Welcome)

    with pytest.raises(InvalidTemplate, match=r"None.* was to be put out"):
        found.email(Welcome(), to="ada@example.org")


def test_an_unknown_template_portal_or_context_is_told_with_what_there_is(portal: Write) -> None:
    found, _ = hub(portal)

    with pytest.raises(InvalidTemplate, match=r"hub\.forgot_pasword: .*did you mean forgot_password\?"):
        found.context("forgot_pasword", {})
    with pytest.raises(InvalidTemplate, match="str is no template of this portal"):
        found.email("forgot_password", to="ada@example.org")


def test_a_template_without_files_is_told_when_it_is_used(portal: Write) -> None:
    found, context = hub(portal, {"forgot_password/subject.txt": "Hi"})

    with pytest.raises(
        InvalidTemplate, match=r"lacks body\.txt, body\.html; .*postroom template new hub forgot_password"
    ):
        found.email(context(name="Ada", link="https://hub.example/"), to="ada@example.org")


def test_the_logo_travels_inside_where_it_is_shown(portal: Write) -> None:
    shown = '<p><img src="{{ brand.logo }}" alt="{{ brand.name }}"> {{ name }} <a href="{{ link }}">x</a></p>'
    brand = Brand(name="Hub", logo="logo.png")
    files = {**FORGOT, "forgot_password/body.html": shown, "logo.png": PIXEL}
    found, context = hub(portal, files, brand=brand)

    email = found.email(context(name="Ada", link="https://hub.example/"), to="ada@example.org")

    [logo] = email.attachments
    assert logo.content == PIXEL
    assert f'<img src="cid:{logo.content_id}" alt="Hub">' in str(email.html)
    plain, context = hub(portal, {**FORGOT, "logo.png": PIXEL}, brand=brand)
    assert plain.email(context(name="Ada", link="https://hub.example/"), to="ada@example.org").attachments == ()


def test_a_logo_that_is_not_there_matters_to_those_who_show_it(portal: Write) -> None:
    shown = '<p><img src="{{ brand.logo }}" alt=""> {{ name }} <a href="{{ link }}">x</a></p>'
    brand = Brand(name="Hub", logo="logo.png")
    plain, context = hub(portal, brand=brand)

    assert plain.email(context(name="Ada", link="https://hub.example/"), to="ada@example.org").attachments == ()
    showing, context = hub(portal, {**FORGOT, "forgot_password/body.html": shown}, brand=brand)
    with pytest.raises(InvalidTemplate, match=r"there is no logo\.png in"):
        showing.email(context(name="Ada", link="https://hub.example/"), to="ada@example.org")


def test_styles_are_inlined_and_media_rules_stay(portal: Write) -> None:
    style = "<style>.a { color: #123456 } @media (prefers-color-scheme: dark) { .a { color: #fff !important } }</style>"
    page = f'<html><head>{style}</head><body><p class="a">{{{{ name }}}}</p></body></html>'
    found, context = hub(portal, {**FORGOT, "forgot_password/body.html": page})

    html = str(found.email(context(name="Ada", link=""), to="ada@example.org").html)

    assert '<p class="a" style="color: #123456;">Ada</p>' in html
    assert "@media (prefers-color-scheme: dark)" in html


def test_rows_of_a_table_come_from_a_loop(portal: Write) -> None:
    """Inlined before rendering, the loop would be moved out of the table."""

    @dataclass(frozen=True)
    class Order:
        lines: tuple[str, ...]

    rows = "<table>{% for line in lines %}<tr><td>{{ line }}</td></tr>{% endfor %}</table>"
    found = portal(template("order", html=rows, text="{{ lines|join(', ') }}", subject="Order"))
    found.template(Order)

    html = str(found.email(Order(lines=("a", "b")), to="ada@example.org").html)

    assert "<table><tbody><tr><td>a</td></tr><tr><td>b</td></tr></tbody></table>" in html


def test_the_version_changes_with_every_file_that_is_used_and_with_no_other(portal: Write) -> None:
    files = {
        **FORGOT,
        "forgot_password/body.html": '{% extends "layout.html" %}{% block body %}{{ name }}{% endblock %}',
        "forgot_password/body.txt": "{{ name }} {{ link }}",
        "layout.html": "<html><body>{% block body %}{% endblock %}</body></html>",
        "other/subject.txt": "Other",
    }

    def version(changed: dict[str, str | bytes], **given: object) -> str:
        found, _ = hub(portal, {**files, **changed}, **given)
        return found.in_language("forgot_password", None).version

    first = version({})
    assert version({}) == first
    assert version({"other/subject.txt": "Changed"}) == first
    assert version({"forgot_password/sample.toml": ""}) == first
    assert version({"layout.html": "<html><body><p>{% block body %}{% endblock %}</p></body></html>"}) != first
    assert version({}, brand=Brand(name="Hub", colour="#123456")) != first
    assert len(first) == 12


def test_files_are_read_anew_when_somebody_says_so(portal: Write, tmp_path: Path) -> None:
    found, context = hub(portal)
    given = context(name="Ada", link="https://hub.example/")
    before = found.email(given, to="ada@example.org")
    (tmp_path / "hub/forgot_password/subject.txt").write_text("Another")

    assert found.email(given, to="ada@example.org") == before
    found.reload()
    assert found.email(given, to="ada@example.org").subject == "Another"


def test_names_of_portals_templates_and_variables_are_checked_where_they_are_made(portal: Write) -> None:
    found = portal({})

    @dataclass(frozen=True)
    class Welcome:
        brand: str

    @dataclass(frozen=True)
    class Other:
        name: str

    with pytest.raises(ConfigurationError, match="cannot be called brand"):
        found.template(Welcome)
    with pytest.raises(ConfigurationError, match="no dataclass"):
        found.template(Path)
    with pytest.raises(ConfigurationError, match="cannot be the name of a portal"):
        Portal("Hub!", templates=".", brand=Brand(name="Hub"))
    with pytest.raises(ConfigurationError, match="write it like #0b6e4f"):
        Brand(name="Hub", colour="green")
    assert found.template(name="special")(Other) is Other
    with pytest.raises(ConfigurationError, match="named twice"):
        found.template(name="special")(Other)


def test_many_threads_render_at_once(portal: Write) -> None:
    found, context = hub(portal)
    wrong: list[str] = []

    def render(number: int) -> None:
        for turn in range(50):
            said = f"{number}-{turn}"
            email = found.email(context(name=said, link=f"https://hub.example/{said}"), to="ada@example.org")
            if said not in str(email.html) or said not in email.text:
                wrong.append(said)

    threads = [threading.Thread(target=render, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_a_folder_is_looked_for_beside_the_module_then_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "mails/hub").mkdir(parents=True)
    source = "from postroom import Brand, Portal\nhub = Portal('hub', templates='mails/hub', brand=Brand(name='Hub'))"
    monkeypatch.chdir(tmp_path)

    def root() -> Path:
        names = {"__file__": str(tmp_path / "shop/mail.py")}
        exec(source, names)
        made: Portal = names["hub"]  # type: ignore[assignment]
        return made.root

    assert root() == tmp_path / "mails/hub"
    (tmp_path / "shop/mails/hub").mkdir(parents=True)
    assert root() == tmp_path / "shop/mails/hub"


@pytest.mark.parametrize("package", ["jinja2", "css_inline"])
def test_without_what_renders_the_error_says_what_to_install(portal: Write, package: str, tmp_path: Path) -> None:
    hub(portal)
    program = f"""
import sys
sys.modules[{package!r}] = None
from dataclasses import dataclass
from postroom import Brand, Portal
from postroom.errors import ConfigurationError
portal = Portal("hub", templates={str(tmp_path / "hub")!r}, brand=Brand(name="Hub"))
@portal.template
@dataclass(frozen=True)
class ForgotPassword:
    name: str
    link: str
try:
    portal.email(ForgotPassword(name="Ada", link="https://hub.example/"), to="ada@example.org")
except ConfigurationError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert told.stdout == f"templates need {package}: install it with `pip install 'postroom[templates]'`\n"


def test_a_late_email_keeps_its_variables_and_no_words(portal: Write) -> None:
    found, context = hub(portal)

    email = found.email(context(name="Ada", link="https://hub.example/"), to="ada@example.org", late=True)

    assert (email.subject, email.html, email.text) == ("", None, "")
    assert json.loads(str(email.late)) == {"name": "Ada", "link": "https://hub.example/"}
    assert email.edition is not None
