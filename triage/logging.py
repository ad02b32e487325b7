"""Logs of the service: one event a line on stderr, as JSON or as text, values as fields.

What the libraries say through the standard ``logging`` comes out in the same form. Ids are
bound with ``structlog.contextvars``, once for a request or a task.
"""

import logging
import sys
from typing import Final

import structlog
from structlog.typing import EventDict, Processor

from triage.domain.patterns import compile_re
from triage.settings import Settings

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
# Libraries whose everyday talk tells an operator nothing.
_QUIET: Final = ("alembic", "amqp", "celery", "httpcore2", "httpx2", "kombu", "numba", "sqlalchemy")

# redis://user:secret@host: addresses stand in errors of drivers, with their passwords.
_PASSWORD: Final = compile_re(r"(://[^\s/:@]*):[^\s/@]+@")
# Our own tokens, and the secrets of webhooks.
_TOKEN: Final = compile_re(r"\b(triage_[0-9A-Za-z]+_|whsec_|Bearer )[0-9A-Za-z+/=_-]+")


def configure_logging(settings: Settings) -> None:
    """Send all logs of this process to stderr, at the level and in the form of the settings."""
    level = _LEVELS.get(settings.log_level.lower(), logging.INFO)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redact_secrets,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _choose_renderer(settings),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    # uvicorn's own access lines: the API writes better ones.
    logging.getLogger("uvicorn.access").handlers = []
    logging.getLogger("uvicorn.access").propagate = False


def _choose_renderer(settings: Settings) -> Processor:
    form = settings.log_format
    if form == "auto":
        form = "text" if sys.stderr.isatty() else "json"
    if form == "text":
        return structlog.dev.ConsoleRenderer(colors=False)
    return structlog.processors.JSONRenderer()


def _redact_secrets(logger: object, method: str, event: EventDict) -> EventDict:  # noqa: ARG001
    """Passwords of addresses and tokens are taken out of every text of an event."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = _TOKEN.sub(r"\1[redacted]", _PASSWORD.sub(r"\1:[redacted]@", value))
    return event
