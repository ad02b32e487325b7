"""What commands of the service need: its packages, and its database at this release's revision."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from triage.errors import UsageError

if TYPE_CHECKING:
    from triage.services.context import Context

# Import names by the extra that brings them.
_EXTRAS: Final = {
    "alembic": "server", "celery": "server", "fastapi": "server",
    "kombu": "server", "prometheus_client": "server", "pydantic": "server",
    "pydantic_settings": "server", "sqlalchemy": "server", "starlette": "server",
    "structlog": "server", "uvicorn": "server",
    "mcp": "mcp", "mcp_types": "mcp",
    "psycopg": "postgres", "redis": "redis", "obstore": "s3",
}  # fmt: skip
_PRIVATE: Final = 0o077
_NOT_IN_THE_WHEEL: Final = ("models", "workers", "migrations")


@contextmanager
def require_service_packages() -> Iterator[None]:
    """Imports of the service happen in here; a missing package raises UsageError.

    What is written in here, and by every process that is started in here, is for this user
    alone: databases, blobs, locks and logs of a service hold evidence and secrets.
    """
    before = os.umask(_PRIVATE)
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in _NOT_IN_THE_WHEEL:
            raise UsageError(
                "the service runs from a checkout or from the image, not from the installed"
                " library: see docs/operator.md"
            ) from error
        if name not in _EXTRAS:
            raise
        raise UsageError(
            f'this command needs {name}: pip install "nccl-triage[{_EXTRAS[name]}]"'
        ) from error
    finally:
        os.umask(before)


@contextmanager
def open_service_context() -> "Iterator[Context]":
    """The service's context, closed at the end; imports of the service may happen in here too."""
    with require_service_packages():
        from triage.logging import configure_logging
        from triage.server.context import open_context
        from triage.services.schema import prepare_schema
        from triage.settings import load_settings

        settings = load_settings()
        configure_logging(settings)
        ctx = open_context(settings)
        try:
            prepare_schema(settings, ctx.database)
            yield ctx
        finally:
            ctx.close()
