"""How the hot loops are compiled: no GIL, cached beside the source; and how they run without.

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

Where nothing is compiled yet and little is to be read, the same functions run as the Python
that they are, which is done long before a compiler is (:func:`little_to_read`). Their arrays
are then lent as memory views, whose items are Python's integers, and ``np.int64`` is one: a byte
less another is no byte, as in compiled code. What wraps at 64 bits says itself how that is done in
Python (:func:`in_python`).
"""

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ALL_64",
    "MOST_PLAIN_BYTES",
    "Bytes8",
    "Rows",
    "Word",
    "Words64",
    "are_compiled",
    "checked",
    "compile_if_more_than",
    "compiled",
    "in_python",
    "inlined",
    "little_to_read",
    "reads_most",
    "signed",
    "told_of_compiling",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., object])

# A 64-bit integer of compiled code: there ``int`` and ``np.int64`` are one type.
Word = Any
# Where the function runs as Python: a table of which whole rows are taken stays an array, and
# an array of which nobody reads what the function writes to it is a list, the quickest of all.
Rows = Annotated[NDArray[np.int64], "rows"]
Bytes8 = Annotated[NDArray[np.uint8], "a list"]
Words64 = Annotated[NDArray[np.int64], "a list"]

TWO_63: Final = 1 << 63
ALL_64: Final = (1 << 64) - 1
# A megabyte takes about a second in Python, and compiling some fifteen. What is more than this is
# compiled for; so is what comes behind so many seconds in Python: a packed file tells its size
# late.
MOST_PLAIN_BYTES: Final = 4 << 20
MOST_PLAIN_S: Final = 6.0


Way = Callable[[Any], Any]


class Loop:
    """A function that runs compiled, or as Python where that answers sooner."""

    def __init__(self, function: Callable[..., Any], options: dict[str, bool]) -> None:
        self.function = function
        self.options = options
        self.native: Any = None
        self.twin: Any = None
        self.by_hand: Callable[..., Any] | None = None
        # What reads telemetry does floating-point arithmetic, which would differ in the last digit.
        self.native_only = ".telemetry." in function.__module__
        self.lock = threading.RLock()
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    def __call__(self, *args: Any) -> Any:
        if STATE.plain and not self.native_only:
            return self.run_plain(*args)
        return (self.native or self.compile())(*args)

    def run_plain(self, *args: Any) -> Any:
        """The same answer by Python alone."""
        ways, twin = self.twin or self.make_twin()
        began = time.thread_time()
        answer = twin(*(way(value) for way, value in zip(ways, args, strict=True)))
        STATE.spend(time.thread_time() - began)
        return answer

    def compile(self) -> Any:
        """The native function; numba itself decides at the first call whether it is cached."""
        with self.lock:
            if self.native is None:
                STATE.say(self.function)
                self.native = native_of(self.function, self.options)
        return self.native

    def make_twin(self) -> tuple[list[Way], Callable[..., Any]]:
        """How each argument is lent, and a function that calls only its like."""
        ways, function = ways_of(self.function), cast(FunctionType, self.by_hand or self.function)
        known = dict(function.__globals__)
        for name in function.__code__.co_names:
            value = known.get(name)
            if name not in known:
                continue
            if isinstance(value, Loop):
                known[name] = (value.twin or value.make_twin())[1]
            elif value is np:
                known[name] = PLAIN_NUMPY
            else:
                known[name] = lent(value)
        self.twin = ways, FunctionType(function.__code__, known, function.__name__)
        return cast(tuple[list[Way], Any], self.twin)


class State:
    """Whether this process runs the functions as Python, and for how long it did."""

    def __init__(self) -> None:
        self.plain = False
        self.spent_s = 0.0
        self.begins: Callable[[], None] | None = None

    def spend(self, seconds: float) -> None:
        """So much time went by; beyond the limit the rest is compiled."""
        self.spent_s += seconds
        if self.spent_s > MOST_PLAIN_S:
            self.plain = False

    def say(self, function: Callable[..., Any]) -> None:
        """Tell whoever waits that ``function`` is compiled now, if it was not before."""
        if self.begins is not None and not was_compiled(function):
            self.begins()
            self.begins = None


STATE: Final = State()


class PlainNumpy:
    """What the functions use of numpy, as Python has it."""

    int64 = uint64 = uint8 = int
    float64 = float


PLAIN_NUMPY: Final = PlainNumpy


def lent(value: Any) -> Any:
    """An array as a view whose items are plain integers, a number as a plain one; else as it is."""
    if isinstance(value, np.ndarray):
        return memoryview(cast(Any, value))
    return int(value) if isinstance(value, np.integer) else value


