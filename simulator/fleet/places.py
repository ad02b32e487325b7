"""Where nodes of a fleet like a real one sit, with what they came, and how often each fails."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.fleet.wish import FaultModel, FleetWish

NODES_OF_RACK: Final = 12
_CAGES: Final = ("bottom", "middle", "top")
_SLOTS: Final = NODES_OF_RACK // len(_CAGES)
# A lemon fails so many times as often as the mean lemon: measured 3.6 to 7.6 times a normal node.
_LEMONS_DIFFER: Final = (0.65, 1.35)


@dataclass(frozen=True, slots=True)
class SimulatedPlaces:
    """All of it by node; ``relative`` has the mean 1, and acts on every cause.

    ``gpu_relative`` is of GPU faults beside that: batch and cage.
    """

    names: tuple[str, ...]
    rack: tuple[str, ...]
    leaf: npt.NDArray[np.int64]
    batch: tuple[str | None, ...]
    cage: tuple[str, ...]
    slot: tuple[str, ...]
    special: npt.NDArray[np.bool_]
    lemon: npt.NDArray[np.bool_]
    relative: npt.NDArray[np.float64]
    gpu_relative: npt.NDArray[np.float64]


def places_of(wish: FleetWish, model: FaultModel, names: tuple[str, ...]) -> SimulatedPlaces:
    """The places; the first nodes are front ends, where there are some beside them."""
    chance = np.random.default_rng([wish.seed, wish.nodes, 3])
    number = np.arange(wish.nodes)
    special = number < min(model.front_ends, wish.nodes - 1)
    rack = number // NODES_OF_RACK
    batch = _batches(model, rack)
    times = {name: factor for name, _, factor in model.batches}
    level = number // _SLOTS % len(_CAGES)
    of_gpu = np.array([times.get(name or "", 1.0) for name in batch])
    of_gpu = of_gpu * (1 + (model.cage_times - 1) * level / (len(_CAGES) - 1))
    lemon = np.zeros(wish.nodes, dtype=bool)
    ordinary = np.flatnonzero(~special)
    lemons = max(round(wish.lemon_share * len(ordinary)), 1) if wish.lemon_share else 0
    lemon[chance.choice(ordinary, min(lemons, len(ordinary)), replace=False)] = True
    relative = np.ones(wish.nodes)
    if wish.healthy_shape is not None:
        relative = chance.gamma(wish.healthy_shape, 1 / wish.healthy_shape, wish.nodes)
    low, high = _LEMONS_DIFFER
    relative[lemon] *= wish.lemon_factor * chance.uniform(low, high, int(lemon.sum()))
    relative[special] = model.front_end_times
    return SimulatedPlaces(
        names=names,
        rack=tuple(f"r{place:03d}" for place in rack.tolist()),
        leaf=number // wish.leaf_size,
        batch=batch,
        cage=tuple(_CAGES[place] for place in level.tolist()),
        slot=tuple(str(place % _SLOTS) for place in number.tolist()),
        special=special,
        lemon=lemon,
        relative=relative / relative.mean(),
        gpu_relative=of_gpu / of_gpu.mean(),
    )


def _batches(model: FaultModel, rack: npt.NDArray[np.int64]) -> tuple[str | None, ...]:
    """The batch of each node: racks came in deliveries, block after block."""
    if not model.batches:
        return (None,) * len(rack)
    racks = int(rack[-1]) + 1
    ends = np.cumsum([share for _, share, _ in model.batches]) * racks
    of_rack = np.minimum(np.searchsorted(ends, np.arange(racks) + 0.5), len(model.batches) - 1)
    return tuple(model.batches[place][0] for place in of_rack[rack].tolist())
