"""Plain values for JSON out of the frozen dataclasses of this package.

Keys are the names of the fields. Numbers keep ten significant digits, so that the last bits of
a library's arithmetic do not change the bytes of a report.
"""

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

__all__ = ["as_wire"]


def as_wire(value: object) -> dict[str, Any]:
    """A dataclass as dicts, lists, numbers and text; what is not a finite number is null."""
    if not dataclasses.is_dataclass(value):
        raise TypeError(f"{type(value).__name__} is no dataclass")
    return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}


def _plain(value: object) -> Any:  # noqa: ANN401 - what JSON can hold
    if dataclasses.is_dataclass(value):
        return as_wire(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return float(f"{value:.10g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value
