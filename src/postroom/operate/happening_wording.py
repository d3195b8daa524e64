"""What happened to a prospect, in a few words: a title, and what is to be said beneath it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from postroom.operate.prospect_story import Happened, Happening
from postroom.operate.returned import kept_in_words
from postroom.vocabulary import EnrolmentStatus


def title_of(happening: Happening) -> str:
    """`Step 2 was sent`, `Bounced`, `Stopped: replied`."""
    steps = steps_in_words(happening.steps)
    match happening.what:
        case Happened.SENT:
            return f"{steps} was sent"
        case Happened.LEAVING:
            return f"{steps} is on its way"
        case Happened.DEAD:
            return f"{steps} was given up"
        case Happened.WITHHELD:
            return f"{steps} will not leave"
        case Happened.ENDED if happening.status is EnrolmentStatus.COMPLETED:
            return "Completed"
        case Happened.ENDED if happening.status not in (None, EnrolmentStatus.STOPPED):
            return f"Stopped: {happening.status.value}"
        case Happened.ENDED:
            return "Stopped"
        case what:
            return what.capitalize()


def detail_of(happening: Happening) -> str:
    """What it means, why it was, and who did it."""
    told = []
    if happening.returned is not None:
        told.append(kept_in_words(happening.returned))
    elif happening.status is None or happening.reason != happening.status.value:  # else the title has said it
        told.append(happening.reason.replace("_", " "))
    if happening.what is Happened.ENDED and happening.steps:
        told.append(f"{steps_in_words(happening.steps).lower()} will not leave")
    if happening.actor:
        told.append(f"by {happening.actor}")
    return "; ".join(each for each in told if each)


def steps_in_words(steps: Sequence[int]) -> str:
    """`Step 2`; `Steps 2, 3 and 4`."""
    if len(steps) == 1:
        return f"Step {steps[0]}"
    return f"Steps {', '.join(map(str, steps[:-1]))} and {steps[-1]}" if steps else "A step"
