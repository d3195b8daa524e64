"""Sequences of emails to many people: when each may leave, and what stops them."""

from postroom.campaigns.arithmetic.gate import Permit, Wait, gate
from postroom.campaigns.arithmetic.keys import StepKey
from postroom.campaigns.arithmetic.pace import draw_gap
from postroom.campaigns.arithmetic.plan import Slot, plan
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import RampUp, SendingSettings
from postroom.campaigns.arithmetic.turns import Planned, UnderWay
from postroom.campaigns.arithmetic.window import next_open, window, window_day_at
from postroom.errors import CannotFinish, InvalidCampaign

__all__ = [
    "CannotFinish",
    "InvalidCampaign",
    "Permit",
    "Planned",
    "RampUp",
    "SendingSettings",
    "Slot",
    "StepKey",
    "UnderWay",
    "Wait",
    "allowance",
    "draw_gap",
    "gate",
    "next_open",
    "plan",
    "window",
    "window_day_at",
]
