"""An outreach team's campaign: forecast, launched, answered, stopped, and held against the rules."""
