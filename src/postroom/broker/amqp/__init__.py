"""AMQP 0-9-1, as much of it as dispatching needs: one connection, one channel, and many small messages at a time."""
