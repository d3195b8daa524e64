"""What operators ask and do: one service of questions and acts, shared by pages, API, command line and metrics.

    understand  what somebody looks for (recognise.py, finding.py)
    survey      the state of the house (house.py, dashboard.py, charts.py, causes.py, sentences.py), one email
                (one_email.py, attempts.py, outlook.py)
    act         on one email, on some, on all that a search finds (acting.py), or on a way out (ways_out.py)
    look back   what came back (came_back.py, returned.py), and the story of one prospect (prospect_story.py)
    stop        who is not to be mailed (suppressing.py, suppression_rights.py, stops.py), and lists of them
                (suppression_import.py, suppression_lists.py)

A verb is written once and asked by threads and event loops alike (verb.py, service.py).

It owns no rules of sending: those are in `settle` and `store`. It owns what people are told.
"""

from postroom.operate.recording import Actor
from postroom.operate.service import AsyncOperations, Operations
from postroom.operate.values import ActResult, Dashboard, EmailView, FailureGroup, FoundPage, House, Search, Standing
from postroom.operate.ways_out import RouteNotFound, RouteShared

__all__ = [
    "ActResult",
    "Actor",
    "AsyncOperations",
    "Dashboard",
    "EmailView",
    "FailureGroup",
    "FoundPage",
    "House",
    "Operations",
    "RouteNotFound",
    "RouteShared",
    "Search",
    "Standing",
]
