"""The documentation, taken at its word: pages are read here and played as a reader would."""
