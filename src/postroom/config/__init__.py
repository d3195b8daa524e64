"""Settings: the environment first, then `postroom.toml`, then defaults.

`POSTROOM_DATABASE`, `POSTROOM_SMTP` and the rest are read from the environment under that prefix, nested ones with two
underscores (`POSTROOM_ROUTES__BACKUP__TRANSPORT`); `POSTROOM_CONFIG` names another file than `./postroom.toml`. The
names of mail settings that many deployments have already (`SMTP_HOST`, `SMTP_PORT`, `SMTP_FROM_ADDRESS`,
`SMTP_FROM_NAME`, `EMAIL_WORKER_…`) are honoured where ours are not given. A name that is nearly one of ours is an
error that says which was meant.

A name is imported from its home when it is first asked for: pydantic takes longer than everything else of Postroom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.lazy import lazily

if TYPE_CHECKING:
    from postroom.config.loading import load, load_shared
    from postroom.config.regions import RegionTable
    from postroom.config.routes import RouteSettings, RouteTable
    from postroom.config.routing import RoutingRule
    from postroom.config.settings import Settings
    from postroom.config.sources import config_file
    from postroom.config.webhooks import EventSettings, WebhookSettings

HOMES = {
    "EventSettings": "postroom.config.webhooks",
    "RegionTable": "postroom.config.regions",
    "RouteSettings": "postroom.config.routes",
    "RouteTable": "postroom.config.routes",
    "RoutingRule": "postroom.config.routing",
    "Settings": "postroom.config.settings",
    "WebhookSettings": "postroom.config.webhooks",
    "config_file": "postroom.config.sources",
    "load": "postroom.config.loading",
    "load_shared": "postroom.config.loading",
}
"""Where each name lives."""

__all__ = [
    "EventSettings",
    "RegionTable",
    "RouteSettings",
    "RouteTable",
    "RoutingRule",
    "Settings",
    "WebhookSettings",
    "config_file",
    "load",
    "load_shared",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, HOMES)
