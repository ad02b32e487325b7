"""A run of a job that is over, ready to have its dumps written, each by one call."""

from dataclasses import dataclass

import numpy as np

from simulator.callsites import Frame
from simulator.operation import Op, Part
from simulator.recorder import COLLECTIVE, OP, P2P, Moments
from simulator.rendezvous import Meetings
from simulator.slots import NUM_SLOTS
from simulator.strings import Strings
from simulator.tables import KEYS, Desk, Memo, Words, job_table, op_table, style_for
from simulator.timeline import Timeline
from simulator.topology import Ints, Topology
from simulator.writer import write_dump


@dataclass(frozen=True, slots=True)
class Format:
    """How the dumps of a run are written."""

    version: str
    frames: int
    timing: bool
    ring: int
    only_active: bool


class Run:
    """Dumps on demand; several threads may ask at once, each with its own :class:`Desk`."""

    def __init__(
        self, topology: Topology, timeline: Timeline, style: Format, offsets_ns: Ints, seed: int
    ) -> None:
        strings = Strings()
        strings.numbers(*KEYS)
        frames: dict[Frame, int] = {}
        before_ops = op_table(timeline.normal, strings, frames, style.frames)
        last_ops = op_table(timeline.final, strings, frames, style.frames)
        chance = np.random.default_rng(seed)
        self._job = job_table(topology, strings, frames, chance)
        self._style = style_for(
            strings,
            style.version,
            frames=style.frames,
            timing=style.timing,
            ring=style.ring,
            only_active=style.only_active,
        )
        self._words = Words(*strings.arrays())
        history, last = timeline.history, timeline.last
        self._before = Moments(
            before_ops,
            timeline.before,
            *_programs_of(timeline.normal),
            history.created,
            history.entered,
            history.ended,
        )
        self._last = Moments(
            last_ops,
            last.first,
            *_programs_of(timeline.final),
            last.created[None, :],
            last.entered[None, :],
            last.ended[None, :],
        )
        self._timeline = timeline
        self._offsets_ns = offsets_ns
        self._per_step = np.stack(
            [steps_counted(program) for program in _programs(timeline.normal)]
        )
        self._bytes = self._room(style)

    def _room(self, style: Format) -> int:
        """More bytes than any dump takes."""
        text = len(self._words.text) if len(self._words.text) < 1 << 20 else 1 << 20
        longest = np.diff(self._words.start).max()
        tensors = max(
            int(np.diff(ops.sizes_start).max()) for ops in (self._before.ops, self._last.ops)
        )
        per_entry = 340 + 5 * style.frames + 8 * tensors
        frames = 64 * len(self._job.frame_name)
        return 2 * text + NUM_SLOTS * (int(longest) + 64) + frames + style.ring * per_entry + 4096

    def desk(self) -> Desk:
        """Fresh buffers for one thread."""
        strings = len(self._words.start) - 1
        return Desk(
            np.empty(self._bytes, np.uint8),
            Memo(self._words, np.full(strings, -1, np.int64), np.zeros(strings + 2, np.int64)),
            np.full(len(self._job.frame_name), -1, np.int64),
            np.zeros((NUM_SLOTS, 3), np.int64),
            np.zeros((NUM_SLOTS, 4), np.int64),
            np.zeros(NUM_SLOTS, np.int64),
            np.zeros(1, np.float64),
        )

    def dump(self, rank: int, desk: Desk) -> memoryview:
        """The dump of ``rank``, valid until the desk is used again."""
        timeline = self._timeline
        program = int(timeline.normal.table.program_of[rank])
        length = write_dump(
            desk,
            rank,
            int(self._offsets_ns[rank]),
            int(timeline.dump_at[rank]),
            self._per_step[program] * timeline.skipped,
            timeline.normal.length_of(rank) * timeline.skipped,
            self._before,
            self._last,
            self._job,
            self._style,
        )
        return desk.out[:length].data


def steps_counted(program: list[Op]) -> Ints:
    """How far one step of ``program`` moves the counters: slot by collective, p2p, op."""
    counters = np.zeros((NUM_SLOTS, 3), np.int64)
    for at, op in enumerate(program):
        if op.part is Part.CLOSER:
            continue
        counters[op.slot, OP] += 1
        if not op.is_p2p:
            counters[op.slot, COLLECTIVE] += 1
        elif op.part is Part.ALONE or at == 0 or program[at - 1].part is not Part.MEMBER:
            counters[op.slot, P2P] += 1
    return counters


def _programs(found: Meetings) -> list[list[Op]]:
    starts = found.table.program_start
    return [
        [found.ops[int(op)] for op in found.table.op_of[starts[p] : starts[p + 1]]]
        for p in range(len(starts) - 1)
    ]


def _programs_of(found: Meetings) -> tuple[Ints, Ints, Ints]:
    table = found.table
    return table.program_of, table.program_start, table.op_of
