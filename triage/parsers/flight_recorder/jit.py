"""How the hot loops are compiled: no GIL, cached beside the source.

Their arrays are lent to them, so numba's reference counting is switched off: it
counted every array at every call among them, and took longer than the work.
That forbids making arrays inside, which is why callers hand in scratch space.

What meets foreign bytes (the interpreter) is bounds-checked. What walks the
interpreter's own arrays is not: every index it follows was made there.

The first use after an installation compiles for some seconds; later processes
load the result in a tenth of a second. Where neither the package's folder nor
the user's cache can be written, numba refuses to cache: then it compiles anew.
A cache that cannot be written any more (a full disk, a confined process) costs
that time as well, and no more.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

__all__ = ["Word", "checked", "compiled", "inlined"]

F = TypeVar("F", bound=Callable[..., object])

# A 64-bit integer of compiled code: there ``int`` and ``np.int64`` are one type.
Word = Any

# Typed away: numba's stubs do not know `_nrt`.
njit = cast(Any, numba).njit


def checked(function: F) -> F:
    """``function`` as a native one with every array index checked."""
    return compile_with(function, boundscheck=True)


def compiled(function: F) -> F:
    """``function`` as a native one, for arrays of our own making."""
    return compile_with(function)


def inlined(function: F) -> F:
    """For what native code calls per value: handing over five arrays
    costs more than what it does with them. Unchecked: the caller sees to the room.
    """
    return compile_with(function, forceinline=True)


def compile_with(function: F, **options: bool) -> F:
    """``function`` compiled and cached, or compiled alone where nothing can be cached."""
    made = njit(nogil=True, _nrt=False, **options)(function)
    with suppress(RuntimeError):  # "cannot cache function: no locator available"
        made._cache = cast(Any, OptionalCache)(function)  # as its `enable_caching` does
    return cast(F, made)


class OptionalCache(FunctionCache):
    """Numba's own, where a failure to keep the machine code is none of the call."""

    def save_overload(self, sig: object, data: object) -> None:
        """Keep what was compiled, if that is possible."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
