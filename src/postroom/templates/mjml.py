"""Bodies written in MJML, for those who have installed `postroom[mjml]`."""

from __future__ import annotations

from postroom.errors import ConfigurationError
from postroom.templates.engine import Hole


def html_from_mjml(source: str) -> str:
    """A rendered `body.mjml` as HTML. Nothing is read here: what it includes, the template itself includes."""
    try:
        from mjml import mjml2html
    except ModuleNotFoundError:
        raise ConfigurationError(
            "a body.mjml needs the MJML compiler; install it with `pip install 'postroom[mjml]'`"
        ) from None
    try:
        return str(mjml2html(source, disable_comments=False, fonts={}))
    except (ValueError, OSError) as error:
        raise Hole(f"its MJML cannot be read: {error}") from error
