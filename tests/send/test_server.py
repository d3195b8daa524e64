"""The transport's URL: everything rides in it, and nothing secret comes out of it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.errors import ConfigurationError
from postroom.send.smtp import AuthMechanism, Limits, Server, StartTls


def test_the_defaults_are_those_of_the_standard() -> None:
    server = Server.parse("smtp://mail.example.org")

    assert (server.host, server.port, server.starttls) == ("mail.example.org", 25, StartTls.OFFERED)
    assert (server.user, server.auth, server.implicit_tls, server.insecure_auth) == (None, None, False, False)
    assert server.limits == Limits(connect=30, greeting=300, command=300, data=120, block=180, dot=600)


def test_every_option_is_understood() -> None:
    server = Server.parse(
        "smtp://ada%40example.org:s%3Acr%2Fet@mail.example.org:587?starttls=required&auth=xoauth2&insecure_auth=yes"
        "&connections=4&rate=14/s&emails_per_connection=50&idle=5s&ca=/etc/ca.pem&helo=app.example.org"
        "&connect=1s&greeting=2s&command=3s&data=4s&block=500ms&dot=10m"
    )

    assert (server.user, server.password, server.port) == ("ada@example.org", "s:cr/et", 587)
    assert (server.starttls, server.auth, server.insecure_auth) == (StartTls.REQUIRED, AuthMechanism.XOAUTH2, True)
    assert (server.connections, server.rate, server.emails_per_connection, server.idle) == (4, "14/s", 50, 5.0)
    assert (server.ca, server.helo) == ("/etc/ca.pem", "app.example.org")
    assert server.limits == Limits(connect=1, greeting=2, command=3, data=4, block=0.5, dot=600)


def test_smtps_is_tls_from_the_first_byte_on_its_own_port() -> None:
    server = Server.parse("smtps://mail.example.org")

    assert (server.implicit_tls, server.port) == (True, 465)


@pytest.mark.parametrize(
    ("url", "name"), [("smtp://mail.example.org:2525", "mail.example.org:2525"), ("smtp://[::1]:25", "[::1]:25")]
)
def test_the_name_is_host_and_port(url: str, name: str) -> None:
    assert Server.parse(url).name == name


def test_the_password_never_shows() -> None:
    server = Server.parse("smtp://ada:sesame@mail.example.org")

    assert "sesame" not in f"{server!r} {server} {server.name}"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://mail.example.org", "smtp:// or smtps://"),
        ("mail.example.org:25", "smtp:// or smtps://"),
        ("smtp://", "names no host"),
        ("smtp://host:99999", "cannot be read"),
        ("smtp://host/path", "path or fragment"),
        ("smtp://ada:se/same@host", "cannot be read"),
        ("smtp://host?tls=yes", "there is no SMTP option 'tls'; the known ones are auth, block, ca, "),
        ("smtp://host?starttls=maybe", "'starttls': expected one of required, offered, off, got 'maybe'"),
        ("smtp://ada@host?auth=cram", "'auth': expected one of plain, login, xoauth2"),
        ("smtp://host?auth=plain", "names no user"),
        ("smtp://host?connections=0", "'connections': expected a whole number"),
        ("smtp://host?connections=many", "'connections': expected a whole number"),
        ("smtp://host?rate=14", "'rate': expected a number per unit"),
        ("smtp://host?dot=soon", "'dot'.*500ms, 3s, 5m"),
        ("smtp://host?dot=0s", "'dot': expected longer than nothing"),
        ("smtp://host?insecure_auth=perhaps", "'insecure_auth': expected yes or no"),
        ("smtp://host?helo=a%20b", "'helo': expected a host name"),
        ("smtp://host?idle=5s&idle=6s", "'idle' is given twice"),
        ("smtps://host?starttls=required", "no meaning with smtps"),
        ("smtp://a%00b@host", "NUL"),
    ],
)
def test_what_is_wrong_is_named(url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Server.parse(url)


@given(st.text(alphabet=st.sampled_from("ab1:/?#@&=%[] ")) | st.text())
@example("?")
@example("#")
def test_a_url_is_understood_or_refused_and_never_shows_its_password(text: str) -> None:
    try:
        shown = repr(Server.parse(f"smtp://ada:{text}sesame{text}@host"))
    except ConfigurationError as error:
        shown = str(error)

    assert "sesame" not in shown
