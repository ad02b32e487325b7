"""How the hot loops are compiled: no GIL, cached beside the source.

What meets foreign bytes (the interpreter) is bounds-checked. What walks the
interpreter's own arrays is not: every index it follows was made there, and the
checks double its time.

The first use after an installation compiles for some seconds; later processes
load the result in a tenth of a second. Where neither the package's folder nor
the user's cache can be written, numba refuses to cache: then it compiles anew.
"""

from collections.abc import Callable
from typing import TypeVar

import numba

__all__ = ["checked", "compiled", "inlined"]

F = TypeVar("F", bound=Callable[..., object])


def checked(function: F) -> F:
    """``function`` as a native one with every array index checked."""
    return compile_with(function, {"nogil": True, "boundscheck": True})


def compiled(function: F) -> F:
    """``function`` as a native one, for arrays of our own making."""
    return compile_with(function, {"nogil": True})


def inlined(function: F) -> F:
    """For what native code calls per value: handing over five arrays
    costs more than what it does with them. Unchecked: the caller sees to the room."""
    return compile_with(function, {"nogil": True, "forceinline": True})


def compile_with(function: F, options: dict[str, bool]) -> F:
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "cannot cache function: no locator available"
        return numba.njit(**options)(function)
