"""NCCL tests (``all_reduce_perf`` and its like), as text and as JSON: wrong values, and bandwidth
below its peers.

The best bus bandwidth of a run is its last and largest sizes'. Nothing in a run says what it
should be: it is held against what the caller expects, else against the other runs of as many
ranks in the same file, where there are at least three. What one node measured also goes on as
a number, so that a store of results may hold it against other nodes.

A run of several nodes speaks of none of them by itself: what is wrong with it is a warning for
each. Launchers put labels in front of lines (``[1,0]<stdout>:``); old versions print an error
where new ones count ``#wrong``.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Bandwidth
from triage.domain.patterns import compile_re
from triage.formats.health.complaints import classify_complaint
from triage.formats.health.reading import (
    FAIL,
    PASS,
    SKIPPED,
    WARN,
    Reading,
    find_text,
    iterate_documents,
    iterate_items,
    iterate_lines,
    parse_decimal,
)

# "# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor)"
_BEGIN: Final = compile_re(r"#\s{0,4}nThread \d{1,4} nGpus \d{1,4} minBytes \d")
# "# Collective test starting: all_reduce_perf", in versions since 2.17; it may end in _mpi.
_NAME: Final = compile_re(r"# Collective test starting: (?:\S{0,200}/)?([a-z_]{3,40}?)_perf")
# "#  Rank 11 Group  0 Pid    374 on n3 device  3 [0x54] NVIDIA H100"
_RANK: Final = compile_re(
    r"#\s{0,4}Rank\s{1,8}\d{1,7}(?: Group\s{1,4}\d{1,6})? Pid\s{1,8}\d{1,9}"
    r" on\s{1,64}(\S{1,256}) device(?:\s{1,4}\d{1,4} \[[\w:.]{1,20}\] (.{1,64}))?"
)
# One of size, count, type, redop, root, time, algbw, busbw, #wrong; the in-place four follow.
_ROW: Final = compile_re(
    r"(?:^|[\s:>])(?P<size>\d{1,16})\s+(?P<count>\d{1,16})\s+(?P<type>[a-z]\w{1,15})"
    r"(?:\s+(?P<redop>[a-z]{2,10}))?(?:\s+(?P<root>-?\d{1,7}))?"
    r"\s+[\d.]{1,12}\s+[\d.]{1,10}\s+(?P<busbw>[\d.]{1,10})\s+(?P<wrong>\S{1,12})"
    r"(?:\s+[\d.]{1,12}\s+[\d.]{1,10}\s+(?P<busbw2>[\d.]{1,10})\s+(?P<wrong2>\S{1,12}))?\s*$"
)
# Older versions do not name the test. A reduction of all elements that has no root is one.
_TYPE_BYTES: Final = {"float": 4, "half": 2, "bfloat16": 2, "double": 8, "int8": 1, "uint8": 1,
                     "int32": 4, "uint32": 4, "int64": 8, "uint64": 8}  # fmt: skip
_REDUCTIONS: Final = ("sum", "prod", "max", "min", "avg")
_ALL_REDUCE: Final = "all_reduce"
# "# Out of bounds values : 0 OK", "... : 3 FAILED"
_BOUNDS: Final = compile_re(r"# Out of bounds values : (\d{1,12}) (OK|FAIL)")
# "# Avg bus bandwidth    : 301.2 FAILED", where NCCL_TESTS_MIN_BW asks for more
_AVERAGE: Final = compile_re(r"# Avg bus bandwidth\s{1,8}: [\d.e+-]{1,20} FAILED")
# "n3: Test NCCL failure common.cu:958 'unhandled cuda error (run with NCCL_DEBUG=INFO ...) / '"
FAILURE: Final = compile_re(r"Test (?:NCCL|CUDA) failure \S{1,80}:\d{1,6} '(.{1,300})")
# A whole number is a count of wrong values; old versions print an error such as 5e-07.
_COUNT: Final = compile_re(r"\d{1,12}", re.ASCII)
# Below this share of what is usual a node is slow beyond what runs differ by; below the other
# one a link or a GPU is missing from its ring.
_WARN_BELOW: Final = 0.9
_FAIL_BELOW: Final = 0.75
_LEAST_PEERS: Final = 3
_MAX_NODES: Final = 20_000


@dataclass(slots=True)
class _Run:
    """One run: where it begins, on which nodes, and what it measured (GB/s).

    ``num_nodes`` counts nodes that have no name. ``num_checked`` and ``num_unchecked`` are how
    many results were held against the right values, and how many were not, as ``-c 0`` asks.
    """

    line: int
    test: str = ""
    gpu: str = ""
    nodes: dict[str, None] = field(default_factory=dict)
    num_nodes: int = 0
    num_ranks: int = 0
    busbw: float | None = None
    largest: int = 0
    wrong: int = 0
    wrong_line: int | None = None
    num_checked: int = 0
    num_unchecked: int = 0
    ended: bool = False
    too_slow: bool = False
    failure: str = ""
    failure_line: int = 0

    @property
    def alone(self) -> bool:
        """Whether one node ran it."""
        return max(len(self.nodes), self.num_nodes) <= 1


def read_tests(text: str, reading: Reading) -> None:
    runs: list[_Run] = []
    name = ""
    for number, line in iterate_lines(text):
        if (found := _NAME.search(line)) is not None:
            name = found[1]
        elif _BEGIN.search(line):
            runs.append(_Run(number, name))
            name = ""
        elif (broken := FAILURE.search(line)) is not None:
            if not runs:
                runs.append(_Run(number))
            runs[-1].failure = runs[-1].failure or broken[0]
            runs[-1].failure_line = runs[-1].failure_line or number
        elif runs and not runs[-1].ended:
            _take(line, number, runs[-1])
        elif runs and _AVERAGE.search(line):
            runs[-1].too_slow = True
    reading.first_line = runs[0].line if runs else 1
    _judge_runs(runs, reading)


def _take(line: str, number: int, run: _Run) -> None:
    """What one line says of the run."""
    if (found := _RANK.search(line)) is not None:
        run.num_ranks += 1
        if len(run.nodes) < _MAX_NODES:
            run.nodes[found[1]] = None
        run.gpu = run.gpu or (found[2] or "").strip()
    elif (found := _BOUNDS.search(line)) is not None:
        run.ended = True
        count = int(found[1])
        if found[2] != "OK" and not run.wrong:
            run.wrong, run.wrong_line = max(count, 1), number
    elif "#" not in line[:4] and (found := _ROW.search(line)) is not None:
        size = int(found["size"])
        cells = (found["busbw"], found["busbw2"])
        speeds = [speed for cell in cells if (speed := parse_decimal(cell)) is not None]
        _measure(run, size, speeds, _ALL_REDUCE if _is_all_reduce(found, size) else "")
        for cell in (found["wrong"], found["wrong2"]):
            if cell == "N/A":
                run.num_unchecked += 1
            elif cell:
                run.num_checked += 1
            if cell and _COUNT.fullmatch(cell) and int(cell):
                run.wrong += int(cell)
                run.wrong_line = run.wrong_line or number


def _measure(run: _Run, size: int, speeds: Sequence[float], test: str = "") -> None:
    """Take in the bus bandwidths in GB/s of one size in bytes; the largest size counts."""
    if size >= run.largest and speeds:
        run.busbw = max([*speeds, run.busbw or 0.0])
        run.largest = size
        run.test = run.test or test


def _is_all_reduce(row: re.Match[str], size: int) -> bool:
    whole = int(row["count"]) * _TYPE_BYTES.get(row["type"], 0) == size
    return whole and row["redop"] in _REDUCTIONS and row["root"] in (None, "-1")


def _judge_runs(runs: Sequence[_Run], reading: Reading) -> None:
    """The results of all runs of one file, each held against the others."""
    for run, usual in _with_usual(runs):
        _judge_run(run, usual, reading)


def _with_usual(runs: Sequence[_Run]) -> Iterator[tuple[_Run, float | None]]:
    """Each run with the median bandwidth of the others that it may be compared with.

    Those have as many ranks on as many nodes, and not the same nodes.
    """
    alike: dict[tuple[int, int], list[float]] = {}
    own: dict[tuple[int, int, frozenset[str]], list[float]] = {}
    for run in runs:
        if run.busbw is not None:
            alike.setdefault((run.num_ranks, len(run.nodes)), []).append(run.busbw)
            own.setdefault(_make_run_key(run), []).append(run.busbw)
    for speeds in alike.values():
        speeds.sort()
    usual: dict[tuple[int, int, frozenset[str]], float | None] = {}
    for key, mine in own.items():
        usual[key] = compute_median_without(alike[key[:2]], mine)
    for run in runs:
        yield run, usual.get(_make_run_key(run))


def compute_median_without(ordered: Sequence[float], mine: Sequence[float]) -> float | None:
    """The median of ``ordered``, ascending, without ``mine``; None for too few others."""
    num_others = len(ordered) - len(mine)
    if num_others < _LEAST_PEERS:
        return None
    places: list[int] = []
    for speed in sorted(mine):
        place = bisect_left(ordered, speed)
        places.append(max(place, places[-1] + 1) if places else place)
    middle = []
    for rank in ((num_others - 1) // 2, num_others // 2):
        for place in places:
            rank += place <= rank
        middle.append(ordered[rank])
    return sum(middle) / 2


def _make_run_key(run: _Run) -> tuple[int, int, frozenset[str]]:
    return run.num_ranks, len(run.nodes), frozenset(run.nodes)


def _judge_run(run: _Run, usual: float | None, reading: Reading) -> None:
    """The results of one run, for each of its nodes."""
    nodes: list[str | None] = [*run.nodes] if len(run.nodes) != 1 or not reading.node else [None]
    alone = run.alone
    where = "" if alone else f" over {max(len(run.nodes), run.num_nodes)} nodes"
    fail = FAIL if alone else WARN
    values, bandwidth = PASS, PASS
    said = f"no wrong values{where}"
    if run.wrong:
        values, said = fail, f"{run.wrong:,} wrong values{where}"
    elif run.failure:
        values, said = fail, f"{run.failure}{where}"
    elif not run.ended:
        values, said = WARN, f"the run did not come to its end{where}"
        reading.skip(run.line, said)
    elif run.num_unchecked and not run.num_checked:
        values, said = SKIPPED, f"values were not checked (-c 0){where}"
        reading.skip(run.line, said)
    blamed = Category.SDC if run.wrong else None
    if run.failure and not run.wrong and alone:
        blamed = classify_complaint(run.failure).category
    speed = usual if reading.busbw_gbps is None else reading.busbw_gbps
    # What a low bandwidth would be: NVLink inside a node.
    category = Category.NVLINK if alone else Category.NETWORK
    if run.busbw is not None and speed:
        bandwidth = fail if run.busbw < speed * _FAIL_BELOW else bandwidth
        if bandwidth is PASS and run.busbw < speed * _WARN_BELOW:
            bandwidth = WARN
    if run.too_slow:
        bandwidth = fail
    for node in nodes or [None]:
        line = run.wrong_line or run.failure_line or run.line
        reading.add("nccl.values", values, None, said, blamed, line, node=node)
        if run.busbw is None:
            continue
        beside = f", {speed:.1f} GB/s is usual" if speed else ", nothing to compare it with"
        if run.too_slow:
            beside = ", the run's own minimum is higher"
        detail = f"bus bandwidth {run.busbw:.1f} GB/s{where}{beside}"
        reading.add(
            "nccl.busbw", bandwidth, None, detail, category, run.line, node=node,
            bandwidth=_get_bandwidth(run) if alone else None,
        )  # fmt: skip


def _get_bandwidth(run: _Run) -> Bandwidth | None:
    """What may be held against other nodes: of a run that came to its end, and a known test."""
    if run.busbw is None or not run.ended or not run.test or not run.num_ranks:
        return None
    return Bandwidth(run.test, run.gpu, run.largest, run.num_ranks, run.busbw)


# What NCCL tests write into a file as JSON: nccl-tests -J FILE and rccl-tests -x FILE. It is judged
# as the text is. "devices" has the first GPU of each process alone. A run that failed has no
# "out_of_bounds", and what failed stands in the text alone: a run without it did not come to its
# end. The rows of rccl-tests name no node; older versions wrote one row a line and "#wrong".
# Times have no zone and are not used, and neither is the environment.

_PROGRAM: Final = compile_re(r"(?:.{0,1000}[/\\])?([a-z_]{3,40}?)_perf")
# Names of rccl-tests beside those of programs: "AllReduce" is all_reduce_perf.
_TESTS: Final = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
}  # fmt: skip
_MAX_RANKS: Final = 1 << 24


def read_json(text: str, reading: Reading) -> None:
    runs = []
    for document in iterate_documents(text, reading):
        if isinstance(document, Mapping):
            runs.append(_read_run(document))
            _add_errors(document, runs[-1], reading)
    _judge_runs(runs, reading)
    reading.none_found("nccl.values", "no run")


def _read_run(document: Mapping[str, Any]) -> _Run:
    """The run that one file is of."""
    run = _Run(1)
    program = _PROGRAM.match(_get_first_text(document.get("args")))
    run.test = program[1] if program is not None else ""
    config = document.get("config")
    config = config if isinstance(config, Mapping) else {}
    processes = list(iterate_items(config.get("devices")))
    each = _get_count(config.get("nthreads")) * _get_count(config.get("ngpus"))
    run.num_ranks = min(len(processes) * max(each, 1), _MAX_RANKS)
    for process in processes:
        if name := find_text(process, "hostname"):
            run.nodes[name[:256]] = None
        run.gpu = run.gpu or find_text(process, "device_info")[:64]
    for row in iterate_items(document.get("results")):
        _add_row(row, run)
    bounds = document.get("out_of_bounds")
    if isinstance(bounds, Mapping):
        run.ended = True
        wrong = _get_count(bounds.get("count"))
        if find_text(bounds, "okay") == "false" or wrong:
            run.wrong = run.wrong or max(wrong, 1)
    for name in ("average_bus_bandwidth", "average_bus_bandwidith"):
        average = document.get(name)
        if isinstance(average, Mapping):
            run.too_slow = find_text(average, "okay") == "false"
    return run


def _add_row(row: Mapping[str, Any], run: _Run) -> None:
    """One size: its bandwidths out of place and in place, and how many values are wrong."""
    speeds = []
    for place in ("out_of_place", "in_place"):
        cells = row.get(place)
        if isinstance(cells, Mapping):
            speed = _get_number(cells.get("bus_bw"))
            if speed is not None:
                speeds.append(speed)
            _add_wrong(cells.get("nwrong"), run)
    _measure(run, _get_count(row.get("size")), speeds)


def _add_wrong(cell: object, run: _Run) -> None:
    """A count of wrong values; null, or N/A, where nobody checked them."""
    wrong = _get_number(cell)
    if wrong is None:
        run.num_unchecked += 1
        return
    run.num_checked += 1
    run.wrong += int(wrong)


def _add_errors(document: Mapping[str, Any], run: _Run, reading: Reading) -> None:
    """NCCL's last error: a run that ended all the same had a warning, and no failure."""
    words = _get_first_text(document.get("errors"))
    if words:
        category = classify_complaint(words).category if run.alone else None
        for node in [None] if run.alone else list(run.nodes):
            reading.add("nccl.errors", WARN, None, words, category, 1, node=node)


