"""The worker from outside: started, troubled, stopped and killed, and judged by what the mail server received."""
