"""How the hot loops are compiled: no GIL, cached beside the source; and how they run without.

Their arrays are lent to them, so numba's reference counting is switched off: it
counted every array at every call among them, and took longer than the work.
That forbids making arrays inside, which is why callers hand in scratch space.

What meets foreign bytes (the interpreter) is bounds-checked. What walks the
interpreter's own arrays is not: every index it follows was made there.

The first use after an installation compiles for some seconds; later processes load the result in a
tenth of a second. Where neither the package's folder nor the user's cache can be written, numba
refuses to cache: then it compiles anew. A cache that cannot be written any more (a full disk, a
confined process) costs that time as well, and no more.

Where nothing is compiled yet and little is to be read, the same functions run as the Python that
they are, which is done long before a compiler is (:func:`prefer_python_for_little`). A process that
reads again and again compiles once that has cost it MOST_PLAIN_S in total. Their arrays are then
lent as memory views, whose items are Python's integers, and ``np.int64`` is one: a byte less
another is no byte, as in compiled code. What wraps at 64 bits says itself how that is done in
Python (:func:`in_python`).
"""

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from triage.version import __version__

F = TypeVar("F", bound=Callable[..., object])

# A 64-bit integer of compiled code: there ``int`` and ``np.int64`` are one type.
Word = Any
# Where the function runs as Python: a table of which whole rows are taken stays an array, and
# an array of which nobody reads what the function writes to it is a list, the quickest of all.
Rows = Annotated[NDArray[np.int64], "rows"]
Bytes8 = Annotated[NDArray[np.uint8], "a list"]
Words64 = Annotated[NDArray[np.int64], "a list"]

_TWO_63: Final = 1 << 63
ALL_64: Final = (1 << 64) - 1
# A megabyte takes about a second in Python, and compiling some fifteen. What is more than this is
# compiled for; so is what comes after so many seconds in Python over the life of the process: a
# packed file tells its size late, and what reads many small incidents is better off compiled.
MOST_PLAIN_BYTES: Final = 4 << 20
MOST_PLAIN_S: Final = 6.0


_Way = Callable[[Any], Any]


class Loop:
    """A function that runs compiled, or as Python where that answers sooner."""

    def __init__(self, function: Callable[..., Any], options: dict[str, bool]) -> None:
        self.function = function
        self.options = options
        self.native: Any = None
        self.twin: Any = None
        self.by_hand: Callable[..., Any] | None = None
        self.lock = threading.RLock()
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    def __call__(self, *args: Any) -> Any:
        """The answer of the native function, or of Python where that is quicker."""
        if STATE.plain:
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
                self.native = make_native(self.function, self.options)
        return self.native

    def make_twin(self) -> tuple[list[_Way], Callable[..., Any]]:
        """How each argument is lent, and a function that calls only its like."""
        ways, function = (
            _choose_ways(self.function),
            cast(FunctionType, self.by_hand or self.function),
        )
        known = dict(function.__globals__)
        for name in function.__code__.co_names:
            value = known.get(name)
            if name not in known:
                continue
            if isinstance(value, Loop):
                known[name] = (value.twin or value.make_twin())[1]
            elif value is np:
                known[name] = _PLAIN_NUMPY
            else:
                known[name] = _lend_value(value)
        self.twin = ways, FunctionType(function.__code__, known, function.__name__)
        return cast(tuple[list[_Way], Any], self.twin)


class State:
    """Whether this process runs the functions as Python, and for how long it did."""

    def __init__(self) -> None:
        self.plain = False
        self.may_be_plain = True
        self.spent_s = 0.0
        self.begins: Callable[[], None] | None = None

    def spend(self, seconds: float) -> None:
        """So much time went by; beyond the limit all the rest is compiled."""
        self.spent_s += seconds
        if self.spent_s > MOST_PLAIN_S:
            self.plain = self.may_be_plain = False

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


_PLAIN_NUMPY: Final = PlainNumpy