def ways_of(function: Callable[..., Any]) -> list[Way]:
    """How each argument of a function is lent where it runs as Python."""
    code, annotations = function.__code__, function.__annotations__
    names = code.co_varnames[: code.co_argcount]
    return [WAYS.get(id(annotations.get(name)), lent) for name in names]


def as_list(array: NDArray[Any]) -> list[Any]:
    return cast(list[Any], array.tolist())


def as_it_is(array: NDArray[Any]) -> NDArray[Any]:
    return array


WAYS: Final[dict[int, Way]] = {id(Rows): as_it_is, id(Bytes8): as_list, id(Words64): as_list}


@contextmanager
def little_to_read(little: bool) -> Iterator[None]:
    """While it is held, run as Python what is ``little``, if nothing has been compiled before."""
    STATE.spent_s = 0.0
    STATE.plain = little and not are_compiled()
    try:
        yield
    finally:
        STATE.plain = False  # and not what it was: another thread may have come in between


@contextmanager
def told_of_compiling(begins: Callable[[], None]) -> Iterator[None]:
    """While it is held, ``begins`` is called once when compiling begins, which takes a while."""
    before, STATE.begins = STATE.begins, begins
    try:
        yield
    finally:
        STATE.begins = before


def compile_if_more_than(num_bytes: int) -> None:
    """What comes next is so large: from MOST_PLAIN_BYTES on it is sooner read by compiled code."""
    if num_bytes > MOST_PLAIN_BYTES:
        STATE.plain = False


def are_compiled() -> bool:
    """Whether the loops by which most is read were compiled here before, by any process."""
    return all(was_compiled(one.function) for one in MAIN_LOOPS)


# The loops by which most is read, as their modules name them.
MAIN_LOOPS: Final[list[Loop]] = []


def reads_most(function: F) -> F:
    """``function``, a native one, counted among those by which most is read."""
    MAIN_LOOPS.append(cast(Loop, function))
    return function


def was_compiled(function: Callable[..., Any]) -> bool:
    """Whether one of the places where numba keeps machine code has some of this function."""
    source = Path(function.__code__.co_filename)
    version = f".py{sys.version_info.major}{sys.version_info.minor}"
    try:
        changed = source.stat().st_mtime
        for folder in cache_folders(source):
            for index in folder.glob(f"{source.stem}.{function.__qualname__}-*{version}.nbi"):
                if index.stat().st_mtime >= changed:
                    return True
    except OSError:
        return False
    return False


def cache_folders(source: Path) -> list[Path]:
    """Where numba looks for machine code of ``source``, in its order."""
    folder = source.resolve().parent
    name = f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}"
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return [Path(named) / name]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [folder / "__pycache__", home / "numba" / name]


def signed(number: int) -> int:
    """An integer of any size as the one that 64 bits of it are."""
    return ((number + TWO_63) & ALL_64) - TWO_63


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


def in_python(loop: Callable[..., Any]) -> Callable[[F], F]:
    """The decorated function is what ``loop`` is where it runs as Python: the same, said for
    integers of any size.
    """

    def keep(function: F) -> F:
        cast(Loop, loop).by_hand = function
        return function

    return keep


def compile_with(function: F, **options: bool) -> F:
    """``function`` compiled at its first call and cached, or compiled alone where nothing can be
    cached. Importing it loads no compiler.
    """
    return cast(F, Loop(function, options))


def native_of(function: Callable[..., Any], options: dict[str, bool]) -> Any:
    """What numba makes of it."""
    import numba
    from numba.core.caching import FunctionCache
    from numba.extending import typeof_impl

    register(typeof_impl)
    made = cast(Any, numba).njit(nogil=True, _nrt=False, **options)(function)

    class OptionalCache(FunctionCache):
        """Numba's own, where a failure to keep the machine code is none of the call."""

        def save_overload(self, sig: object, data: object) -> None:
            """Keep what was compiled, if that is possible."""
            with suppress(OSError):
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    with suppress(RuntimeError):  # "cannot cache function: no locator available"
        made._cache = cast(Any, OptionalCache)(function)  # as its `enable_caching` does
    return made


REGISTERED: list[bool] = []


def register(typeof_impl: Any) -> None:
    """Tell numba that a function in here is its native self, where compiled code calls it."""
    if REGISTERED:
        return
    REGISTERED.append(True)
    from numba.core import types

    def typed(value: Loop, _: object) -> Any:
        return cast(Any, types).Dispatcher(value.compile())

    typeof_impl.register(Loop)(typed)
