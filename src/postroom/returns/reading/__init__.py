"""What a message that came back says, read out of its octets alone: no database, no network, no clock."""

from postroom.returns.reading import limits
from postroom.returns.reading.reader import read
from postroom.returns.reading.values import OBJECTIONS, Reading, Returned, Unclear

__all__ = ["OBJECTIONS", "Reading", "Returned", "Unclear", "limits", "read"]
