"""Numbers for those who watch from afar: what the database knows, and what only a worker knows.

What a person reads at the desk, Prometheus reads here. The catalogue names every metric; what the database
knows is asked of `operate`, as `postroom stats` asks it; `counting` counts in a worker while it works. Only the
modules that speak Prometheus' language need `prometheus-client`, and nobody imports them who does not want it.
"""
