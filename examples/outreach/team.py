"""The outreach team: the settings of its outbox, and its campaign from the two files beside this one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from postroom.campaigns.drafts.describing import Description, read_description
from postroom.campaigns.importing.batches import Imported
from postroom.campaigns.importing.table import open_table
from postroom.config import Settings, load
from postroom.operate.campaigns import CampaignOperations

HERE = Path(__file__).parent
PROSPECTS = HERE / "prospects.csv"
WORKSPACE = "alder"
CAMPAIGN = "spring"
TEAM = "the team"
"""Who acts, in the audit log."""
RETURNS = "returns@alder.example"


def settings_of(folder: Path, *, smtp: str, public_url: str, secret: str) -> Settings:
    """The settings of the team's outbox, as code; nothing comes from the environment that is said here."""
    return load(
        database=f"sqlite:///{folder / 'outreach.db'}",
        tables="postroom",
        smtp=smtp,
        routes={"default": {"transport": None, "fallback": None}},
        routing=(),
        sender="Alder Doors <desk@alder.example>",
        return_address=RETURNS,
        secret=secret,
        public_url=public_url,
        journal=folder / "journal",
        delivery="deliver",
        deployment="",
    )


def description() -> Description:
    """The campaign as `campaign.toml` has it."""
    return read_description((HERE / "campaign.toml").read_text(encoding="utf-8"))


def make_draft(campaigns: CampaignOperations, changes: Mapping[str, Any] | None = None) -> None:
    """The draft with its sequence and senders; `changes` to the settings of the workspace hold, too."""
    campaigns.new(WORKSPACE, description(), by=TEAM)
    if changes:
        campaigns.change_settings(WORKSPACE, changes, by=TEAM)


def import_prospects(campaigns: CampaignOperations) -> Imported:
    """The people of `prospects.csv`, into the draft."""
    with open_table(PROSPECTS) as table:
        return campaigns.import_prospects(WORKSPACE, table, by=TEAM, campaign=CAMPAIGN)
