"""The emails of the example: in every language, with every sample, all is well."""

from __future__ import annotations

import pytest

from examples.portals.mail import admin, agency, hub, org
from postroom import Portal
from postroom.templates.checks import Cell, Matrix, check_portal


@pytest.mark.parametrize("portal", [hub, org, agency, admin], ids=lambda portal: portal.name)
def test_every_email_of_a_portal_passes_every_check(portal: Portal) -> None:
    """C2, C3: the twelve, complete in the languages that their portals declare."""
    findings = list(check_portal(portal))

    assert findings == []
    assert {cell for row in Matrix.of(portal, findings).rows.values() for cell in row.values()} == {Cell.OK}
