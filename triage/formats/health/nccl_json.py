"""What NCCL tests write into a file as JSON: ``nccl-tests -J FILE`` and ``rccl-tests -x FILE``.

::

    {"version":3,"start_time":"2026-03-14 02:40:11","args":["all_reduce_perf","-g","8"],
     "env":[...],"nccl_version":22809,
     "config":{"nthreads":1,"ngpus":8,...,"validation":1,
       "devices":[{"rank":0,"group":0,"pid":374,"hostname":"n3","device":0,
                   "device_hex":"0000:1b:00","device_info":"NVIDIA H100 80GB HBM3"}]},
     "results":[{"size":8589934592,"count":2147483648,"type":"float","redop":"sum","root":"-1",
       "out_of_place":{"time":31250.0,"alg_bw":274.29,"bus_bw":480.0,"nwrong":0.000000},
       "in_place":{...},"actual_iterations":20,"experiment_name":"AllReduce"}],
     "out_of_bounds":{"count":0,"okay":"true"},
     "average_bus_bandwidth":{"bandwidth":240.0,"okay":"unchecked"},
     "errors":[""],"end_time":"2026-03-14 02:41:03"}

    [{"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":8, "ranksPerNode":8, "gpusPerRank":1,
      "size":1024, "type":"float", "redop":"sum", "inPlace":0, "time":19.18, "algBw":0.05,
      "busBw":0.08, "wrong":"0"}]

It is judged as the text is. ``devices`` has the first GPU of each process alone. A run that
failed has no ``out_of_bounds``, and what failed stands in the text alone: a run without it did
not come to its end. The rows of rccl-tests name no node; older versions wrote one row a line and
``#wrong``. Times have no zone and are not used, and neither is the environment.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.agent_report import complaint_of
from triage.formats.health.json_report import documents_of, items_of, text_in
from triage.formats.health.nccl_tests import Run, judge_runs, measure
from triage.formats.health.reading import Reading

__all__ = ["NCCL_JSON", "RCCL_JSON"]

# The environment stands before the results and may fill the beginning of the file. Tools that
# sort keys write the average first; early versions misspelt it.
CLAIM: Final = re.compile(
    r'\{\s{0,20}"version"\s{0,4}:\s{0,4}\d{1,4}\s{0,4},\s{0,20}"start_time"\s{0,4}:\s{0,4}'
    r'"[^"\n]{0,40}"\s{0,4},\s{0,20}"args"\s{0,4}:\s{0,4}\[\s{0,20}"[^"\n]{0,1000}_perf'
)
RESULTS: Final = re.compile(r'"average_bus_bandwi(?:dth|dith)"\s{0,4}:\s{0,4}\{')
PROGRAM: Final = re.compile(r"(?:.{0,1000}[/\\])?([a-z_]{3,40}?)_perf")
# Names of rccl-tests beside those of programs: "AllReduce" is all_reduce_perf.
TESTS: Final = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
}  # fmt: skip
MAX_RANKS: Final = 1 << 24


def claimed(head: str) -> bool:
    text = head.lstrip("\ufeff \t\r\n")
    return CLAIM.match(text) is not None or (
        text.startswith("{") and RESULTS.search(text) is not None
    )


def read(text: str, reading: Reading) -> None:
    runs = []
    for document in documents_of(text, reading):
        if isinstance(document, Mapping):
            runs.append(run_of(document))
            add_errors(document, runs[-1], reading)
    judge_runs(runs, reading)
    if not reading.results:
        reading.unknown("nccl.values", "no run", line=1)


def run_of(document: Mapping[str, Any]) -> Run:
    """The run that one file is of."""
    run = Run(1)
    program = PROGRAM.match(first_text(document.get("args")))
    run.test = program[1] if program is not None else ""
    config = document.get("config")
    config = config if isinstance(config, Mapping) else {}
    processes = list(items_of(config.get("devices")))
    each = count_of(config.get("nthreads")) * count_of(config.get("ngpus"))
    run.num_ranks = min(len(processes) * max(each, 1), MAX_RANKS)
    for process in processes:
        if name := text_in(process, "hostname"):
            run.nodes[name[:256]] = None
        run.gpu = run.gpu or text_in(process, "device_info")[:64]
    for row in items_of(document.get("results")):
        add_row(row, run)
    bounds = document.get("out_of_bounds")
    if isinstance(bounds, Mapping):
        run.ended = True
        wrong = count_of(bounds.get("count"))
        if text_in(bounds, "okay") == "false" or wrong:
            run.wrong = run.wrong or max(wrong, 1)
    for name in ("average_bus_bandwidth", "average_bus_bandwidith"):
        average = document.get(name)
        if isinstance(average, Mapping):
            run.too_slow = text_in(average, "okay") == "false"
    return run


def add_row(row: Mapping[str, Any], run: Run) -> None:
    """One size: its bandwidths out of place and in place, and how many values are wrong."""
    speeds = []
    for place in ("out_of_place", "in_place"):
        cells = row.get(place)
        if isinstance(cells, Mapping):
            speed = number_of(cells.get("bus_bw"))
            if speed is not None:
                speeds.append(speed)
            add_wrong(cells.get("nwrong"), run)
    measure(run, count_of(row.get("size")), speeds)


def add_wrong(cell: object, run: Run) -> None:
    """A count of wrong values; null, or N/A, where nobody checked them."""
    wrong = number_of(cell)
    if wrong is None:
        run.num_unchecked += 1
        return
    run.num_checked += 1
    run.wrong += int(wrong)


def add_errors(document: Mapping[str, Any], run: Run, reading: Reading) -> None:
    """NCCL's last error: a run that ended all the same had a warning, and no failure."""
    words = first_text(document.get("errors"))
    if words:
        category = complaint_of(words).category if run.alone else None
        for node in [None] if run.alone else list(run.nodes):
            reading.add(
                "nccl.errors", Outcome.WARN, node=node, detail=words, category=category, line=1
            )


