"""Webhooks: signed requests to whatever URL each of them names, kept from reaching inside."""
