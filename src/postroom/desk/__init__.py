"""The operator's desk: one service of questions and acts, shared by pages, API, command line and metrics.

    understand  what somebody looks for (recognise.py, finding.py)
    overlook    the state of the house, and one email in full (overlook.py, charts.py, causes.py, sentences.py)
    act         on one email, on some, on all that a search finds (acting.py)

It owns no rules of sending: those are in `settle` and `store`. It owns what people are told.
"""

from postroom.desk.service import DeskService, TransportNotFound, TransportShared
from postroom.desk.values import ActResult, Dashboard, EmailView, FailureGroup, FoundPage, Search

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
