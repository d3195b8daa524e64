"""Words that are rendered when an email is first claimed: by name, from variables that were kept as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from postroom.compose import Attachment
from postroom.compose.edition import Edition
from postroom.errors import ConfigurationError
from postroom.templates.portal import Portal


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What an email says once it is rendered."""

    subject: str
    text: str
    html: str
    attachments: tuple[Attachment, ...]
    """Pictures that the HTML shows."""
    edition: Edition
    """What was really used: the files may have changed since the email was enqueued."""


def words_of(edition: Edition, context: str, portals: Mapping[str, Portal]) -> Words:
    """The words for these variables.

    `InvalidTemplate` where the template cannot say them: that is this email's problem. `ConfigurationError` where this
    process does not know the portal: that is none of the email's, and another process may.
    """
    portal = portals.get(edition.portal)
    if portal is None or edition.template not in portal.names:
        raise ConfigurationError(
            f"no template {edition.kind} is known here; name its portal in the setting portals of whoever sends"
        )
    contract = portal.contract(edition.template)
    template = portal.in_language(edition.template, edition.language)
    rendered = template.render(contract.plain(contract.from_json(context)))
    return Words(
        subject=rendered.subject,
        text=rendered.text,
        html=rendered.html,
        attachments=portal.pictures_in(rendered.html),
        edition=portal.edition(edition.template, template),
    )
