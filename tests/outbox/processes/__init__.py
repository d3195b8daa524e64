"""An outbox in the processes of real programs: gunicorn, uvicorn, Celery, multiprocessing."""
