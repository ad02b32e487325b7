"""The stacks of a job that hangs, as ``py-spy dump --subprocesses`` prints them."""

import random
from collections.abc import Iterable, Iterator

from simulator.callsites import SITE_PACKAGES, Frame, stack
from simulator.live.reasons import MAIN, STDLIB, HostStop
from simulator.live.standing import Standing, Stands

_PYTHON = "Python v3.11.9 (/opt/venv/bin/python3.11)"
_COMMAND = "/opt/venv/bin/python -u /opt/train/train.py"
_DEPTH = 14
_SYNCHRONIZE = Frame("synchronize", f"{SITE_PACKAGES}/torch/cuda/__init__.py", 985)
_SETTING_UP = (
    Frame("_get_backend", f"{SITE_PACKAGES}/torch/distributed/distributed_c10d.py", 1311),
    Frame("all_reduce", f"{SITE_PACKAGES}/torch/distributed/distributed_c10d.py", 3008),
    Frame("wrapper", f"{SITE_PACKAGES}/torch/distributed/c10d_logger.py", 83),
    Frame("all_ready", "/opt/train/checkpoint/barrier.py", 52),
    *MAIN,
)
_FEEDER = (
    Frame("wait", f"{STDLIB}/threading.py", 327),
    Frame("_feed", f"{STDLIB}/multiprocessing/queues.py", 231),
    Frame("run", f"{STDLIB}/threading.py", 982),
    Frame("_bootstrap_inner", f"{STDLIB}/threading.py", 1045),
    Frame("_bootstrap", f"{STDLIB}/threading.py", 1002),
)
_PINNING = (
    Frame("do_one_step", f"{SITE_PACKAGES}/torch/utils/data/_utils/pin_memory.py", 33),
    Frame("_pin_memory_loop", f"{SITE_PACKAGES}/torch/utils/data/_utils/pin_memory.py", 58),
    *_FEEDER[2:],
)
_WORKERS_APART = 4000


def pid_of(rank: int, gpus_per_node: int) -> int:
    """The process of a rank on its node."""
    return 41_000 + 37 * (rank // gpus_per_node % 100) + rank % gpus_per_node


def _main_frames(standing: Standing, reason: HostStop, *, run_ahead: bool) -> tuple[Frame, ...]:
    """The main thread of a rank, innermost call first."""
    if standing.stands is Stands.STOPPED:
        return reason.frames
    if standing.stands is Stands.SETS_UP:
        return _SETTING_UP
    op = standing.op
    if op is None:
        return (Frame("next_batch", "/opt/train/data/pipeline.py", 74), *MAIN)
    frames = stack(op.name, op.site, autograd=False, depth=_DEPTH)
    if standing.stands is Stands.WAITS and run_ahead:
        # The host has issued all that it could, and waits for its device below the call.
        return (_SYNCHRONIZE, *frames[2:])
    return frames


def py_spy_text(
    standing: Standing, pid: int, reason: HostStop, chance: random.Random, *, run_ahead: bool
) -> str:
    """What py-spy prints of one rank's process and its workers."""
    stopped = standing.stands is Stands.STOPPED
    owner = reason.holder if stopped else ()
    busy = stopped and reason.state == "R"
    lines = [f"Process {pid}: {_COMMAND}", _PYTHON, ""]
    frames = _main_frames(standing, reason, run_ahead=run_ahead)
    lines += _thread(pid, "MainThread", frames, "active+gil" if busy else "idle")
    lines += _thread(pid + 311, "Thread-1 (_pin_memory_loop)", _PINNING, "idle")
    if owner:
        lines += _thread(pid + 325, "Thread-2 (pack)", owner, "active+gil")
    lines += _thread(pid + 330 + chance.randrange(8), "QueueFeederThread", _FEEDER, "idle")
    if stopped and reason.worker:
        worker = pid + _WORKERS_APART
        lines += ["", "-" * 80, f"Process {worker}: {_COMMAND}", _PYTHON]
        lines += [f"Parent Process {pid}: {_COMMAND}", ""]
        lines += _thread(worker, "MainThread", (*reason.worker, *frames[-3:]), "idle")
        lines += _thread(worker + 20, "QueueFeederThread", _FEEDER, "idle")
    return "\n".join(lines) + "\n"


def _thread(tid: int, name: str, frames: Iterable[Frame], state: str) -> Iterator[str]:
    """One thread, with the short paths that py-spy prints."""
    yield f'Thread {tid} ({state}): "{name}"'
    for frame in frames:
        yield f"    {frame.name} ({_short(frame.filename)}:{frame.line})"


def _short(path: str) -> str:
    """The path below the place that modules are searched in."""
    for root in (f"{SITE_PACKAGES}/", f"{STDLIB}/", "/opt/train/"):
        if path.startswith(root):
            return path[len(root) :]
    return path
