"""What operators ask and do: one service of questions and acts, shared by pages, API, command line and metrics.

    understand  what somebody looks for (recognise.py, finding.py)
    survey      the state of the house (dashboard.py, charts.py, causes.py, sentences.py), one email (attempts.py)
    act         on one email, on some, on all that a search finds (acting.py), or on a transport (ways_out.py)

It owns no rules of sending: those are in `settle` and `store`. It owns what people are told.
"""

from postroom.operate.service import Operations
from postroom.operate.values import ActResult, Dashboard, EmailView, FailureGroup, FoundPage, Search
from postroom.operate.ways_out import TransportNotFound, TransportShared

__all__ = [
    "ActResult",
    "Dashboard",
    "EmailView",
    "FailureGroup",
    "FoundPage",
    "Operations",
    "Search",
    "TransportNotFound",
    "TransportShared",
]
