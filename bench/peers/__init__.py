"""Whom Postroom is measured against: what a user could pick instead, each set up as a careful user would.

Procrastinate, PgQueuer, Celery and the Node peers get ready-made bytes in the job, their best case; django-post_office
builds the message when it sends, as it always does. Each module is both the filling and, run as a program, the worker.
"""
