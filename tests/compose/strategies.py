"""Emails as people and attackers write them, within what `Email` accepts."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from postroom.compose import Address, Attachment, Email, Letter
from postroom.vocabulary import EmailId

ID = EmailId("019685b1-2c00-7000-8000-00000000abcd")
DATE = datetime(2026, 5, 1, 12, 30, 15, 123456, tzinfo=UTC)
SENDER = Address("Postroom", "postroom@example.org")

_SAMPLES = st.sampled_from(
    (
        "Grüße aus Köln",
        "👩‍👩‍👧‍👦 🏳️‍🌈",
        "مرحبا بالعالم",
        "שלום \u200fעולם",
        "你好，世界",
        "e\u0301 combining",
        "a  b   c",
        "x" * 200,
        "1 + 1 =? and =?x?=",
        'say "hi" \\ (really), <b>; [ok]: @home.',
        "From here.",
        "=_boundary--",
    )
)
_HEADER_CHARACTERS = st.characters(
    exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\x85\u202a\u202b\u202c\u202d\u202e"
)


def _is_a_header(value: str) -> bool:
    return value.count("?") < 4 and value.isprintable()


header_texts = st.one_of(
    _SAMPLES,
    st.text(_HEADER_CHARACTERS, max_size=60).filter(_is_a_header),
    st.lists(_SAMPLES, max_size=12).map(" ".join),
)
names = header_texts.map(lambda name: name.strip()[:200].strip())
locals_ = st.from_regex(r"[a-z0-9+_-]{1,20}(\.[a-z0-9+_-]{1,10})?", fullmatch=True)
domains = st.sampled_from(("example.org", "example.test", "localhost", "sub.a-b.example.com", "xn--mnchen-3ya.de"))
plain_addresses = st.builds(lambda local, domain: f"{local}@{domain}", locals_, domains)
addresses = st.builds(Address, st.just("") | names, plain_addresses)
international = st.builds(
    Address, names, st.sampled_from(("jürgen@example.org", "用户@example.org", "ραδιο@example.gr"))
)

_BODY_SAMPLES = st.sampled_from(
    (
        "Hello\n",
        ".\n..\n.hidden\n",
        "From the start\n",
        "trailing space \t\n",
        "no newline at the end",
        "old\rmac\r\nand dos\nlines",
        "y" * 1200,
        "Ünïcödé " * 30,
        "日本語テキスト" * 40,
        "--=_019685b12c00700080000000000000\n",
        "=3D = =\n=\n",
        "\x0c\x0b\x1b[31mred\x1b[0m\x1c\x85\u2028",
        "\n\n\n",
        "ü \n",
        "ü\t",
    )
)
bodies = st.one_of(
    st.lists(_BODY_SAMPLES, max_size=6).map("".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300),
)

_HOSTILE_FILENAMES = st.sampled_from(
    (
        'quote".txt',
        "semi;colon=x.txt",
        "per%20cent%zz.txt",
        "Übersicht „2026“.pdf",
        "报告.docx",
        "👩‍💻.py",
        "'utf-8''x.txt",
        "name*0*=x.exe",
        "a" * 250 + ".txt",
        "報" * 83,
        "no-extension",
        ".hidden",
        "two  spaces.txt",
        "comma, and (parens) <x>@[y]:?.txt",
    )
)
filenames = _HOSTILE_FILENAMES | st.text(
    st.characters(categories=("L", "N", "P", "S", "Mn"), exclude_characters="/\\"), min_size=1, max_size=40
).filter(lambda name: name not in (".", "..") and _is_a_header(name))

attachments = st.builds(
    Attachment,
    filenames,
    st.binary(max_size=300),
    st.sampled_from((None, "application/pdf", "text/csv; charset=utf-8", "image/png")),
)
images = st.lists(st.binary(max_size=50), max_size=2).map(
    lambda contents: [
        Attachment(f"image{n}.png", content, content_id=f"image{n}@x") for n, content in enumerate(contents)
    ]
)
headers = st.dictionaries(
    st.sampled_from(("X-Thing", "List-Unsubscribe", "X-A-Rather-Long-Header-Name-For-No-Good-Reason")),
    header_texts.map(str.strip),
    max_size=3,
)
_long_lists = st.integers(30, 60).map(
    lambda count: [Address("Nº" * (number % 40), f"reader{number}@example.org") for number in range(count)]
)
many = st.lists(addresses, max_size=3) | _long_lists

emails = st.builds(
    lambda attachments, images, **fields: Email(**fields, attachments=[*attachments, *images]),
    to=st.lists(addresses, min_size=1, max_size=3) | _long_lists,
    cc=many,
    bcc=st.lists(plain_addresses, max_size=2),
    reply_to=st.lists(plain_addresses, max_size=2),
    sender=st.lists(addresses, max_size=2),
    subject=header_texts,
    text=bodies,
    html=st.none() | bodies.map(lambda body: f"<p>{body}</p>"),
    headers=headers,
    attachments=st.lists(attachments, max_size=2),
    images=images,
)


def composed(email: Email) -> Letter:
    """A letter with an id, a date and a sender that do not matter to the test."""
    return Letter.compose(email, id=ID, date=DATE, default_sender=SENDER)