def _get_first_text(value: object) -> str:
    """The first text of a list that is not empty, as one line."""
    texts = value if isinstance(value, list) else []
    lines = (" ".join(one[:2000].split()) for one in texts if isinstance(one, str))
    return next((line for line in lines if line), "")


def _get_count(value: object) -> int:
    """A count, 0 for anything else."""
    number = _get_number(value)
    return 0 if number is None else int(number)


def _get_number(value: object) -> float | None:
    """A number from 0 that JSON holds as one or as a text; None for anything else."""
    if isinstance(value, str) and len(value) <= 40:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1 << 63 else None


def read_rows(text: str, reading: Reading) -> None:
    """The rows of one run after the other; those of a run name the same test and ranks."""
    runs: dict[tuple[str, int, int], _Run] = {}
    places: dict[tuple[str, int, int], list[int]] = {}
    for document in iterate_documents(text, reading):
        for row in iterate_items(document):
            name = find_text(row, "name").lower()
            ranks = _get_count(row.get("ranks")) * max(_get_count(row.get("gpusPerRank")), 1)
            nodes = _get_count(row.get("nodes"))
            key = (name, ranks or _get_count(row.get("gpus")), nodes)
            run = runs.setdefault(key, _Run(1))
            run.test = _TESTS.get(name, name)[:40]
            run.num_ranks, run.num_nodes = min(key[1], _MAX_RANKS), nodes
            places.setdefault(key, []).append(_get_count(row.get("inPlace")))
            speed = _get_number(row.get("busBw"))
            _measure(run, _get_count(row.get("size")), [] if speed is None else [speed])
            _add_wrong(row.get("wrong", row.get("#wrong")), run)
    for key, run in runs.items():
        # Each size is measured out of place and then in place.
        run.ended = not reading.num_not_understood and (places[key][-1] > 0 or 1 not in places[key])
    _judge_runs(list(runs.values()), reading)
    reading.none_found("nccl.values", "no run")
