"""A rank's flight-recorder dump: the fields of the format, version by version.

Facts of the format (what a version holds, when a stamp is absent) follow PyTorch's recorder.
"""

# ruff: noqa: E501

import json
import pickle
import random
from dataclasses import dataclass

from benchmarks.field.dumps.program import Op
from benchmarks.field.dumps.run import Run

Frames = list[dict[str, str | int]]


@dataclass(slots=True)
class Recorder:
    """How the recorder of a job is set up."""

    version: str
    timing: bool
    base: int  # steps before the simulated ones
    epoch: float  # wall clock of the simulation's zero
    timeout_ms: int
    ring: int | None
    only_active: bool
    frames: dict[str, Frames] | None
    library: str
    thread: str = "pt_main_thread"

    @property
    def number(self) -> tuple[int, int]:
        """The version as two numbers."""
        major, minor = self.version.split(".")
        return int(major), int(minor)


def counters(run: Run, rank: int, base: int) -> tuple[dict[int, list[int]], int]:
    """Sequence numbers (collective, p2p, op) of each group after the steps before, and entries."""
    per: dict[int, list[int]] = {}
    entries = 0
    for op in run.ops[rank][: run.per_step[rank]]:
        row = per.setdefault(op.group, [0, 0, 0])
        if op.kind == "coll":
            row[0] += 1
        else:
            row[1] += 1
        row[2] += max(1, len(op.members))
        entries += 1 if op.kind != "batch" else len(op.members) + 1
    return {g: [x * base for x in row] for g, row in per.items()}, entries * base


def sequence(run: Run, rank: int, index: int, base: int) -> int:
    """The sequence number that a rank's operation carries in its group."""
    seqs, _ = counters(run, rank, base)
    op = run.ops[rank][index]
    coll = op.kind == "coll"
    n = seqs[op.group][0 if coll else 1] if op.group in seqs else 0
    for other in run.ops[rank][: index + 1]:
        if other.group == op.group and (other.kind == "coll") == coll:
            n += 1
    return n


def _members(op: Op, ranks: tuple[int, ...], rank: int) -> list[tuple[str, bool, bool]]:
    """(name, is p2p, carries the state) of the entries of one operation."""
    me = ranks.index(rank)
    rows = []
    for send, peer in op.members:
        other = ranks.index(peer)
        name = f"send {me}->{other}" if send else f"recv {me}<-{other}"
        rows.append((name, True, op.kind == "p2p"))
    if op.kind != "p2p":
        rows.append((op.name, False, True))
    return rows


def describe(
    run: Run, rank: int, rec: Recorder, at: float, skew: float, rng: random.Random
) -> dict[str, object]:
    """The dump of one rank taken at a simulated time, as plain data."""
    mesh, number = run.mesh, rec.number
    mine = sorted(set(mesh.of[rank].values()))
    local = {g: i for i, g in enumerate(mine)}
    seqs, record = counters(run, rank, rec.base)
    status = {g: [-1, -1, -1] for g in mine}
    for g, row in seqs.items():
        if rec.base:
            last = row[0] or row[1]
            status[g] = [last, last if rec.timing else -1, last]
    entries: list[dict[str, object]] = []
    tid = str(rng.randrange(139_000_000_000_000, 140_700_000_000_000))
    zero = rec.epoch + skew
    at_ns = int((zero + at) * 1e9)
    for i, made in enumerate(run.created[rank]):
        if made is None or made > at:
            break
        op = run.ops[rank][i]
        row = seqs.setdefault(op.group, [0, 0, 0])
        row[0 if op.kind == "coll" else 1] += 1
        ended, came = run.done[rank][i], run.arrived[rank][i]
        over = ended is not None and ended <= at
        begun = came is not None and came <= at
        seen = (ended or 0.0) + 0.1 * ((i * 37 + rank * 11) % 97) / 97
        state = "completed" if over else ("started" if begun and rec.timing else "scheduled")
        group = mesh.groups[op.group]
        if op.kind != "coll" and not op.members:
            continue
        for name, p2p, carries in _members(op, group.ranks, rank):
            closer = op.kind == "batch" and carries
            if not closer:
                row[2] += 1
            entry: dict[str, object] = {}
            if rec.frames is not None:
                entry["frames"] = rec.frames[op.phase if op.phase in rec.frames else "forward"]
            entry["record_id"] = record
            entry["pg_id"] = local[op.group]
            entry["process_group"] = (group.name, group.desc)
            if number >= (2, 9):
                entry["thread_name"] = (
                    f"pt_autograd_{rank % 8}" if op.phase == "backward" else rec.thread
                )
                entry["thread_id"] = tid
            entry["collective_seq_id"], entry["p2p_seq_id"] = row[0], row[1]
            entry["op_id"] = row[2]
            entry["profiling_name"] = "nccl:" + name
            entry["time_created_ns"] = int((zero + made) * 1e9) + (i * 13) % 997
            if carries and over and rec.timing and ended is not None and came is not None:
                entry["duration_ms"] = round((ended - came) * 1e3, 6)
            sized = not closer
            if number >= (2, 0):
                entry["input_sizes"] = [list(op.inputs)] if sized and name != "barrier" else []
                entry["input_dtypes"] = [op.dtype] if sized else []
                entry["output_sizes"] = [list(op.outputs)] if sized else []
                entry["output_dtypes"] = [op.dtype] if sized else []
            entry["state"] = state if carries else "scheduled"
            found = int((zero + min(seen, at)) * 1e9) if over and carries else None
            start = None
            if rec.timing and carries and begun:
                start = found - 20 if found else at_ns
            elif found:
                start = None
            entry["time_discovered_started_ns"] = start
            entry["time_discovered_completed_ns"] = found
            entry["retired"] = bool(over and carries and seen <= at)
            entry["timeout_ms"] = rec.timeout_ms
            entry["is_p2p"] = p2p
            if not rec.only_active or (carries and not over):
                entries.append(entry)
            record += 1
        last = row[0] if op.kind == "coll" else row[1]
        status[op.group][0] = last
        if rec.timing and begun:
            status[op.group][1] = last
        if over and seen <= at:
            status[op.group][2] = last
    if rec.ring and len(entries) > rec.ring:
        entries = entries[-rec.ring :]
    return _top(run, rec, local, status, entries)


