"""Tests of what can be sent beside email."""
