"""A training job of PyTorch over gloo whose culprit meets one of the faults; needs torch alone.

One process imports torch and forks the ranks, so that 32 of them start in seconds on two cores.
Each rank then has the environment that a launcher would have given it, in ``/proc`` too.
"""

import argparse
import ctypes
import datetime
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import faults
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

# What a launcher sets for each process; here it is written over in place after the fork.
OWN = ("RANK", "LOCAL_RANK")
WIDTH = 7
FAULT_AT_STEP = 6
BATCH = 4


class Shards(Dataset):
    """Samples; the culprit's may not come."""

    def __init__(self, job: "faults.Job") -> None:
        self.job = job

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        if index >= BATCH * FAULT_AT_STEP:
            self.job.meet("loader")
        return torch.full((64,), float(index % 7))


def train_step(model: torch.Tensor, batch: torch.Tensor) -> float:
    """Forward, backward and the reduction of gradients."""
    gradient = model * batch.mean()
    time.sleep(0.02)  # the device computes
    dist.all_reduce(gradient)
    model.add_(gradient, alpha=1e-6)
    loss = gradient.sum().reshape(1)
    dist.all_reduce(loss)
    return loss.item()


def batches(job: "faults.Job") -> Iterator[torch.Tensor]:
    """Batches from the loader's worker, as the job reads them."""
    return iter(DataLoader(Shards(job), batch_size=BATCH, num_workers=1, prefetch_factor=2))


def train(job: "faults.Job", steps: Path) -> None:
    """The loop of one rank."""
    torch.set_num_threads(1)
    job.meet("start")
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=12))
    if job.fault.startswith("debug_server"):
        from torch.distributed.debug import start_debug_server

        start_debug_server(start_method="fork")
    model = torch.ones(4096)
    loader = batches(job)
    step = 0
    with steps.open("a", buffering=1) as log:
        while True:
            batch = next(loader)
            job.step = step
            if step >= FAULT_AT_STEP:
                job.meet("step")
            train_step(model, batch)
            if step >= FAULT_AT_STEP:
                job.meet("after")
            log.write(f"{time.time():.4f}\n")
            step += 1


def name_rank(rank: int) -> None:
    """Write the rank into the environment that this process was started with."""
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    for name in OWN:
        place = libc.getenv(name.encode())
        ctypes.memmove(place, str(rank).encode().ljust(WIDTH, b"\0"), WIDTH)
        os.environ[name] = str(rank)


def main() -> None:
    """Fork the ranks and wait for them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", required=True)
    parser.add_argument("--culprit", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    children = []
    for rank in range(int(os.environ["WORLD_SIZE"])):
        pid = os.fork()
        if pid == 0:
            name_rank(rank)
            job = faults.Job(arguments.fault, rank, arguments.culprit, arguments.folder)
            code = 1
            try:
                train(job, arguments.folder / f"steps_{rank}")
                code = 0
            except BaseException as error:  # noqa: BLE001
                sys.stderr.write(f"rank {rank}: {type(error).__name__}: {error}\n")
            finally:
                os._exit(code)
        children.append(pid)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while children:
        done, _ = os.wait()
        if done in children:
            children.remove(done)


if __name__ == "__main__":
    main()
