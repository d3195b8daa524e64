"""A small portal in a folder of its own, complete in English, half in German, and with a logo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from postroom import Brand, Portal

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c63f8cfc0f01f00050001ff89993d1d0000000049454e44ae426082"
)

HTML = """<!doctype html>
<html lang="{{ language }}">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>{{ subject }}</title>
<style>
.page { background: #ffffff; color: #111111; margin: 0 }
.link { color: #1a55ad }
@media (prefers-color-scheme: dark) {
  .page { background: #101010 !important; color: #eeeeee !important }
  .link { color: #93bbff !important }
}
@media (max-width: 600px) { .wide { display: none !important } }
</style>
</head>
<body class="page">
<div style="display:none">A short preheader&nbsp;&zwnj;&nbsp;&zwnj;</div>
<img src="{{ brand.logo }}" alt="{{ brand.name }}">
<p>GREETING {{ name }}</p>
<p class="wide">Only where there is room</p>
<p><a class="link" href="{{ link }}">Go on</a></p>
</body>
</html>
"""

FILES = {
    "welcome/subject.txt": "Welcome, {{ name }}",
    "welcome/body.html": HTML.replace("GREETING", "Good morning"),
    "welcome/body.txt": "Good morning {{ name }}\n\n{{ link }}\n",
    "welcome/subject.de.txt": "Willkommen, {{ name }}",
    "welcome/body.de.html": HTML.replace("GREETING", "Guten Morgen"),
    "welcome/body.de.txt": "Guten Morgen {{ name }}\n\n{{ link }}\n",
    "welcome/sample.toml": """
[ada]
name = "Ada"
link = "https://shop.example/start"

[markup]
name = "<script>parent.document.title = 'stolen'</script>"
link = "https://shop.example/?a=1&b=2"
""",
    "goodbye/subject.txt": "Goodbye",
    "goodbye/body.html": HTML.replace("GREETING", "Farewell"),
    "goodbye/body.txt": "Farewell {{ name }}\n\n{{ link }}\n",
    "goodbye/sample.toml": '[eve]\nname = "Eve"\nlink = "https://shop.example/end"\n',
}


def open_shop(folder: Path) -> Portal:
    """The portal, its files written."""
    for name, content in FILES.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    (folder / "logo.png").write_bytes(PIXEL)
    shop = Portal(
        "shop",
        templates=folder,
        sender="Shop <hello@shop.example>",
        brand=Brand(name="The Shop", logo="logo.png", colour="#0b6e4f", footer="Shop Ltd"),
        languages=("en", "de"),
    )

    @dataclass(frozen=True)
    class Welcome:
        name: str
        link: str

    @dataclass(frozen=True)
    class Goodbye:
        name: str
        link: str

    shop.template(Welcome)
    shop.template(Goodbye)
    return shop
