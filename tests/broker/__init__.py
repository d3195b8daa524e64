"""Dispatch over RabbitMQ: scheduled, sent, troubled and killed, and judged by what the mail server received."""
