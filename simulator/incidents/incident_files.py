"""The files of an incident: dumps, logs, telemetry and ``job.json``, some of them left out."""

import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simulator.files import utc
from simulator.incidents.envelopes import FORMS, kernel_log
from simulator.incidents.job_files import job_files, style_of
from simulator.incidents.sources import source_files
from simulator.incidents.story import KernelLine, Story
from simulator.incidents.telemetry import sensors_of
from simulator.incidents.telemetry_files import telemetry_files
from simulator.incidents.world import SECOND
from simulator.live.files import write_live
from simulator.play import Played
from simulator.run import Run

DAY = 86_400 * SECOND


class IncidentFiles:
    """Writes one incident under ``out``; the part ``missing`` of its files, by chance, is not.

    ``left_out`` are the names of those. ``root_visible`` says that a line of the cause was
    written.
    """

    def __init__(self, out: Path, story: Story, missing: float, drop: random.Random) -> None:
        self.out = out
        self.story = story
        self.missing = missing
        self.drop = drop
        self.left_out: list[str] = []
        self.root_visible = False
        out.mkdir(parents=True, exist_ok=True)

    def write_dumps(self, run: Run) -> None:
        """The dumps of all ranks that dump, in one folder or by node."""
        world = self.story.world
        style = world.chance("dump names")
        prefix = style.choice(("nccl_trace_rank_", "comm_lib_trace_rank_", "trace_"))
        by_node = style.random() < 0.3
        desk = run.desk()
        for rank in range(world.ranks):
            if rank in self.story.without_dump:
                continue
            name = f"{prefix}{rank}"
            if self._drops(name):
                continue
            folder = self.out / "nodes" / world.node_of(rank).name if by_node else self.out / "fr"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(bytes(run.dump(rank, desk)))

    def write_looks(self, played: Played, sources: tuple[str, ...], category: str) -> None:
        """Two looks at the job, the last before its watchdog ended it."""
        nodes = self.story.world.nodes
        at_ns = self.story.end_ns - 60 * SECOND
        write_live(
            self.out,
            played,
            at_ns,
            sources,
            category=category,
            address=lambda node: nodes[node].ip,
            name=lambda node: nodes[node].name,
        )

    def write_logs(self) -> None:
        """Kernel logs, job logs, then the logs of other sources."""
        style = self.story.world.chance("forms")
        self._write_kernel_logs(style)
        self._write_texts(job_files(self.story, style_of(self.story.world)), style, packed=0.08)
        self._write_texts(source_files(self.story), style, packed=0.0)

    def _write_kernel_logs(self, style: random.Random) -> None:
        story, forms = self.story, list(FORMS)
        shared_form = style.choice(forms) if style.random() < 0.6 else ""
        for node in story.world.nodes:
            lines = sorted(story.kernel.get(node.index, []), key=lambda line: line.at_ns)
            node.form = shared_form or style.choice(forms)
            name = f"nodes/{node.name}/kernel.log"
            if self._drops(name, lost=node.index in story.lost_kernel_logs):
                continue
            lines = _cut(lines, story, style)
            self.root_visible |= any(line.root for line in lines)
            _write(self.out / name, kernel_log(node, lines), packed=style.random() < 0.12)

    def _write_texts(
        self, files: Iterable[tuple[str, str, bool]], style: random.Random, *, packed: float
    ) -> None:
        """Files of (path, text, whether it tells the cause); the part ``packed`` is compressed."""
        for name, text, root in files:
            if self._drops(name):
                continue
            self.root_visible |= root
            _write(self.out / name, text, packed=packed > 0 and style.random() < packed)

    def write_telemetry(self, heat: str) -> None:
        """What sensors show, with ``heat`` of :data:`HEATS`."""
        for name, text in telemetry_files(self.story, sensors_of(self.story, heat)):
            packed = self.story.world.chance("packed").random() < 0.3
            _write(self.out / name, text, packed=packed)
        self.root_visible |= heat == "culprit"

    def write_facts(self, *, runs: bool, well: bool) -> None:
        """``job.json``, mostly: of a job that still ``runs``, or ended ``well``, or failed."""
        chance = self.story.world.chance("facts")
        if chance.random() < 0.85:
            text = json.dumps(_facts(self.story, chance, runs=runs, well=well), indent=1) + "\n"
            (self.out / "job.json").write_text(text, encoding="utf-8")

    def _drops(self, name: str, *, lost: bool = False) -> bool:
        """Whether a file is left out, by chance or because it is ``lost``."""
        drops = self.drop.random() < self.missing or lost
        if drops:
            self.left_out.append(name)
        return drops


def _cut(lines: list[KernelLine], story: Story, style: random.Random) -> list[KernelLine]:
    """Now and then the ring has lost its beginning, but never the day of the fault."""
    if style.random() < 0.3:
        edge = story.fault_ns - DAY
        return [line for line in lines if line.at_ns >= edge]
    return lines


def _write(path: Path, text: str, *, packed: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    if packed:
        path = path.with_name(path.name + ".gz")
        data = gzip.compress(data, 6, mtime=0)
    path.write_bytes(data)


def _facts(story: Story, chance: random.Random, *, runs: bool, well: bool) -> dict[str, Any]:
    """``job.json`` as a launcher that knows more or less writes it."""
    world = story.world
    facts: dict[str, Any] = {
        "job_id": world.job_id,
        "name": "pretrain",
        "world_size": world.ranks,
        "gpus_per_node": world.gpus_per_node,
        "nodes": [node.name for node in world.nodes],
        "started_at": utc(story.start_ns),
        "failed_at": utc(story.end_ns),
    }
    if chance.random() < 0.7:
        facts["gpu_bus_ids"] = {
            node.name: [f"{bus}.0" for bus in node.buses[: world.gpus_per_node]]
            for node in world.nodes
        }
    if chance.random() < 0.6:
        facts["leaf_switch"] = {node.name: node.leaf for node in world.nodes}
    if chance.random() < 0.1 or runs or well:
        del facts["failed_at"]
    if well and chance.random() < 0.5:
        facts["exit_code"] = 0
    return facts
