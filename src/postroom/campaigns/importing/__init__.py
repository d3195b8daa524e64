"""Prospects out of files of any size."""
