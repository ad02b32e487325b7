"""Numba's ``njit`` with a type: machine code that holds no GIL and is kept between runs."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled"]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """``function`` as numba compiles it; the caller sees the same signature."""
    return cast(F, numba.njit(nogil=True, cache=True)(function))
