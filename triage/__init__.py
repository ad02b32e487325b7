"""Says which rank, node or GPU stopped a distributed training job, and why.

>>> import triage
>>> report = triage.analyze("incident/")  # doctest: +SKIP

Importing this package loads nothing heavy: the analysis, and with it numba and
pandas, is loaded when :func:`analyze` or :class:`Report` is first named.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triage.report import Report, analyze

__all__ = ["Report", "__version__", "analyze"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name in {"Report", "analyze"}:
        from importlib import import_module

        return getattr(import_module("triage.report"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