def _top(
    run: Run, rec: Recorder, local: dict[int, int], status: dict[int, list[int]],
    entries: list[dict[str, object]],
) -> dict[str, object]:  # fmt: skip
    groups = [run.mesh.groups[g] for g in local if g == 0 or status[g][0] >= 0]
    out: dict[str, object] = {
        "version": rec.version,
        "pg_config": {
            g.name: {"name": g.name, "desc": g.desc, "ranks": str(list(g.ranks))} for g in groups
        },
    }
    if rec.number >= (2, 8):
        out["comm_lib_version"] = rec.library
    elif rec.number >= (2, 6):
        out["nccl_version"] = rec.library
    if rec.number >= (2, 3):
        names = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
        out["pg_status"] = {
            str(local[g]): dict(zip(names, values, strict=True)) for g, values in status.items()
        }
    out["entries"] = entries
    return out


def as_pickle(dump: dict[str, object]) -> bytes:
    """Plain data in pickle protocol 2, as the recorder's own writer leaves it."""
    return pickle.dumps(dump, protocol=2)


def as_json(dump: dict[str, object]) -> bytes:
    """The JSON form: no frames, numbers of the status as text, 0 for absent stamps."""
    out = dict(dump)
    status = dump.get("pg_status")
    if isinstance(status, dict):
        out["pg_status"] = {g: {k: str(v) for k, v in row.items()} for g, row in status.items()}
    rows = []
    entries = dump["entries"]
    if isinstance(entries, list):
        for entry in entries:
            row = {k: v for k, v in entry.items() if k != "frames"}
            row["process_group"] = list(row["process_group"])
            for stamp in ("time_discovered_started_ns", "time_discovered_completed_ns"):
                row[stamp] = row[stamp] or 0
            rows.append(row)
    if rows:
        out["entries"] = rows
    else:
        del out["entries"]
    out["nccl_comm_state"] = {}
    return json.dumps(out, separators=(",", ":")).encode()


_C10D = "/usr/local/lib/python3.{minor}/dist-packages/torch/distributed/distributed_c10d.py"
_STACKS = {
    "megatron": {
        "forward": [
            ("reduce_from_tensor_model_parallel_region", "megatron/core/tensor_parallel/mappings.py", 478),
            ("forward", "megatron/core/transformer/transformer_block.py", 571),
            ("forward_step", "pretrain_gpt.py", 236),
            ("forward_backward_func", "megatron/core/pipeline_parallel/schedules.py", 1402),
        ],
        "norm": [
            ("get_grad_norm_fp32", "megatron/core/optimizer/clip_grads.py", 117),
            ("step", "megatron/core/optimizer/optimizer.py", 553),
            ("train_step", "megatron/training/training.py", 1349),
        ],
    },
    "torchtitan": {
        "forward": [
            ("all_gather_copy_in", "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py", 211),
            ("unshard", "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py", 329),
            ("train_step", "torchtitan/train.py", 473),
        ],
        "norm": [
            ("clip_grad_norm_", "torchtitan/distributed/utils.py", 382),
            ("train_step", "torchtitan/train.py", 511),
        ],
    },
    "deepspeed": {
        "forward": [
            ("all_gather_coalesced", "deepspeed/runtime/zero/partition_parameters.py", 1336),
            ("fetch_sub_module", "deepspeed/runtime/zero/partitioned_param_coordinator.py", 325),
            ("forward", "deepspeed/runtime/engine.py", 1987),
        ],
        "norm": [
            ("complete_grad_norm_calculation_for_cpu_offload", "deepspeed/runtime/zero/stage3.py", 1713),
            ("step", "deepspeed/runtime/engine.py", 2254),
        ],
    },
}  # fmt: skip


def stacks(rng: random.Random) -> dict[str, Frames]:
    """Frames by phase, the same objects for all entries of a dump."""
    framework = rng.choice(sorted(_STACKS))
    minor = rng.choice([10, 11, 12])
    shift = rng.randrange(40)
    out: dict[str, Frames] = {}
    for phase, rows in _STACKS[framework].items():
        head: Frames = [
            {"name": "all_reduce", "filename": _C10D.format(minor=minor), "line": 2501 + shift},
            {"name": "wrapper", "filename": _C10D.format(minor=minor).replace("distributed_c10d", "c10d_logger"), "line": 81},
        ]  # fmt: skip
        body: Frames = [
            {"name": n, "filename": f"/workspace/{f}", "line": k + shift} for n, f, k in rows
        ]
        out[phase] = [
            *head,
            *body,
            {"name": "<module>", "filename": "/workspace/train.py", "line": 61},
        ]
    return out
