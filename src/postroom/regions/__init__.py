"""Regions: an outbox for each, and nothing with an address in it between them.

A region is its own database, journal, ways out and worker. What is here only knows which region somebody belongs to,
and has the outbox of that region. One thing goes from region to region, when somebody says so: `moving.py`.
"""

from postroom.regions.awaiting import AsyncRegions
from postroom.regions.base import WhichRegion
from postroom.regions.blocking import Regions

__all__ = ["AsyncRegions", "Regions", "WhichRegion"]
