"""The key of a step to a prospect, `{prospectId}:{sequenceId}:{stepNumber}`: what makes a second one a duplicate."""

from __future__ import annotations

import re
from dataclasses import dataclass

from postroom.campaigns.checks import refuse, text_of, whole
from postroom.compose.key import LONGEST_KEY
from postroom.errors import InvalidCampaign

SEPARATOR = ":"
_STEP = re.compile(r"[1-9][0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepKey:
    """Who gets which step of which sequence. Two are equal exactly if their texts are, and each text has one reading.

    So no id may contain the separator, and a number is written in one way only.
    """

    prospect_id: str
    sequence_id: str
    step_number: int
    """From 1."""

    def __post_init__(self) -> None:
        check_id("prospect_id", self.prospect_id)
        check_id("sequence_id", self.sequence_id)
        whole("step_number", self.step_number, least=1)
        if len(str(self)) > LONGEST_KEY:
            longest = "prospect_id" if len(self.prospect_id) > len(self.sequence_id) else "sequence_id"
            problem = f"makes a key of {len(str(self))} characters, and {LONGEST_KEY} are the most"
            raise InvalidCampaign(longest, problem, "shorten it")

    def __str__(self) -> str:
        return f"{self.prospect_id}{SEPARATOR}{self.sequence_id}{SEPARATOR}{self.step_number}"

    @classmethod
    def parse(cls, text: str) -> StepKey:
        """Read what `str` wrote; whatever it would not have written is refused."""
        parts = text_of("key", text).split(SEPARATOR)
        if len(parts) != 3:
            refuse("key", "{prospectId}:{sequenceId}:{stepNumber}", text, "give the key as it was generated")
        prospect_id, sequence_id, step = parts
        # As `int` takes it, `+1`, `01`, ` 1`, `1_0` and digits of other scripts would be other keys for the same step.
        if len(text) > LONGEST_KEY or not _STEP.fullmatch(step):
            refuse("step_number", "a whole number from 1", step, "write it in the digits 0 to 9, without sign or zeros")
        return cls(prospect_id=prospect_id, sequence_id=sequence_id, step_number=int(step))


def check_id(name: str, id: str) -> str:
    """Give the id back if it may be part of a key; refuse it otherwise, by the name of its field."""
    if not text_of(name, id):
        raise InvalidCampaign(name, "is empty", "give the id that the rest of the system knows it by")
    if SEPARATOR in id:
        raise InvalidCampaign(name, f"{id[:60]!r} contains «:», which separates the parts of a key", "leave it out")
    if not id.isprintable():
        remedy = "use letters, digits and punctuation"
        raise InvalidCampaign(name, f"{id[:60]!r} contains characters that cannot be printed", remedy)
    if len(id) > LONGEST_KEY - len(":x:1"):
        raise InvalidCampaign(name, f"has {len(id)} characters", f"shorten it: a key has {LONGEST_KEY} at most")
    return id
