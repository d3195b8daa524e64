"""When a mail may leave, and when it will: plain functions of settings, time and chance."""