def _lend_value(value: Any) -> Any:
    """An array as a view whose items are plain integers, a number as a plain one; else as it is."""
    if isinstance(value, np.ndarray):
        return memoryview(cast(Any, value))
    return int(value) if isinstance(value, np.integer) else value


def _choose_ways(function: Callable[..., Any]) -> list[_Way]:
    """How each argument of a function is lent where it runs as Python."""
    code, annotations = function.__code__, function.__annotations__
    names = code.co_varnames[: code.co_argcount]
    return [_WAYS.get(id(annotations.get(name)), _lend_value) for name in names]


def _as_list(array: NDArray[Any]) -> list[Any]:
    return cast(list[Any], array.tolist())


def _keep_as_is(array: NDArray[Any]) -> NDArray[Any]:
    return array


_WAYS: Final[dict[int, _Way]] = {id(Rows): _keep_as_is, id(Bytes8): _as_list, id(Words64): _as_list}


@contextmanager
def prefer_python_for_little(little: bool) -> Iterator[None]:
    """While it is held, run as Python what is ``little``, if nothing has been compiled before."""
    STATE.plain = little and STATE.may_be_plain and not are_compiled()
    try:
        yield
    finally:
        STATE.plain = False  # and not what it was: another thread may have come in between


def require_compiled() -> None:
    """From now on this process runs compiled code only, however little it is to read."""
    STATE.plain = STATE.may_be_plain = False


@contextmanager
def notify_of_compiling(begins: Callable[[], None]) -> Iterator[None]:
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
    """Whether the loops by which most is read were compiled here before, by any process.

    Where nothing can be cached, those that this process compiled count.
    """
    return all(one.native or was_compiled(one.function) for one in MAIN_LOOPS)


# The loops by which most is read, as their modules name them.
MAIN_LOOPS: Final[list[Loop]] = []


def reads_most(function: F) -> F:
    """``function``, a native one, counted among those by which most is read."""
    MAIN_LOOPS.append(cast(Loop, function))
    return function


def was_compiled(function: Callable[..., Any]) -> bool:
    """Whether numba's cache has machine code of this very source; found without loading numba.

    An index file is a pickled version of numba, then a pickled pair: :func:`cache_stamp` and the
    signatures that are compiled, each with the SHA-256 of the function's byte code. Nothing
    is unpickled here. For which processor it was compiled only LLVM could say.
    """
    code = function.__code__
    source = Path(code.co_filename)
    name = f"{source.stem}.{function.__qualname__}".translate({ord("<"): None, ord(">"): None})
    name += f"-{code.co_firstlineno}.py{sys.version_info.major}{sys.version_info.minor}"
    try:
        folder = _cache_folder(source)
        index = (folder / f"{name}{sys.abiflags}.nbi").read_bytes()
        begin = index[:_STAMP_BYTES]
        return (
            _pickle_version() in begin
            and _cache_stamp(function).encode() in begin
            and hashlib.sha256(code.co_code).hexdigest().encode() in index
            and (folder / f"{name}{sys.abiflags}.1.nbc").exists()
        )
    except (OSError, ImportError):
        return False


# Version and stamp stand within so many bytes.
_STAMP_BYTES: Final = 128


@cache
def _pickle_version() -> bytes:
    """A short string of a pickle, with its length before it."""
    from importlib.metadata import version

    text = version("numba").encode()
    return bytes((len(text),)) + text


def _cache_stamp(function: Callable[..., Any]) -> str:
    """The release, and a digest of the sources of a function and of all loops that it calls.

    Numba's own is of the function's file alone: machine code that holds an older release of what it
    calls would be trusted.
    """
    found = {function.__code__.co_filename}
    ahead = [function]
    seen = {function}
    while ahead:
        one = ahead.pop()
        for name in one.__code__.co_names:
            loop = one.__globals__.get(name)
            if isinstance(loop, Loop) and loop.function not in seen:
                seen.add(loop.function)
                ahead.append(loop.function)
                found.add(loop.function.__code__.co_filename)
    digest = hashlib.sha256(__version__.encode())
    for source in sorted(found):
        digest.update(_digest_source(source, os.stat(source).st_mtime_ns))
    return digest.hexdigest()


