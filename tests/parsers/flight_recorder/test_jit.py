"""The hot loops give the same answer compiled and as Python, and say when they are compiled.

Compiled code that cannot be kept is compiled again, and runs all the same.
"""

import builtins
import errno
import importlib
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

import numba
import numpy as np
import pytest
from numba.core import config
from numba.core.caching import FunctionCache

import triage
from simulator import simulate
from tests.support.compiling import compile_all
from triage.errors import ArtifactError
from triage.formats.extractor import Extractor
from triage.parsers.extract.wire import pack
from triage.parsers.files.inputs import InputFile
from triage.parsers.flight_recorder import columns, interpreter, jit
from triage.parsers.flight_recorder.jit import Loop, PlainNumpy, compiled, prefer_python_for_little
from triage.parsers.logs import grams, mask
from triage.parsers.logs.progress import forms

DATA = Path(__file__).parents[2] / "data"


def doubled(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EROFS, errno.ENOSYS])
def test_a_cache_that_cannot_be_written_costs_time_and_no_call(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(FunctionCache, "save_overload", fails)
    assert compiled(doubled)(21) == 42


@contextmanager
def in_python_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(jit, "STATE", jit.State())
        patch.setattr(jit, "are_compiled", lambda: False)
        patch.setattr(jit, "MOST_PLAIN_S", 1e9)
        with prefer_python_for_little(True):
            yield
            assert jit.STATE.plain
            assert jit.STATE.spent_s > 0


def extracted(path: Path) -> bytes:
    """All that is read out of a file, as bytes."""
    file = InputFile(path, path.name, path.stat().st_size)
    return pack(Extractor().extract([file])[0])


def same_both_ways(monkeypatch: pytest.MonkeyPatch, path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with in_python_alone(monkeypatch):
        plain = extracted(path)
    assert plain == extracted(path)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    found = []
    for kind in ("host-stall", "p2p-wrong-peer", "mismatch-size"):
        folder = tmp_path_factory.mktemp("jobs") / kind
        simulate(kind, folder, ranks=8, entries=60)
        found += [path.read_bytes() for path in sorted(folder.rglob("*_rank_*"))[2:4]]
    found += [path.read_bytes() for path in sorted(DATA.glob("*/*trace_rank_1"))]
    return found


JSON_DUMP = (
    b'{"version":"2.10","pg_config":{"0":{"name":"0","desc":"d","ranks":"[0, 1, 2]"}},'
    b'"pg_status":{"0":{"last_enqueued_collective":"7","last_completed_collective":"-1"}},'
    b'"entries":[{"record_id":%d,"pg_id":-5,"process_group":["0","d"],"collective_seq_id":%d,'
    b'"profiling_name":"nccl:all_reduce","time_created_ns":%d,"input_sizes":[[%d,-3],[9.5]],'
    b'"input_dtypes":["Float","\xc3\xa9"],"output_sizes":[],"state":"started","duration_ms":%s,'
    b'"time_created_us":%d,"frames":[{"name":"f","line":%d}],"is_p2p":false}]}'
)


def test_a_dump_reads_the_same_in_python(
    dumps: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, data in enumerate(dumps):
        same_both_ways(monkeypatch, tmp_path / f"trace_rank_{number}", data)
    far = (0, 1, -1, 127, 255, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63), 1 << 64)
    rng = random.Random(4)
    for number in range(30):
        values = [rng.choice(far) for _ in range(4)]
        times = rng.choice((b"1.5", b"-2", b"1e300", b"null", b"3", b"true"))
        last = [rng.choice(far), rng.choice(far)]
        same_both_ways(
            monkeypatch, tmp_path / f"trace_rank_{number}", JSON_DUMP % (*values, times, *last)
        )


def test_a_damaged_dump_reads_the_same_in_python(
    dumps: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(7)
    path = tmp_path / "comm_lib_trace_rank_3"
    for _ in range(120):
        data = bytearray(rng.choice(dumps))
        if rng.random() < 0.4:
            del data[rng.randrange(len(data)) :]
        for _ in range(rng.choice((0, 1, 3, 20))):
            if data:
                data[rng.randrange(len(data))] = rng.choice((0, 0x28, 0x4A, 0x8A, 0xFF, 0x47, 0x75))
        try:
            same_both_ways(monkeypatch, path, bytes(data))
        except ArtifactError as error:  # bad bytes are refused in an extract, never raised
            pytest.fail(str(error))


WORDS = (
    "step", "loss", "2.3e-05", "[rank3]:", "gpu-a03", "0000:5d:00.0", "0x7f3a", "NVRM:", "Xid",
    "(PCI:0000:5d:00):", "79,", "12:31:07.123456", "2026-11-20", "pid=4107,", "[12345.678901]",
    "GPU-3f2a91bc-0000-1111-2222-333344445555", "/home/u/train.py", "\x1b[31m", "\x1b]0;t\x07",
    "6,3964,206764307,-;", "600012ms", "1732070000123", "iteration", "100/", "it/s", "\x07",
    "ProcessGroupNCCL", "Watchdog", "caught", "collective", "timeout", "rank", "mlx5_core",
    "AER:", "Corrected", "error", "äöü", "[", "]", ":", "-", "=", ";i=4e1f;", "[1,1234]<stdout>",
)  # fmt: skip


def test_a_log_reads_the_same_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(11)
    for number in range(25):
        lines = [" ".join(rng.choices(WORDS, k=rng.randrange(14))) for _ in range(120)]
        ends = rng.choice(("\n", "\r\n", "\r"))
        data = ends.join(lines).encode("utf-8", "replace")
        if number % 5 == 0:
            data = bytes(rng.randrange(256) if rng.random() < 0.02 else c for c in data)
        same_both_ways(monkeypatch, tmp_path / "node.log", data)


@pytest.mark.parametrize(
    "loop",
    [columns.mix, interpreter.wrap_to_64_bits, mask.mix,
     mask.finish, grams.spread, forms.count_trailing_zeros, columns.convert_to_us],
)  # fmt: skip
def test_what_wraps_wraps_alike_in_python(loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    edges = [0, 1, -1, 255, (1 << 63) - 1, -(1 << 63), 1 << 62, -(1 << 53)]
    is_word = loop is grams.spread
    for _ in range(200):
        values = [rng.choice([*edges, rng.randrange(-(1 << 63), 1 << 63)]) for _ in range(2)]
        if loop is columns.convert_to_us:
            values[0] = rng.choice((columns.INT, columns.FLOAT, columns.NONE))
        if is_word:
            values = [abs(value) & 0xFFFFFFFF for value in values]
        values = values[: loop.function.__code__.co_argcount]
        lent = [np.uint64(value) if is_word else np.int64(value) for value in values]
        native = int(loop(*lent))
        with in_python_alone(monkeypatch):
            plain = loop(*map(int, values))
        assert jit.convert_to_signed(plain) == jit.convert_to_signed(native), (loop, values)


BUILT_IN = {*dir(builtins), "view"}


def every_loop() -> list[Loop]:
    found = []
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("triage.parsers"):
            found += [one for one in vars(module).values() if isinstance(one, Loop)]
    return found


def test_python_knows_all_of_numpy_that_the_loops_use() -> None:
    loops = every_loop()
    assert len(loops) > 40
    for loop in loops:
        code = (loop.by_hand or loop.function).__code__
        if "np" in code.co_names:
            used = {name for name in code.co_names if hasattr(np, name) and name not in BUILT_IN}
            assert used <= set(vars(PlainNumpy)), loop.__name__


def test_much_is_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "STATE", jit.State())
    monkeypatch.setattr(jit, "are_compiled", lambda: False)
    with prefer_python_for_little(True):
        jit.compile_if_more_than(jit.MOST_PLAIN_BYTES)
        assert jit.STATE.plain
        jit.compile_if_more_than(jit.MOST_PLAIN_BYTES + 1)
        assert not jit.STATE.plain
    with prefer_python_for_little(False):
        assert not jit.STATE.plain
    monkeypatch.setattr(jit, "are_compiled", lambda: True)
    with prefer_python_for_little(True):
        assert not jit.STATE.plain


def test_a_process_that_reads_again_and_again_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "STATE", jit.State())
    monkeypatch.setattr(jit, "are_compiled", lambda: False)
    ways = []
    for _ in range(4):
        with prefer_python_for_little(True):
            ways.append(jit.STATE.plain)
            jit.STATE.spend(jit.MOST_PLAIN_S * 0.4)
    assert ways == [True, True, True, False]
    with prefer_python_for_little(True):
        assert not jit.STATE.plain


def test_compiled_code_can_be_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "STATE", jit.State())
    monkeypatch.setattr(jit, "are_compiled", lambda: False)
    with prefer_python_for_little(True):
        jit.require_compiled()
        assert not jit.STATE.plain
    with prefer_python_for_little(True):
        assert not jit.STATE.plain


def test_what_this_process_compiled_need_not_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "was_compiled", lambda _: False)
    monkeypatch.setattr(jit, "MAIN_LOOPS", [loop := Loop(doubled, {})])
    assert not jit.are_compiled()
    loop.compile()
    assert jit.are_compiled()


