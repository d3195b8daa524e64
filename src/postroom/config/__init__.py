"""Settings: the environment first, then `postroom.toml`, then defaults.

`POSTROOM_DATABASE`, `POSTROOM_SMTP` and the rest are read from the environment under that prefix, nested ones with two
underscores (`POSTROOM_ROUTES__BACKUP__TRANSPORT`); `POSTROOM_CONFIG` names another file than `./postroom.toml`. The
names of mail settings that many deployments have already (`SMTP_HOST`, `SMTP_PORT`, `SMTP_FROM_ADDRESS`,
`SMTP_FROM_NAME`, `EMAIL_WORKER_…`) are honoured where ours are not given. A name that is nearly one of ours is an
error that says which was meant.
"""

from postroom.config.loading import load
from postroom.config.routes import RouteSettings, RouteTable
from postroom.config.routing import RoutingRule
from postroom.config.settings import Settings
from postroom.config.sources import config_file
from postroom.config.webhooks import EventSettings, WebhookSettings

__all__ = [
    "EventSettings",
    "RouteSettings",
    "RouteTable",
    "RoutingRule",
    "Settings",
    "WebhookSettings",
    "config_file",
    "load",
]
