"""Sequences of emails to many people: when each may leave, and what stops them."""

from postroom.campaigns.gate import Permit, Wait, gate
from postroom.campaigns.keys import StepKey
from postroom.campaigns.pace import draw_gap
from postroom.campaigns.plan import Slot, plan
from postroom.campaigns.quota import allowance
from postroom.campaigns.settings import RampUp, SendingSettings
from postroom.campaigns.turns import Planned, UnderWay
from postroom.campaigns.window import next_open, window, window_day_at

__all__ = [
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
