"""Compile the hot loops before tests begin: ``python -m tests.support.compiling``.

Where nothing is cached, as in a fresh clone, each test process would compile the same loops, and
the first test to need one would wait. An incident with dumps, logs and telemetry needs them all.
"""

import tempfile
from pathlib import Path
from typing import Final

import triage
from simulator.incidents.whole import Wish, simulate_incident
from triage.parsers.flight_recorder.jit import require_compiled

RANKS: Final = 16
JSON_DUMP: Final = b'{"version": "2.10", "pg_config": {}, "pg_status": {}, "entries": []}'
EXPOSITION: Final = b'DCGM_FI_DEV_GPU_TEMP{gpu="3",Hostname="n0"} 61 1795143855500\n'


def compile_all() -> None:
    """Make and answer an incident that holds every form that a compiled loop reads."""
    require_compiled()
    with tempfile.TemporaryDirectory() as scratch:
        job = Path(scratch) / "job"
        simulate_incident("nic-port", job, Wish(ranks=RANKS, bury=100, telemetry=True))
        (job / f"nccl_trace_rank_{RANKS}").write_bytes(JSON_DUMP)
        (job / "telemetry" / "gpu.prom").write_bytes(EXPOSITION)
        triage.analyze(job)


if __name__ == "__main__":
    compile_all()
