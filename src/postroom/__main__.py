"""`python -m postroom`, where the script is not on the path."""

from __future__ import annotations

from postroom.cli import main

main()
