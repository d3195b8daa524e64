"""Who may look at the outbox and act on it: people, sign-in with an emailed code, sessions, tokens, audit.

`values.py` and `rules.py` decide without a database; `accounts.py`, `steps.py`, `sessions.py`, `tokens.py` and
`audit.py` are plans like those of the store; `door.py` carries them out for the web app, the command line by itself.
"""
