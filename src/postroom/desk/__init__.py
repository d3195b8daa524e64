"""The operator's desk: one service of questions and acts, shared by pages, API, command line and metrics.

    understand  what somebody looks for (recognise.py, finding.py)
    overlook    the state of the house (overlook.py, charts.py, causes.py, sentences.py), one email (attempts.py)
    act         on one email, on some, on all that a search finds (acting.py), or on a transport (ways_out.py)

It owns no rules of sending: those are in `settle` and `store`. It owns what people are told.
"""

from postroom.desk.service import DeskService
from postroom.desk.values import ActResult, Dashboard, EmailView, FailureGroup, FoundPage, Search
from postroom.desk.ways_out import TransportNotFound, TransportShared

__all__ = [
    "ActResult",
    "Dashboard",
    "DeskService",
    "EmailView",
    "FailureGroup",
    "FoundPage",
    "Search",
    "TransportNotFound",
    "TransportShared",
]
