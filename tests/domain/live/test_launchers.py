"""Programs that start ranks, and programs that are ranks."""

import pytest

from triage.domain.live.launchers import is_launcher


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --nproc-per-node 8 train.py",
        "/opt/venv/bin/python /opt/venv/bin/torchrun --nnodes 2 train.py",
        "/opt/venv/bin/python -u -m torch.distributed.run train.py",
        "python3.12 -m torch.distributed.launch train.py",
        "srun --label python train.py",
        "slurmstepd: [4711.0]",
        "mpirun -np 8 python train.py",
        "ray::IDLE",
        "/opt/ray/core/src/ray/raylet/raylet --store_socket_name=x",
        "/usr/bin/python3 /opt/bin/accelerate launch train.py",
    ],
)
def test_a_launcher(command: str) -> None:
    assert is_launcher(command)


@pytest.mark.parametrize(
    "command",
    [
        None,
        "",
        "python train.py",
        "/opt/venv/bin/python -u train.py --launcher torchrun",
        "python -m torchtitan.train",
        "python -m torch.distributed.runner_of_ours",
        "ray::TrainWorker.step",
        "python torchrun_like.py",
        "/data/srun/train",
        "python " + "-u " * 100_000,
    ],
)
def test_no_launcher(command: str | None) -> None:
    assert not is_launcher(command)
