"""The operations of a training job as a table, and as planes: one value a step and replica.

A row is one operation of one worker in one step. All replicas and steps of a job run the same
operations, so they are laid out as nodes (kind, number, stage) with a plane of numbers each.
The columns are those of ByteDance's published traces ("Understanding Stragglers in Large Model
Training Using What-if Analysis").
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from triage.domain.arrays import F64, I64
from triage.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

OperationTable: TypeAlias = "Mapping[str, NDArray[Any]] | pd.DataFrame"

COLUMNS: Final = ("dp_rank", "stage", "step", "optype", "start_ts", "duration", "seq_id", "gmc")


class Kind:
    """Names of operations, as traces have them."""

    FORWARD: Final = "forward-compute"
    BACKWARD: Final = "backward-compute"
    SENDS: Final = ("forward-send", "backward-send")
    RECEIVES: Final = ("forward-recv", "backward-recv")
    GATHER: Final = "params-all-gather"
    SCATTER: Final = "grads-reduce-scatter"
    SEPARATE: Final = "separate-grads-all-reduce"
    LAYER_NORM: Final = "layernorm-grads-all-reduce"
    EMBEDDING: Final = "embedding-grads-all-reduce"
    COLLECTION: Final = "gc"
    CLIP: Final = "optimizer-clip-main-grad"
    OPTIMIZER: Final = "optimizer"

    COMPUTE: Final = (FORWARD, BACKWARD)
    TRANSFERS: Final = (*SENDS, *RECEIVES)
    # All data parallel replicas meet in these.
    OF_ALL_REPLICAS: Final = (GATHER, SCATTER, SEPARATE, CLIP)
    COMMUNICATION: Final = (*TRANSFERS, *OF_ALL_REPLICAS, LAYER_NORM, EMBEDDING)


class StageOp(NamedTuple):
    """One operation of a step: the ``number``-th of its kind on a pipeline stage."""

    kind: str
    number: int
    stage: int


@dataclass(frozen=True, slots=True)
class Planes:
    """``start`` and ``end`` [node, step, replica], seconds from the start of their step.

    ``chunk`` is the model chunk of each node over the whole pipeline. ``steps`` are their numbers.
    """

    nodes: list[StageOp]
    start: F64
    end: F64
    chunk: I64
    steps: I64

    @property
    def num_stages(self) -> int:
        """Pipeline stages."""
        return 1 + max(node.stage for node in self.nodes)

    @property
    def num_replicas(self) -> int:
        """Data parallel replicas."""
        return int(self.start.shape[2])

    def stage_of(self) -> I64:
        """Per node, its stage."""
        return np.array([node.stage for node in self.nodes], np.int64)


def planes_of(table: "OperationTable") -> Planes:
    """The planes of a table with :data:`COLUMNS` (a DataFrame, or arrays by name).

    Raises :class:`UsageError` where columns are missing, or steps and replicas do not run the same
    operations.
    """
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise UsageError(f"a table of operations lacks {', '.join(missing)}")
    if not len(table["optype"]):
        raise UsageError("a table with no operation in it")
    kinds, kind = np.unique(np.asarray(table["optype"]).astype(str), return_inverse=True)
    steps, step = np.unique(_whole(table["step"]), return_inverse=True)
    replicas, replica = np.unique(_whole(table["dp_rank"]), return_inverse=True)
    key = np.stack([kind, _whole(table["seq_id"]), _whole(table["stage"])])
    keys, node = np.unique(key, axis=1, return_inverse=True)
    node = node.reshape(-1)
    shape = keys.shape[1], len(steps), len(replicas)
    place = (node * shape[1] + step) * shape[2] + replica
    if len(place) != np.prod(shape) or len(np.unique(place)) != len(place):
        raise UsageError(
            f"{len(place):,} operations are not {shape[0]:,} of each of {shape[1]:,} steps and"
            f" {shape[2]:,} replicas: all must run the same operations"
        )
    start, lasted = np.empty(shape), np.empty(shape)
    start.reshape(-1)[place] = np.asarray(table["start_ts"], np.float64)
    lasted.reshape(-1)[place] = np.asarray(table["duration"], np.float64)
    if not (np.isfinite(start).all() and np.isfinite(lasted).all() and (lasted >= 0).all()):
        raise UsageError("a table of operations has times that are no times")
    start -= start.min(axis=(0, 2), keepdims=True)
    chunk = np.zeros(shape[0], np.int64)
    chunk[node] = _whole(table["gmc"])
    nodes = [
        StageOp(str(kinds[k]), int(number), int(stage)) for k, number, stage in keys.T.tolist()
    ]
    return Planes(nodes, start, start + lasted, chunk, steps.astype(np.int64))


def _whole(values: object) -> NDArray[np.int64]:
    return np.asarray(values).astype(np.int64)
