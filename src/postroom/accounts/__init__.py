"""Who may look at the outbox and act on it: people, sign-in in two steps, sessions, tokens, second factors, audit.

`values.py`, `rules.py`, `names.py`, `totp.py`, `recovery.py` and `telling.py` decide without a database; `accounts.py`,
`guessing.py`, `steps.py`, `second.py`, `factors.py`, `sessions.py`, `tokens.py` and `audit.py` are plans like those of
the store; `door.py` and `own.py` carry them out for the web app, the command line by itself.
"""
