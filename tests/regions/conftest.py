"""No setting comes from outside."""

from __future__ import annotations

from tests.accounts.quick import quick_passwords
from tests.config.conftest import own_surroundings, write

__all__ = ["own_surroundings", "quick_passwords", "write"]