def change_source(source: Path, _: Path) -> None:
    """As a checkout of an older source does, whose time is kept."""
    source.write_text(source.read_text().replace("2", "3"))
    os.utime(source, (1, 1))


def empty_index(_: Path, index: Path) -> None:
    with index.open("rb") as file:
        version, (stamp, _overloads) = pickle.load(file), pickle.load(file)
    index.write_bytes(pickle.dumps(version, -1) + pickle.dumps((stamp, {}), 4))


def age_numba(_: Path, index: Path) -> None:
    version = numba.__version__.encode()
    index.write_bytes(index.read_bytes().replace(version, b"0" * len(version), 1))


CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "nothing": lambda *_: None,
    "source touched later": lambda source, _: os.utime(source, (4e9, 4e9)),
    "index copied later": lambda _, index: os.utime(index, (4e9, 4e9)),
    "older source": change_source,
    "another numba": age_numba,
    "emptied index": empty_index,
    "no index": lambda _, index: index.unlink(),
    "no machine code": lambda _, index: [one.unlink() for one in index.parent.glob("*.nbc")],
}


def function_of(monkeypatch: pytest.MonkeyPatch, source: Path) -> Callable[..., Any]:
    """The function in ``source``, read anew."""
    spec = spec_from_file_location(source.stem, source)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Numba pickles functions by the names of their modules.
    monkeypatch.setitem(sys.modules, source.stem, module)
    spec.loader.exec_module(module)
    return cast(Callable[..., Any], module.times)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("cache", ["a folder", "a file, where none can be made"])
