"""Where a host that stopped may stand: the frames of its main thread, innermost first.

The scripts and their lines are made up; the frames of libraries are those that the libraries
have. A loader's own reason stands in a worker process.
"""

import random
from dataclasses import dataclass

from simulator.callsites import SITE_PACKAGES, TRAIN, Frame

STDLIB = "/usr/local/lib/python3.11"
_TORCH = f"{SITE_PACKAGES}/torch"
MAIN = (
    Frame("main", f"{TRAIN}/train.py", 182),
    Frame("<module>", f"{TRAIN}/train.py", 192),
)


@dataclass(frozen=True, slots=True)
class HostStop:
    """``frames`` are of the rank's main thread, ``worker`` of the process that it waits for.

    ``holder`` are those of a thread of the rank that holds the interpreter's lock. ``state`` is
    the kernel's letter of the main thread.
    """

    name: str
    frames: tuple[Frame, ...]
    worker: tuple[Frame, ...] = ()
    holder: tuple[Frame, ...] = ()
    state: str = "S"


_LOADER_WAIT = (
    Frame("select", f"{STDLIB}/selectors.py", 415),
    Frame("wait", f"{STDLIB}/multiprocessing/connection.py", 947),
    Frame("_poll", f"{STDLIB}/multiprocessing/connection.py", 440),
    Frame("poll", f"{STDLIB}/multiprocessing/connection.py", 257),
    Frame("get", f"{STDLIB}/multiprocessing/queues.py", 113),
    Frame("_try_get_data", f"{_TORCH}/utils/data/dataloader.py", 1133),
    Frame("_get_data", f"{_TORCH}/utils/data/dataloader.py", 1295),
    Frame("_next_data", f"{_TORCH}/utils/data/dataloader.py", 1329),
    Frame("__next__", f"{_TORCH}/utils/data/dataloader.py", 631),
    Frame("next_batch", f"{TRAIN}/data/pipeline.py", 74),
    *MAIN,
)
_WORKER_TAIL = (
    Frame("fetch", f"{_TORCH}/utils/data/_utils/fetch.py", 51),
    Frame("_worker_loop", f"{_TORCH}/utils/data/_utils/worker.py", 308),
    Frame("run", f"{STDLIB}/multiprocessing/process.py", 108),
    Frame("_bootstrap", f"{STDLIB}/multiprocessing/process.py", 314),
)
_REASONS = (
    HostStop(
        "loader_read",
        _LOADER_WAIT,
        worker=(
            Frame("read_block", f"{TRAIN}/data/shards.py", 58),
            Frame("__getitem__", f"{TRAIN}/data/shards.py", 33),
            *_WORKER_TAIL,
        ),
    ),
    HostStop(
        "loader_http",
        _LOADER_WAIT,
        worker=(
            Frame("readinto", f"{STDLIB}/socket.py", 706),
            Frame("_read_status", f"{STDLIB}/http/client.py", 279),
            Frame("getresponse", f"{STDLIB}/http/client.py", 1374),
            Frame("fetch_object", f"{TRAIN}/data/objects.py", 41),
            Frame("__getitem__", f"{TRAIN}/data/objects.py", 22),
            *_WORKER_TAIL,
        ),
    ),
    HostStop(
        "checkpoint_write",
        (
            Frame("fsync", f"{TRAIN}/checkpoint/writer.py", 61),
            Frame("_write_item", f"{_TORCH}/distributed/checkpoint/filesystem.py", 301),
            Frame("save_shard", f"{TRAIN}/checkpoint/writer.py", 118),
            *MAIN,
        ),
        state="D",
    ),
    HostStop(
        "lock",
        (
            Frame("acquire", f"{STDLIB}/logging/__init__.py", 927),
            Frame("handle", f"{STDLIB}/logging/__init__.py", 976),
            Frame("record_metrics", f"{TRAIN}/metrics/sink.py", 88),
            Frame("train_step", f"{TRAIN}/train.py", 139),
            *MAIN,
        ),
    ),
    HostStop(
        "collector",
        (
            Frame("release_cycles", f"{TRAIN}/memory/reclaim.py", 27),
            Frame("train_step", f"{TRAIN}/train.py", 127),
            *MAIN,
        ),
        state="R",
    ),
    HostStop(
        "other_thread",
        (
            Frame("augment", f"{TRAIN}/data/augment.py", 96),
            Frame("next_batch", f"{TRAIN}/data/pipeline.py", 81),
            *MAIN,
        ),
        holder=(
            Frame("compress", f"{TRAIN}/telemetry/pack.py", 19),
            Frame("run", f"{STDLIB}/threading.py", 982),
        ),
    ),
)


def reason_of(chance: random.Random, category: str) -> HostStop:
    """Why a host of an incident of ``category`` stands where it stands, by chance."""
    fits = [one for one in _REASONS if category != "storage" or one.state == "D"]
    return chance.choice(fits)
