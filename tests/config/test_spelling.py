"""A mistyped setting is an error that names the nearest one, wherever it stands."""

from __future__ import annotations

import pytest

from postroom.config import Settings, load
from postroom.errors import ConfigurationError
from postroom.spelling import mistyped
from tests.config.conftest import Write


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("POSTROOM_DATABSE", "POSTROOM_DATABASE"),
        ("POSTROOM_SMPT", "POSTROOM_SMTP"),
        ("POSTROOM_LEASES", "POSTROOM_LEASE"),
        ("POSTROOM_CONFG", "POSTROOM_CONFIG"),
        ("POSTROOM_ROUTE__BACKUP__TRANSPORT", "POSTROOM_ROUTES__BACKUP__TRANSPORT"),
    ],
)
def test_a_variable_that_is_nearly_one_of_ours_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    monkeypatch.setenv(variable, "hunter22")

    for read in (load, Settings):
        with pytest.raises(ConfigurationError) as refused:
            read()
        assert str(refused.value) == f"there is no setting {variable}; did you mean {meant}?"


@pytest.mark.parametrize(
    "variable",
    ["POSTROOM_PORT", "POSTROOM_SERVICE_HOST", "POSTROOM_PORT_8025_TCP_ADDR", "POSTROOM_FAILPOINT", "POSTROOM_IMAGE"],
)
def test_what_else_is_called_postroom_is_no_business_of_ours(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Kubernetes makes such variables for a service of that name."""
    monkeypatch.setenv(variable, "")

    assert load().database.get_secret_value() == "sqlite:///postroom.db"


def test_no_setting_is_taken_for_a_mistyped_other() -> None:
    given = {f"POSTROOM_{name.upper()}{suffix}": "" for name in Settings.model_fields for suffix in ("", "__X")}

    assert list(mistyped(given, "POSTROOM_", Settings.model_fields)) == []


def test_a_name_in_the_file_that_is_like_no_other_is_told_with_all_there_are(write: Write) -> None:
    write("colour = 'red'")

    with pytest.raises(
        ConfigurationError, match=r"no setting colour; the known ones are database, deployment, .*tables, smtp"
    ):
        load()


def test_a_mistyped_keyword_is_refused_as_a_name_in_the_file_is(write: Write) -> None:
    with pytest.raises(ConfigurationError, match=r"no setting databse; did you mean database\?"):
        load(databse="sqlite:///x.db")
    write("retentoin = '3d'")
    with pytest.raises(ConfigurationError, match=r"no setting retentoin; did you mean retention\?"):
        load()


def test_a_value_that_cannot_be_read_is_told_with_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_LEASE", "soon")

    with pytest.raises(ConfigurationError, match=r"^setting lease: 'soon' is not a length of time"):
        load()
