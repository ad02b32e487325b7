"""The faults: each a function with a name of its own, where the culprit stays.

``FAULTS`` maps a fault to where it is met and to the function that the answer has to name; the
empty one where there is no line (a rank that is gone), None where nobody may be accused.
"""

import ctypes
import fcntl
import gc
import logging
import multiprocessing
import os
import pdb
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

import torch
import torch.distributed as dist


class Fault(NamedTuple):
    """``where`` it is met: start, loader, step, after. ``expected`` is a function's name."""

    where: str
    expected: str | None
    everybody: bool = False


def _read_shard(job: "Job") -> None:
    """The file system does not answer."""
    with open(job.fifo()) as file:
        file.read()


def _open_index(job: "Job") -> None:
    """Another process holds the lock of the index for ever."""
    with open(job.locked()) as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def _stop_worker(_job: "Job") -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _next_batch(_job: "Job") -> None:
    """The producer of a prefetcher has gone and said nothing."""
    waiting: queue.Queue[int] = queue.Queue(2)

    def produce() -> None:
        for number in range(2):
            waiting.put(number)

    threading.Thread(target=produce, name="prefetch", daemon=True).start()
    while True:
        waiting.get()


def _update_metrics(_job: "Job") -> None:
    """A lock that is taken twice."""
    lock = threading.Lock()
    with lock, lock:
        pass


def _native_augment(_job: "Job") -> None:
    """A library in C that does not give the interpreter's lock back."""
    ctypes.PyDLL(None).usleep(2_000_000_000)


def _background_decode(_job: "Job") -> None:
    """Another thread holds the interpreter's lock in C; the main thread waits for it."""

    def decode_in_c() -> None:
        ctypes.PyDLL(None).usleep(2_000_000_000)

    threading.Thread(target=decode_in_c, name="decoder", daemon=True).start()
    time.sleep(5)


def _pack_sequences(_job: "Job") -> None:
    """A loop that does not come to its end."""
    rest = 7
    while rest:
        rest = (rest * 3 + 1) % 5 or 7


def _collect_garbage(_job: "Job") -> None:
    """The garbage collector runs through what a callback makes anew."""

    def finalize_all(_phase: str, _info: dict[str, int]) -> None:
        while True:
            [object() for _ in range(1000)]

    gc.callbacks.append(finalize_all)
    gc.collect()


def _receive_signal(_job: "Job") -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _end_at_once(_job: "Job") -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _save_checkpoint(job: "Job") -> None:
    """The checkpoint's store takes nothing any more."""
    torch.save({"model": torch.ones(1 << 20)}, job.fifo())


def _wait_for_retry(_job: "Job") -> None:
    """An exception was swallowed, and the rank waits to try again."""
    try:
        raise RuntimeError("CUDA out of memory")
    except RuntimeError:
        while True:
            time.sleep(30)


def _augment_slowly(_job: "Job") -> None:
    """Late in every step, and never stuck."""
    time.sleep(1.5)


def _wait_for_signal(_job: "Job") -> None:
    """All wait for a key that nobody sets."""
    dist.distributed_c10d._get_default_store().wait(["go"])


def _maintenance_window(_job: "Job") -> None:
    """All sleep."""
    time.sleep(3600)


def _shutdown_writers(_job: "Job") -> None:
    """The rank thinks that the job is over and waits for a thread that writes."""
    writer = threading.Thread(target=threading.Event().wait, name="writer", daemon=True)
    writer.start()
    writer.join()


def _prepare_data(_job: "Job") -> None:
    """Never comes to the rendezvous."""
    time.sleep(3600)


def _log_metrics(_job: "Job") -> None:
    """Whoever reads the log has stopped reading."""
    _, full = os.pipe()
    logger = logging.getLogger("metrics")
    logger.addHandler(logging.StreamHandler(os.fdopen(full, "w", buffering=1)))
    while True:
        logger.error("x" * 4096)


def _load_plugin(job: "Job") -> None:
    """An import in another thread never ends; the main thread waits for its lock."""
    (job.folder / "slow_plugin.py").write_text(f"open({str(job.fifo())!r}).read()\n")
    sys.path.insert(0, str(job.folder))

    def warm_up() -> None:
        __import__("slow_plugin")

    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    time.sleep(0.5)
    __import__("slow_plugin")


