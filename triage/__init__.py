"""Says which rank, node or GPU stopped a distributed training job, and why.

>>> import triage
>>> report = triage.analyze("incident/")  # doctest: +SKIP
>>> client = triage.Client("https://triage.example")  # doctest: +SKIP

Importing this package loads nothing heavy: the analysis, and with it numba and
pandas, is loaded when a name of it is first used.
"""

from typing import TYPE_CHECKING

from triage.version import __version__

if TYPE_CHECKING:
    from triage.client import Client
    from triage.report import Report, analyze
    from triage.services.open_store import open_store

__all__ = ["Client", "Report", "__version__", "analyze", "open_store"]

_HOME = {
    "Client": "triage.client",
    "Report": "triage.report",
    "analyze": "triage.report",
    "open_store": "triage.services.open_store",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
