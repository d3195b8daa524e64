"""Postroom's tests, laid out like `src/postroom`; `servers/` brings the servers that they need."""
