"""Celery: the tasks that workers run."""
