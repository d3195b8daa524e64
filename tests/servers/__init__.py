"""Real servers for tests and benchmarks, private to one run and gone after it."""
