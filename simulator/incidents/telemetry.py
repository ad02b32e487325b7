"""What sensors show of a simulated job: heat, power, clocks and reasons of every GPU.

Every GPU has a temperature of its own, all breathe with the day, and a power cap holds all
alike. When the job stops, they idle: clocks and power fall everywhere. Where the story
asks for it one GPU runs hot, or the air of a whole rack gets warm.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simulator.incidents.story import Story
from simulator.incidents.world import SECOND

_F64 = NDArray[np.float64]

HEATS: Final = ("none", "culprit", "other", "mate", "rack")
"""Nothing; the GPU of the culprit; one on another node; one beside it; all of its rack."""
_STEP_S: Final = 30
_BEFORE_S: Final = 2.5 * 3600
_AFTER_S: Final = 600
_DAY_S: Final = 86_400
_IDLE, _POWER_CAP, _SW_THERMAL, _HW_SLOWDOWN, _HW_THERMAL = 0x1, 0x4, 0x20, 0x8, 0x40
_IDLE_MHZ, _IDLE_W = 345.0, 76.0


@dataclass(frozen=True, slots=True)
class Sensors:
    """Readings by GPU (rank order) or node and time: shape (GPUs, times), (nodes, times)."""

    at_ns: NDArray[np.int64]
    temp_c: _F64
    memory_temp_c: _F64
    power_w: _F64
    clock_mhz: _F64
    reasons: NDArray[np.int64]
    utilisation: _F64
    inlet_c: _F64
    hot: tuple[int, ...]
    """Ranks whose GPUs throttle for heat."""


def rack_of(story: Story, node: int) -> int:
    """The rack of a node: four racks, and two nodes in each at least."""
    return node // max(2, -(-len(story.world.nodes) // 4))


def sensors_of(story: Story, heat: str) -> Sensors:
    """The readings from 2.5 h before the fault to 10 min after the job ended."""
    chance = np.random.default_rng(story.world.chance("sensors").getrandbits(32))
    world = story.world
    first = story.fault_ns - int(_BEFORE_S * SECOND)
    last = story.end_ns + int(_AFTER_S * SECOND)
    at_ns = np.arange(first, last, _STEP_S * SECOND, dtype=np.int64)
    shape = (world.ranks, len(at_ns))
    node_of = np.arange(world.ranks) // world.gpus_per_node
    running = (at_ns >= story.start_ns) & (at_ns < story.end_ns)
    spinning = running & (at_ns >= story.fault_ns) & story.hang
    working = running & ~spinning
    inlet, since = _inlets(story, heat, at_ns, chance)
    own = chance.normal(0, 3.0, (world.ranks, 1))
    load = np.where(working, 1.0, np.where(spinning, 0.25, 0.0))
    temp = inlet[node_of] + 9.0 + own * load + 32.0 * load + chance.normal(0, 0.7, shape)
    power = _IDLE_W + (640.0 - _IDLE_W) * load + chance.normal(0, 9.0, shape)
    clock = np.where(working, 1700.0, np.where(spinning, 1980.0, _IDLE_MHZ))
    clock = clock * (1 + chance.normal(0, 0.012, (world.ranks, 1)) * working)
    clock = clock + chance.normal(0, 12.0, shape) * working
    reasons = np.where(working & (chance.random(shape) < 0.7), _POWER_CAP, 0)
    reasons = np.where(running, reasons, _IDLE)
    hot = _hot_ranks(story, heat, chance)
    for rank in hot:
        on = (since > 0.3) & working & (chance.random(len(at_ns)) < chance.uniform(0.8, 1.0))
        temp[rank] += since * chance.uniform(24, 32) * load
        clock[rank] = np.where(on, clock[rank] * chance.uniform(0.55, 0.85), clock[rank])
        power[rank] = np.where(on, power[rank] * 0.75, power[rank])
        bits = _SW_THERMAL if chance.random() < 0.3 else _HW_SLOWDOWN | _HW_THERMAL
        reasons[rank] = np.where(on, bits, reasons[rank])
    return Sensors(
        at_ns,
        temp,
        temp + 6.0 * load,
        power,
        clock,
        reasons.astype(np.int64),
        np.where(running, 100.0, 0.0) * np.ones(shape),
        inlet,
        hot,
    )


def _inlets(
    story: Story, heat: str, at_ns: NDArray[np.int64], chance: np.random.Generator
) -> tuple[_F64, _F64]:
    """Inlet temperature by node and time, and how far the heat has come by time, 0 to 1."""
    nodes = len(story.world.nodes)
    day = 1.5 * np.cos(2 * np.pi * (at_ns / SECOND % _DAY_S) / _DAY_S - chance.uniform(0, 6.3))
    inlet = 23.0 + day + chance.normal(0, 0.8, (nodes, 1))
    begins = story.fault_ns - int(chance.uniform(15, 80) * 60 * SECOND)
    since = np.clip((at_ns - begins) / (600 * SECOND), 0.0, 1.0)
    racks = np.array([rack_of(story, node) for node in range(nodes)])
    here = racks == rack_of(story, story.node.index)
    warm = since * chance.uniform(8, 13) if heat == "rack" else np.zeros(len(at_ns))
    return inlet + np.where(here[:, None], warm, 0.0), since


def _hot_ranks(story: Story, heat: str, chance: np.random.Generator) -> tuple[int, ...]:
    """Whose GPUs throttle."""
    world, culprit = story.world, story.culprit
    mates = [rank for rank in world.ranks_on(story.node) if rank != culprit]
    if heat == "culprit":
        return (culprit,)
    if heat == "mate":
        return (int(chance.choice(mates)),) if mates else ()
    if heat == "other":
        far = [r for r in range(world.ranks) if world.node_of(r).index != story.node.index]
        return (int(chance.choice(far or mates)),)
    if heat == "rack":
        rack = rack_of(story, story.node.index)
        inside = [r for r in range(world.ranks) if rack_of(story, world.node_of(r).index) == rack]
        return tuple(rank for rank in inside if rank == culprit or chance.random() < 0.6)
    return ()
