"""What a command of the service says when its packages, or the service itself, are not there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from triage.errors import UsageError

__all__ = ["service_packages"]

# Import names by the extra that brings them.
EXTRAS: Final = {
    "alembic": "server", "celery": "server", "fastapi": "server", "jinja2": "server",
    "kombu": "server", "prometheus_client": "server", "pydantic": "server",
    "pydantic_settings": "server", "sqlalchemy": "server", "starlette": "server",
    "structlog": "server", "uvicorn": "server",
    "psycopg": "postgres", "redis": "redis", "obstore": "s3",
}  # fmt: skip
NOT_IN_THE_WHEEL: Final = ("models", "workers", "migrations")


@contextmanager
def service_packages() -> Iterator[None]:
    """Imports of the service happen in here; what is missing is said in one sentence."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in NOT_IN_THE_WHEEL:
            raise UsageError(
                "the service runs from a checkout or from the image, not from the installed"
                " library: see docs/operator.md"
            ) from error
        if name not in EXTRAS:
            raise
        raise UsageError(
            f'this command needs {name}: pip install "nccl-triage[{EXTRAS[name]}]"'
        ) from error