@cache
def _digest_source(path: str, _changed_ns: int) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


def _cache_folder(source: Path) -> Path:
    """Where numba keeps machine code of ``source``: the first place that can be written."""
    folder = os.path.abspath(source.parent)  # as numba does, which follows no link
    name = f"{os.path.basename(folder)}_{hashlib.sha1(folder.encode()).hexdigest()}"
    home = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    named = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(folder, "__pycache__"), Path(home, "numba", name)]
    if named:
        places.insert(0, Path(named, name))
    for place in places:
        nearest = next(one for one in (place, *place.parents) if one.exists())
        if os.access(nearest, os.W_OK | os.X_OK):
            return place
    raise FileNotFoundError(source)


def convert_to_signed(number: int) -> int:
    """An integer of any size as the one that 64 bits of it are."""
    return ((number + _TWO_63) & ALL_64) - _TWO_63


def checked(function: F) -> F:
    """``function`` as a native one with every array index checked."""
    return _compile_with(function, boundscheck=True)


def compiled(function: F) -> F:
    """``function`` as a native one, for arrays of our own making."""
    return _compile_with(function)


def inlined(function: F) -> F:
    """For what native code calls per value: handing over five arrays
    costs more than what it does with them. Unchecked: the caller sees to the room.
    """
    return _compile_with(function, forceinline=True)


def in_python(loop: Callable[..., Any]) -> Callable[[F], F]:
    """The decorated function is what ``loop`` is where it runs as Python: the same, said for
    integers of any size.
    """

    def keep(function: F) -> F:
        cast(Loop, loop).by_hand = function
        return function

    return keep


def _compile_with(function: F, **options: bool) -> F:
    """``function`` compiled at its first call and cached, or compiled alone where nothing can be
    cached. Importing it loads no compiler.
    """
    return cast(F, Loop(function, options))


def make_native(function: Callable[..., Any], options: dict[str, bool]) -> Any:
    """What numba makes of it."""
    import numba

    _load_without_blas()
    from numba.core.caching import FunctionCache, IndexDataCacheFile
    from numba.extending import typeof_impl

    _register(typeof_impl)
    made = cast(Any, numba).njit(nogil=True, _nrt=False, **options)(function)

    class OptionalCache(FunctionCache):
        """Numba's own, where a failure to keep the machine code is none of the call."""

        def save_overload(self, sig: object, data: object) -> None:
            """Keep what was compiled, if that is possible."""
            with suppress(OSError):
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    with suppress(RuntimeError):  # "cannot cache function: no locator available"
        made._cache = kept = cast(Any, OptionalCache)(function)  # as its `enable_caching` does
        kept._cache_file = cast(Any, IndexDataCacheFile)(
            kept.cache_path, kept._impl.filename_base, _cache_stamp(function)
        )
    return made


def _load_without_blas() -> None:
    """Have numba load its functions of arrays without looking for BLAS at once.

    It looks by importing ``scipy.linalg``, which takes a fifth of the time until the first dump is
    read. Whoever calls a function that needs BLAS has numba look then, as it does anyway.
    """
    from numba.np import linalg

    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look


_REGISTERED: list[bool] = []


def _register(typeof_impl: Any) -> None:
    """Tell numba that a function in here is its native self, where compiled code calls it."""
    if _REGISTERED:
        return
    _REGISTERED.append(True)
    from numba.core import types

    class LoopType(cast(type[Any], types.Dispatcher)):  # type: ignore[misc]
        """A native function that is called with integers, whatever their value.

        Numba's own compiles one for each number that stands in a call.
        """

        def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
            plain = tuple(cast(Any, types).unliteral(one) for one in args)
            return super().get_call_type(context, plain, kws)

    def typed(value: Loop, _: object) -> Any:
        return LoopType(value.compile())

    typeof_impl.register(Loop)(typed)
