"""A Django project with nothing in it but django-post_office; the environment says where its database and sink are."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

_database = urlsplit(os.environ["BENCH_DATABASE"])

SECRET_KEY = "of no importance"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database.path[1:],
        "USER": _database.username,
        "HOST": _database.hostname,
        "PORT": _database.port,
    }
}
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "post_office"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates"}]
EMAIL_BACKEND = "post_office.EmailBackend"
EMAIL_HOST = "127.0.0.1"
EMAIL_PORT = int(os.environ.get("BENCH_PORT", "0"))
POST_OFFICE = {"BATCH_SIZE": 1000}
LOGGING_CONFIG = None