def test_what_was_compiled_is_what_numba_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, cache: str
) -> None:
    named = tmp_path / "cache"
    if cache != "a folder":
        named.touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(named))
    monkeypatch.setattr(config, "CACHE_DIR", str(named))
    source = tmp_path / "times_two.py"
    source.write_text("def times(number):\n    return 2 * number\n")
    function = function_of(monkeypatch, source)
    assert not jit.was_compiled(function)
    assert jit.make_native(function, {})(21) == 42
    [index] = tmp_path.rglob("*.nbi")

    CHANGES[change](source, index)

    function = function_of(monkeypatch, source)
    told = jit.was_compiled(function)
    native = jit.make_native(function, {})
    native(21)
    assert told == bool(native.stats.cache_hits)


CALLER = """
from triage.parsers.flight_recorder.jit import compiled
from times_two import times

times = compiled(times)


@compiled
def six_times(number):
    return 3 * times(number)
"""


def test_what_calls_changed_code_is_compiled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    called, caller = tmp_path / "times_two.py", tmp_path / "six_times.py"
    caller.write_text(CALLER)

    def answer(factor: int) -> tuple[bool, Any]:
        called.write_text(f"def times(number):\n    return {factor} * number\n")
        os.utime(called, (factor, factor))  # or the byte code of the one before would do
        for name in ("times_two", "six_times"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        loop = cast(Loop, importlib.import_module("six_times").six_times)
        return jit.was_compiled(loop.function), jit.make_native(loop.function, {})(7)

    assert answer(2) == (False, 42)
    assert answer(2) == (True, 42)
    assert answer(4) == (False, 84)


def test_compiling_is_told_once_and_only_where_it_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    known = {"tripled": False}

    def made(function: Callable[..., Any], _: object) -> Callable[..., Any]:
        return function

    monkeypatch.setattr(jit, "make_native", made)
    monkeypatch.setattr(jit, "was_compiled", lambda function: known.get(function.__name__, True))
    with jit.notify_of_compiling(lambda: told.append("begins")):
        Loop(doubled, {})(1)
        assert told == []

        def tripled(number: int) -> int:
            return 3 * number

        Loop(tripled, {})(1)
        Loop(tripled, {})(1)
    assert told == ["begins"]


FIRST_ANSWER = """
import sys
from triage.cli.main import main
status = main(["analyze", *sys.argv[1:]])
assert "numba" not in sys.modules, "a compiler was loaded"
sys.exit(status)
"""


def test_a_first_answer_to_little_waits_for_no_compiler(tmp_path: Path) -> None:
    log = tmp_path / "kernel.log"
    log.write_text(
        "[Sat Nov 21 03:14:15 2026] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off\n"
    )
    cache = tmp_path / "cache"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    for path in (log, DATA / "nccl-p2p-mismatch-w8"):
        ran = subprocess.run(
            [sys.executable, "-c", FIRST_ANSWER, str(path)],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        assert not cache.exists() or not list(cache.rglob("*.nb?"))


AHEAD = """
import runpy
from triage.parsers.flight_recorder import jit
jit.was_compiled = lambda _: False
runpy.run_module("triage.sandbox.warm_up", run_name="__main__")
assert jit.are_compiled(), "not all is compiled"
"""


def test_the_image_is_built_with_all_compiled() -> None:
    dockerfile = (Path(jit.__file__).parents[3] / "Dockerfile").read_text("utf-8")
    assert "\nRUN python -m triage.sandbox.warm_up\n" in dockerfile
    ran = subprocess.run([sys.executable, "-c", AHEAD], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_tests_begin_with_all_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "STATE", jit.State())
    may_be_plain = []
    monkeypatch.setattr(triage, "analyze", lambda _: may_be_plain.append(jit.STATE.may_be_plain))
    compile_all()
    assert may_be_plain == [False]
