"""What to do about something, as a command that can be pasted."""

from __future__ import annotations

import shlex


def command(words: str, workspace: str) -> str:
    """A command of campaigns, for the workspace that it is about: without it, another one would be changed."""
    return f"postroom campaign {words}{of_workspace(workspace)}"


def of_workspace(workspace: str) -> str:
    """The option that names a workspace; nothing for the one without a name."""
    return f" --workspace {shlex.quote(workspace)}" if workspace else ""