def _ask_user(_job: "Job") -> None:
    """A question that nobody sees."""
    reader, _ = os.pipe()
    sys.stdin = os.fdopen(reader)
    input("continue? ")


def _inspect_batch(_job: "Job") -> None:
    """A breakpoint that somebody forgot."""
    reader, _ = os.pipe()
    pdb.Pdb(stdin=os.fdopen(reader), stdout=sys.stdout).set_trace()
    time.sleep(0)


def _convert_shard(_job: "Job") -> None:
    """A command that does not end."""
    subprocess.run(["sleep", "3600"], check=True)


def _download_tokenizer(_job: "Job") -> None:
    """A server that takes the request and answers nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    urllib.request.urlopen(f"http://127.0.0.1:{port}/tokenizer.json").read()


def _count_samples(_job: "Job") -> None:
    """A lock of several processes whose owner has died."""
    lock = multiprocessing.Lock()
    if os.fork() == 0:
        lock.acquire()
        os._exit(0)
    os.wait()
    with lock:
        pass


def _sync_extra(_job: "Job") -> None:
    """A collective that the others do not call."""
    dist.broadcast(torch.ones(128), src=(dist.get_rank() + 1) % dist.get_world_size())


FAULTS = {
    "loader_read": Fault("loader", "read_shard"),
    "loader_flock": Fault("loader", "open_index"),
    "loader_worker_stopped": Fault("loader", "stop_worker"),
    "queue_starved": Fault("step", "next_batch"),
    "lock_deadlock": Fault("step", "update_metrics"),
    "gil_in_c": Fault("step", "native_augment"),
    "gil_in_thread": Fault("step", "background_decode"),
    "python_loop": Fault("step", "pack_sequences"),
    "gc": Fault("step", "collect_garbage"),
    "sigstop": Fault("step", "receive_signal"),
    "sigkill": Fault("step", "end_at_once"),
    "checkpoint_fifo": Fault("after", "save_checkpoint"),
    "exception_swallowed": Fault("step", "wait_for_retry"),
    "teardown": Fault("after", "shutdown_writers"),
    "rendezvous": Fault("start", "prepare_data"),
    "log_pipe": Fault("after", "log_metrics"),
    "import_lock": Fault("step", "load_plugin"),
    "input": Fault("step", "ask_user"),
    "pdb": Fault("step", "inspect_batch"),
    "subprocess": Fault("step", "convert_shard"),
    "http_read": Fault("step", "download_tokenizer"),
    "flock": Fault("step", "open_index"),
    "process_lock": Fault("step", "count_samples"),
    "other_collective": Fault("step", "sync_extra"),
    "straggler": Fault("step", "augment_slowly"),
    "healthy": Fault("", None),
    "debug_server": Fault("", None),
    "debug_server_stall": Fault("step", "wait_for_retry"),
    "symmetric_store": Fault("step", "wait_for_signal", everybody=True),
    "symmetric_sleep": Fault("step", "maintenance_window", everybody=True),
}
# The rest is gone with its connections; peers that wait by the store stay.
_BY_STORE = ("sigkill",)


class Job:
    """One rank's view of the fault."""

    def __init__(self, fault: str, rank: int, culprit: int, folder: Path) -> None:
        self.fault = fault
        self.rank = rank
        self.culprit = culprit
        self.folder = folder
        self.step = 0

    def meet(self, where: str) -> None:
        """The fault, where this is its place and this rank is its."""
        what = FAULTS[self.fault]
        if self.fault in _BY_STORE and where == "step":
            self.rendezvous_by_store()
        if where != what.where or not (what.everybody or self.rank == self.culprit):
            return
        (self.folder / f"stuck_{self.rank}").touch()
        name = what.expected or ""
        globals()[name](self)

    def rendezvous_by_store(self) -> None:
        """A barrier by the store, as checkpoints use it: it outlives a peer's end."""
        if self.rank == self.culprit:
            return
        store = dist.distributed_c10d._get_default_store()
        store.set(f"saved/{self.step}/{self.rank}", "1")
        store.wait([f"saved/{self.step}/{one}" for one in range(dist.get_world_size())])

    def fifo(self) -> Path:
        """A pipe that nobody else opens."""
        path = self.folder / f"fifo_{os.getpid()}"
        if not path.exists():
            os.mkfifo(path)
        return path

    def locked(self) -> Path:
        """A file that the exam holds locked."""
        return self.folder / "index.lock"
