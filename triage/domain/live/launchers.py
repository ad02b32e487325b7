"""Programs that start ranks and wait for them: their stacks say nothing of the job."""

import re
from typing import Final

__all__ = ["is_launcher"]

# "torchrun --nproc-per-node 8 train.py", "/opt/venv/bin/python -m torch.distributed.run ...",
# "srun --ntasks 16 python train.py", "ray::IDLE", "/usr/bin/python3 /opt/bin/accelerate launch ..."
PROGRAM: Final = re.compile(
    r"(?:\S*/)?(?:torchrun|torch_distributed|srun|slurmstepd|sbatch|mpirun|mpiexec|orterun|prterun|"
    r"prted|orted|hydra_pmi_proxy|deepspeed|accelerate|accelerate-launch|raylet|gcs_server|"
    r"dumb-init|tini|docker-init)(?::|\s|$)"
)
MODULE: Final = re.compile(
    r"-m\s+(?:torch\.distributed\.(?:run|launch)|deepspeed\.launcher\.\w+|accelerate\.commands\.\w+"
    r"|torchx\.\S+|ray\.\S+)(?:\s|$)"
)
# An actor of Ray runs the job ("ray::TrainWorker.step"); these wait for it.
RAY: Final = re.compile(r"ray::IDLE|ray::_wrapper|.*/ray/(?:_private|dashboard|autoscaler)/\S+\.py")
INTERPRETER: Final = re.compile(r"(?:\S*/)?python[\d.]*(?:\s+-[uBEsSOIqbv]+)*\s+")
# Beyond it a command line is data.
LOOKED_AT: Final = 4096


def is_launcher(command: str | None) -> bool:
    """Whether a command line is that of a launcher: torchrun, srun, mpirun, Ray's own processes.

    ``srun python train.py`` is one, ``python train.py`` none.
    """
    if not command:
        return False
    text = command[:LOOKED_AT].strip()
    if PROGRAM.match(text) or RAY.match(text):
        return True
    interpreter = INTERPRETER.match(text)
    if interpreter is None:
        return False
    program = text[interpreter.end() :]
    return PROGRAM.match(program) is not None or MODULE.match(program) is not None
