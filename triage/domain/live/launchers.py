"""Programs that start ranks and wait for them, or help: their stacks say nothing of the job."""

from typing import Final

from triage.domain.patterns import compile_re

# "torchrun --nproc-per-node 8 train.py", "/opt/venv/bin/python -m torch.distributed.run ...",
# "srun --ntasks 16 python train.py", "ray::IDLE", "/usr/bin/python3 /opt/bin/accelerate launch ..."
_PROGRAM: Final = compile_re(
    r"(?:\S*/)?(?:torchrun|torch_distributed|srun|slurmstepd|sbatch|mpirun|mpiexec|orterun|prterun|"
    r"prted|orted|hydra_pmi_proxy|deepspeed|accelerate|accelerate-launch|raylet|gcs_server|"
    r"dumb-init|tini|docker-init)(?::|\s|$)"
)
_MODULE: Final = compile_re(
    r"-m\s+(?:torch\.distributed\.(?:run|launch)|deepspeed\.launcher\.\w+|accelerate\.commands\.\w+"
    r"|torchx\.\S+|ray\.\S+)(?:\s|$)"
)
# An actor of Ray runs the job ("ray::TrainWorker.step"); these wait for it.
_RAY: Final = compile_re(
    r"ray::IDLE|ray::_wrapper|.*/ray/(?:_private|dashboard|autoscaler)/\S+\.py"
)
_INTERPRETER: Final = compile_re(r"(?:\S*/)?python[\d.]*(?:\s+-[uBEsSOIqbv]+)*\s+")
# "python .../torch/_inductor/compile_worker/__main__.py --workers=32", "python -m wandb service",
# "python -c from multiprocessing.resource_tracker import main;main(9)", "wandb-core", "ptxas ..."
_HELPER: Final = compile_re(
    r"\S*torch/_inductor/compile_worker/|-m\s+torch\._inductor\.compile_worker\b"
    r"|-c\s+['\"]?from multiprocessing\.(?:resource_tracker|semaphore_tracker|forkserver) import"
    r"|-m\s+(?:wandb|tensorboard|mlflow|torch\.utils\.tensorboard)\b"
    r"|(?:\S*/)?(?:wandb|wandb-core|wandb-service|gpu_stats|tensorboard|mlflow|ptxas|cicc|nvcc|py-spy"
    r"|jupyter(?:-lab|-notebook|-server)?)(?:\s|\(|$)"
)
# Beyond it a command line is data.
_LOOKED_AT: Final = 4096


def is_launcher(command: str | None) -> bool:
    """Whether a command line is that of a launcher: torchrun, srun, mpirun, Ray's own processes.

    ``srun python train.py`` is one, ``python train.py`` none.
    """
    if not command:
        return False
    text = command[:_LOOKED_AT].strip()
    if _PROGRAM.match(text) or _RAY.match(text):
        return True
    interpreter = _INTERPRETER.match(text)
    if interpreter is None:
        return False
    program = text[interpreter.end() :]
    return _PROGRAM.match(program) is not None or _MODULE.match(program) is not None


def is_helper(command: str | None) -> bool:
    """Whether a command line is that of a process which works for ranks and is none itself:
    compile workers, multiprocessing's trackers, services of loggers, compilers.
    """
    if not command:
        return False
    text = command[:_LOOKED_AT].strip()
    interpreter = _INTERPRETER.match(text)
    return _HELPER.match(text if interpreter is None else text[interpreter.end() :]) is not None
