"""Real jobs with real faults, hung and pulled by ``triage live``: who is named, how fast, at what
cost to the step.

The jobs run PyTorch over gloo in an environment of their own (``pip install torch==2.13.0 py-spy
numpy``); each is started, meets its fault, and is pulled while it hangs. Right is: the culprit's
rank first, its function named; nobody accused in jobs that are healthy or stand all alike.
Ends with status 1 below 95 % or where somebody is accused who should not be.

    python -m benchmarks.live_jobs --torch-python TORCH/bin/python [--ranks 8] [--only NAME ...]
        [--budget 30] [--steps] [--keep DIR] [--json FILE]
"""

import argparse
import ast
import fcntl
import itertools
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import aligned, machine, write_json

HERE = Path(__file__).resolve().parent
QUIET_KINDS = ("healthy", "inconclusive", "straggler")
START_S, GRACE_S = 120.0, 3.0
WIDTH = 7


@dataclass(frozen=True, slots=True)
class Expected:
    """``function`` is to be named, empty where no line can be; ``quiet`` where nobody may be."""

    name: str
    function: str
    quiet: bool


@dataclass(frozen=True, slots=True)
class Pulled:
    """What was said of one job; ``seconds`` is from the command to the answer."""

    fault: str
    ranks: int
    right_rank: bool
    right_line: bool
    accused: tuple[int, ...]
    kind: str
    seconds: float
    summary: str

    @property
    def right(self) -> bool:
        """Whether rank and line are."""
        return self.right_rank and self.right_line


def faults() -> list[Expected]:
    """The table in ``live/faults.py``, which needs torch to be imported: it is read."""
    tree = ast.parse((HERE / "live" / "faults.py").read_text("utf-8"))
    (table,) = (
        one.value
        for one in tree.body
        if isinstance(one, ast.Assign) and getattr(one.targets[0], "id", "") == "FAULTS"
    )
    assert isinstance(table, ast.Dict)
    rows = []
    for key, call in zip(table.keys, table.values, strict=True):
        assert isinstance(key, ast.Constant)
        assert isinstance(call, ast.Call)
        function = ast.literal_eval(call.args[1])
        quiet = function is None or bool(call.keywords)
        rows.append(Expected(str(key.value), function or "", quiet))
    return rows


@contextmanager
def job(python: str, fault: str, ranks: int, culprit: int, folder: Path) -> Iterator[None]:
    """A job that has met its fault, or has made ten steps where it has none."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    blank = "_" * WIDTH
    environment = {
        "PATH": f"{Path(python).parent}:/usr/bin:/bin", "HOME": str(folder), "RANK": blank,
        "LOCAL_RANK": blank, "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
        "TORCHELASTIC_RUN_ID": f"exam-{fault}",
    }  # fmt: skip
    script = HERE / "live" / "train.py"
    arguments = ("--fault", fault, "--culprit", str(culprit), "--folder", str(folder))
    with (folder / "index.lock").open("w") as lock, (folder / "out.log").open("w") as log:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [python, str(script), *arguments], env=environment, stdout=log, stderr=log,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            _until_met(folder, process, GRACE_S * max(1.0, ranks / 8))
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _until_met(folder: Path, process: subprocess.Popen[bytes], grace_s: float) -> None:
    ends = time.monotonic() + START_S
    while not any(folder.glob("stuck_*")) and len(step_times(folder)) < 12:
        if process.poll() is not None or time.monotonic() > ends:
            raise SystemExit(f"the job did not start: {(folder / 'out.log').read_text()[-2000:]}")
        time.sleep(0.1)
    time.sleep(grace_s)  # until the others have come to where they wait


def step_times(folder: Path) -> list[float]:
    """When rank 0 ended each step, in seconds since the epoch."""
    path = folder / "steps_0"
    return [float(line) for line in path.read_text().splitlines()] if path.exists() else []


def pull(python: str, fault: str, budget: float, out: Path) -> tuple[dict[str, Any], float]:
    """The answer of ``triage live`` as JSON, and its seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "triage.cli.main", "live", "--job", f"exam-{fault}", "--format",
         "json", "--budget", str(budget), "--out", str(out)],
        capture_output=True, check=False, text=True, cwd=HERE.parent,
        env={**os.environ, "PATH": f"{os.environ['PATH']}:{Path(python).parent}"},
    )  # fmt: skip
    if done.returncode:
        return {"verdict": {"kind": "none", "summary": done.stderr[-300:]}, "suspects": []}, 0.0
    return json.loads(done.stdout), time.monotonic() - began