def first_text(value: object) -> str:
    """The first text of a list that is not empty, as one line."""
    texts = value if isinstance(value, list) else []
    return next((" ".join(one[:2000].split()) for one in texts if is_text(one)), "")


def is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def count_of(value: object) -> int:
    """A count, 0 for anything else."""
    number = number_of(value)
    return 0 if number is None else int(number)


def number_of(value: object) -> float | None:
    """A number from 0 that JSON holds as one or as a text; None for anything else."""
    if isinstance(value, str) and len(value) <= 40:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1 << 63 else None


def claimed_rows(head: str) -> bool:
    text = head.lstrip("\ufeff \t\r\n[")
    first = text.partition("}")[0]
    names = ('"algBw"', '"busBw"', '"inPlace"')
    return text.startswith("{") and all(name in first for name in names)


def read_rows(text: str, reading: Reading) -> None:
    """The rows of one run after the other; those of a run name the same test and ranks."""
    runs: dict[tuple[str, int, int], Run] = {}
    places: dict[tuple[str, int, int], list[int]] = {}
    for document in documents_of(text, reading):
        for row in items_of(document):
            name = text_in(row, "name").lower()
            ranks = count_of(row.get("ranks")) * max(count_of(row.get("gpusPerRank")), 1)
            nodes = count_of(row.get("nodes"))
            key = (name, ranks or count_of(row.get("gpus")), nodes)
            run = runs.setdefault(key, Run(1))
            run.test = TESTS.get(name, name)[:40]
            run.num_ranks, run.num_nodes = min(key[1], MAX_RANKS), nodes
            places.setdefault(key, []).append(count_of(row.get("inPlace")))
            speed = number_of(row.get("busBw"))
            measure(run, count_of(row.get("size")), [] if speed is None else [speed])
            add_wrong(row.get("wrong", row.get("#wrong")), run)
    for key, run in runs.items():
        # Each size is measured out of place and then in place.
        run.ended = not reading.num_not_understood and (places[key][-1] > 0 or 1 not in places[key])
    judge_runs(list(runs.values()), reading)
    if not reading.results:
        reading.unknown("nccl.values", "no run", line=1)


NCCL_JSON: Final = CheckFormat(
    "nccl_tests_json",
    claimed,
    read,
    lines=False,
    words=('"start_time"', '"average_bus_bandwi'),
)
RCCL_JSON: Final = CheckFormat(
    "rccl_tests_json", claimed_rows, read_rows, lines=False, words=('"busBw"',)
)
