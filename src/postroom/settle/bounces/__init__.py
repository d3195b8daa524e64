"""Whether an address that mail did not reach can ever get any: by what was said, in a report or in the session."""
