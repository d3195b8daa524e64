"""What is told to those who watch from afar: metrics, logs, alerts, and the live picture (B6)."""
