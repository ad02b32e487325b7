"""Numba's ``_njit`` with a type: machine code that holds no GIL and is kept between runs."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Typed away: the stubs, where there are any, do not know `_nrt`.
_njit = cast(Any, numba).njit


def compiled(function: F) -> F:
    """``function`` as numba compiles it; the caller sees the same signature."""
    return cast(F, _njit(nogil=True, cache=True)(function))


def compiled_plain(function: F) -> F:
    """``function`` compiled without reference counts, for code that makes no arrays.

    Arrays are only lent to it. Counting each of them at every small call would
    take ten times as long as writing the bytes.
    """
    return cast(F, _njit(nogil=True, cache=True, _nrt=False)(function))
