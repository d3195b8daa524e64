"""Portals and their templates: typed, rendered before the commit, and never sent with a hole in them.

A template is a folder: a subject, an HTML body, a text, and samples; its variables are a dataclass. The journey of one:
`portal` finds it, `contract` checks the variables, `template` renders the three parts with the `engine`, within a
`budget`, and the styles are moved into the page by `inlining`, once for a page that many get (`skeleton`).
"""

from postroom.templates.brand import Brand
from postroom.templates.portal import Portal

__all__ = ["Brand", "Portal"]
