"""Of tests with the same name, only one is run where a module's tests are given to one process, and nobody is told."""

from __future__ import annotations

from collections import Counter

import pytest


def test_every_test_has_a_name_of_its_own(request: pytest.FixtureRequest) -> None:
    names = Counter(item.nodeid for item in request.session.items)

    assert [name for name, count in names.items() if count > 1] == []