def judged(
    expected: Expected, culprit: int, ranks: int, report: dict[str, Any], seconds: float
) -> Pulled:
    """Whether the answer is right. Convicted are suspects with the role of a culprit."""
    suspects = [one for one in report["suspects"] if one["role"] == "culprit"]
    accused = tuple(rank for one in suspects for rank in one["ranks"])
    kind = report["verdict"]["kind"]
    named = json.dumps([report["suspects"][:1], report.get("stacks", [])])
    if expected.quiet:
        # Where all stand alike the job does hang, and no rank is at fault.
        kinds = (*QUIET_KINDS, "hang") if expected.function else QUIET_KINDS
        right_rank, right_line = not suspects and kind in kinds, True
    elif expected.name == "straggler":
        # It is slow and not stuck: it may not be called a hang.
        right_rank = kind == "straggler" and report["suspects"][0]["ranks"] == [culprit]
        right_line = expected.function in named
    else:
        right_rank = accused[:1] == (culprit,) and len(set(accused)) == 1
        right_line = expected.function in named or expected.name == "sigkill"
    return Pulled(
        expected.name, ranks, right_rank, right_line, accused, kind, round(seconds, 1),
        report["verdict"]["summary"],
    )  # fmt: skip


def measure_steps(python: str, ranks: int, budget: float) -> dict[str, float]:
    """The step time of a healthy job in ms: before a pull, while it is pulled, and the longest."""
    with tempfile.TemporaryDirectory() as name, job(python, "healthy", ranks, 0, Path(name)):
        folder = Path(name)
        time.sleep(max(10.0, budget / 2))
        began = time.time()
        done = subprocess.run(
            [sys.executable, "-m", "triage.collectors", "live", "--job", "exam-healthy",
             "--budget", str(budget), "--out", str(folder / "pulled")],
            capture_output=True, check=False, cwd=HERE.parent,
            env={**os.environ, "PATH": f"{os.environ['PATH']}:{Path(python).parent}"},
        )  # fmt: skip
        ended = time.time()
        assert done.returncode == 0, done.stderr
        times = step_times(folder)
    steps = [(end, 1000 * (end - begin)) for begin, end in itertools.pairwise(times)]
    before = [ms for at, ms in steps if at < began][5:]
    during = [ms for at, ms in steps if began <= at <= ended]
    return {
        "before_ms": statistics.mean(before),
        "during_ms": statistics.mean(during),
        "before_median_ms": statistics.median(before),
        "during_median_ms": statistics.median(during),
        "longest_before_ms": max(before),
        "longest_during_ms": max(during),
        "slower_percent": 100 * (statistics.mean(during) / statistics.mean(before) - 1),
    }


def main() -> None:
    """Run the exam, or measure the step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--budget", type=float, default=30.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--steps", action="store_true", help="measure the step alone")
    parser.add_argument("--keep", type=Path, help="keep the pulled folders below this one")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    python = str(Path(arguments.torch_python).absolute())
    print(machine())
    if arguments.steps:
        steps = measure_steps(python, arguments.ranks, arguments.budget)
        print(json.dumps({name: round(value, 1) for name, value in steps.items()}))
        return
    rows = []
    for number, expected in enumerate(faults()):
        if arguments.only and expected.name not in arguments.only:
            continue
        culprit = (3 + 2 * number) % arguments.ranks
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with job(python, expected.name, arguments.ranks, culprit, folder):
                out = folder / "pulled"
                report, seconds = pull(python, expected.name, arguments.budget, out)
            if arguments.keep:
                shutil.copytree(out, arguments.keep / expected.name, dirs_exist_ok=True)
        row = judged(expected, culprit, arguments.ranks, report, seconds)
        mark = "right" if row.right else "WRONG"
        print(f"{mark} {row.fault}: {culprit} {row.accused} {row.kind} {row.seconds} s"
              f" line={row.right_line} {row.summary}", flush=True)  # fmt: skip
        rows.append(row)
    report_all(rows, arguments.json)


def report_all(rows: list[Pulled], target: Path | None) -> None:
    """Shares and seconds; ends with status 1 where they are not what they should be."""
    quiet = {one.name for one in faults() if one.quiet}
    hung = [row for row in rows if row.fault not in quiet]
    wrong = [row for row in rows if row.fault in quiet and not row.right]
    share = sum(row.right for row in hung) / max(1, len(hung))
    seconds = [row.seconds for row in rows if row.seconds]
    table = [
        ("rank and line right", f"{sum(row.right for row in hung)} of {len(hung)}"),
        ("rank right", f"{sum(row.right_rank for row in hung)} of {len(hung)}"),
        ("accused in healthy or alike", f"{len(wrong)} of {len(rows) - len(hung)}"),
        ("seconds to the answer", f"{statistics.median(seconds):.1f}, longest {max(seconds):.1f}"),
    ]
    print(aligned(("", "value"), table))
    write_json(target, "live_jobs", [asdict(row) for row in rows])
    if share < 0.95 or wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
